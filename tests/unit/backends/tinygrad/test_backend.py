"""What tinygrad refuses and needs, without it; and where it is, what would end the process."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from intarsia.backends import registry
from intarsia.backends.contract import Availability
from intarsia.backends.lowering.program import Instruction
from intarsia.backends.tinygrad import backend as engine
from intarsia.backends.tinygrad.backend import TinygradBackend
from intarsia.config import RunSettings
from intarsia.graph import extract, load_model
from intarsia.runtime.environment import applied, load_environment
from intarsia.target import Target
from tests.conformance.cases import Feed, f32, one

found = registry.probe("tinygrad")
needs_tinygrad = pytest.mark.skipif(not found.usable, reason=str(found.reason))


def instruction(name: str, dtype: str) -> Instruction:
    return Instruction(name, (), {}, dtype, (2,))


def judged(name: str, dtype: str, read: str | None = None) -> str | None:
    return TinygradBackend().judge(instruction(name, dtype), (instruction("input", read or dtype),))


def test_it_is_found_by_its_file() -> None:
    assert isinstance(registry.get("tinygrad"), TinygradBackend)


@pytest.mark.parametrize("name", ["int_div", "fmod", "mod", "shift_left", "add"])
def test_it_takes_integers(name: str) -> None:
    assert judged(name, "int32") is None


@pytest.mark.parametrize(
    ("name", "dtype", "read", "reason"),
    [
        ("pow", "int32", None, "tinygrad raises to a power in floating point"),
        ("fmod", "float32", None, "tinygrad takes fmod of floats from a rounded quotient"),
        ("add", "bfloat16", None, "tinygrad has no add of bfloat16"),
        ("cast", "float32", "int4", "tinygrad has no cast of int4"),
        ("conv_bias", "float32", None, "tinygrad has no conv_bias here"),
    ],
)
def test_what_it_refuses(name: str, dtype: str, read: str | None, reason: str) -> None:
    assert judged(name, dtype, read) == reason


def test_it_refuses_what_is_not_lowered() -> None:
    graph = load_model(one("Det", "d", {"x": f32(3, 3)}).model())
    assert registry.get("tinygrad").capability(graph, Target("tinygrad")).refusals == {
        "Det_0": "Det: it has no lowering"
    }


@pytest.mark.parametrize(("compiler", "fix"), [(None, "apt-get install clang"), ("clang", None), ("clang-15", None)])
def test_it_needs_clang(monkeypatch: pytest.MonkeyPatch, compiler: str | None, fix: str | None) -> None:
    monkeypatch.setattr(engine, "installed", lambda *_, devices: Availability(usable=True, devices=devices))
    monkeypatch.setattr(engine, "load_loader", lambda: None)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}" if name == compiler else None)
    found = TinygradBackend().probe()
    assert (found.usable, found.fix) == (fix is None, fix)
    assert TinygradBackend().environment(RunSettings(threads=1))["CC"] == compiler
    if compiler is not None:
        assert found.devices == ("cpu", "opencl")


def test_it_computes_on_the_cpu_with_a_cache_of_ours_and_starts_no_processes() -> None:
    wanted = registry.get("tinygrad").environment(RunSettings(threads=3))
    assert (wanted["DEV"], wanted["PARALLEL"], wanted["NUM_CPU_THREADS"]) == ("CPU", "0", "1")
    assert "intarsia" in (wanted["CACHEDB"] or "")


@needs_tinygrad
@pytest.mark.parametrize(("operator", "wanted"), [("Div", [-(2**31), 3, 3]), ("Mod", [0, 1, -1])])
def test_a_division_that_processors_do_not_do_ends_no_process(operator: str, wanted: list[int]) -> None:
    engine, target, settings = TinygradBackend(), Target("tinygrad"), RunSettings(threads=1)
    four = Feed(shape=(4,), dtype="int32")
    graph = load_model(one(operator, "d", {"a": four, "b": four}).model())
    model = extract(graph, (node.id for node in graph.nodes))
    feeds = {"a": np.array([7, -(2**31), 7, -7], np.int32), "b": np.array([0, -1, 2, -2], np.int32)}
    result = np.zeros(4, np.int32)
    with applied(load_environment(["tinygrad"], settings)):
        run = engine.load(engine.compile(model, target, settings), {}, target, settings)
        run.bind(feeds, {run.outputs[0].name: result})()
    assert result[1:].tolist() == wanted
