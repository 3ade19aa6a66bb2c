"""The engine on this machine: what it needs, what its artifacts hold, and what keeps one from being loaded."""

from __future__ import annotations

import platform
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from intarsia.backends import registry
from intarsia.backends.c import compiler
from intarsia.backends.c.backend import CBackend
from intarsia.backends.contract import EngineArtifact, Executable, compiler_flags
from intarsia.backends.lowering.builder import Builder
from intarsia.backends.lowering.program import Program
from intarsia.backends.native.library import cpu_features
from intarsia.config import RunSettings
from intarsia.errors import BackendError, BackendUnavailableError, LoadError
from intarsia.graph import SubModel, extract, load_model
from intarsia.graph.reference.reference import evaluate
from intarsia.target import Target
from tests.conformance.cases import Case, Feed, f32, one
from tests.unit.backends.c.running import needs_compiler

SETTINGS = RunSettings(threads=1)
C = Target("c")
backend = CBackend()
NO_COMPILER = "/nowhere/cc"
LAYER = Case(
    name="layer",
    nodes=(
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Flatten", ["r"], ["f"]),
        helper.make_node("MatMul", ["f", "m"], ["y"]),
    ),
    inputs={"x": f32(1, 3, 8, 8)},
    weights={"w": (5, 3, 3, 3), "b": (5,), "m": (320, 7)},
)


def submodel(case: Case) -> SubModel:
    graph = load_model(case.model())
    return extract(graph, (node.id for node in graph.nodes))


def answer(executable: Executable, feeds: dict[str, np.ndarray]) -> np.ndarray:
    (output,) = executable.outputs
    result = np.empty(output.shape or (), output.dtype)
    executable.bind(feeds, {output.name: result})()
    return result


def test_naming_the_device_names_the_engine() -> None:
    assert isinstance(registry.get("c"), CBackend)
    assert registry.of(Target("c -mcpu=cortex-m4")) is registry.get("c")


def test_without_a_compiler_it_loads_and_does_not_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", NO_COMPILER)
    found = backend.probe()
    assert not found.usable
    assert found.reason == f"the C compiler '{NO_COMPILER}', which CC names, is not installed"
    assert found.fix is not None
    assert "apt-get install gcc" in found.fix
    assert backend.probe_loading().usable
    with pytest.raises(BackendUnavailableError, match="apt-get install gcc"):
        backend.compile(submodel(LAYER), C, SETTINGS)


def test_what_it_refuses() -> None:
    def reasons(case: Case) -> list[str]:
        return list(backend.capability(load_model(case.model()), C).refusals.values())

    assert reasons(LAYER) == []
    assert reasons(one("Relu", "r", {"x": Feed(shape=(2, 3), dtype="float16")})) == ["c takes no float16 value (x)"]


@needs_compiler
def test_the_artifact_runs_without_the_weights_and_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    model = submodel(LAYER)
    artifact = backend.compile(model, C, SETTINGS)
    assert artifact.weights == ()
    assert sorted(artifact.files) == ["constants.bin", "model.c", "model.so"]
    monkeypatch.setenv("CC", NO_COMPILER)
    feeds = LAYER.feeds("1")
    got = answer(backend.load(artifact, {}, C, SETTINGS), feeds)
    np.testing.assert_allclose(got, evaluate(model.graph, feeds)["y"], rtol=1e-4, atol=1e-5)


@needs_compiler
def test_each_layer_is_one_call() -> None:
    calls = backend.module(submodel(LAYER), C).calls
    assert [call.function.rpartition("_")[0] for call in calls] == ["transpose", "convolution", "transpose", "product"]
    assert calls[1].nodes == ("Conv_0", "Relu_1")


def test_what_has_no_kernel_in_integers_is_computed_in_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_kernels(model: SubModel, natives: frozenset[str]) -> Program:
        b = Builder()
        return b.program({"y": b.emit("q_nothing", (b.input("x", "float32", (1, 3, 8, 8)),), "float32", (1, 7))})

    monkeypatch.setattr("intarsia.backends.lowering.integer.lower.lower_integers", without_kernels)
    assert [call.function.rpartition("_")[0] for call in backend.module(submodel(LAYER), C).calls][1] == "convolution"


@needs_compiler
@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"system": "Plan9"}, "it is built for Plan9"),
        ({"architecture": "mips"}, "it is built for mips"),
        ({"instruction_sets": ["avx1024"]}, "it is built with avx1024, which this machine lacks"),
    ],
)
def test_a_library_for_another_machine_is_not_loaded(facts: dict[str, object], words: str) -> None:
    artifact = backend.compile(submodel(LAYER), C, SETTINGS)
    foreign = replace(artifact, meta={**artifact.meta, "library": {**artifact.meta["library"], **facts}})
    with pytest.raises(LoadError, match=words):
        backend.load(foreign, {}, C, SETTINGS)


@needs_compiler
def test_what_is_no_library_is_said(tmp_path: Path) -> None:
    artifact = backend.compile(submodel(LAYER), C, SETTINGS)
    spoilt = EngineArtifact(files={**artifact.files, "model.so": b"\x7fELF"}, meta=artifact.meta)
    with pytest.raises(LoadError, match="the library cannot be mapped"):
        backend.load(spoilt, {}, C, SETTINGS)


@needs_compiler
def test_an_unknown_processor_is_the_compilers_error() -> None:
    with pytest.raises(BackendError, match="elbrus"):
        backend.compile(submodel(LAYER), Target("c -march=elbrus"), SETTINGS)


@needs_compiler
def test_the_text_that_is_exported_is_the_text_that_is_compiled(tmp_path: Path) -> None:
    model = submodel(LAYER)
    artifact = backend.compile(model, C, SETTINGS)
    written = {path.name: path.read_bytes() for path in backend.export(model, C, SETTINGS, tmp_path / "out")}
    assert set(written) == {"model.c", "constants.bin", "model.onnx"}
    assert written["model.c"] == artifact.files["model.c"]
    assert written["constants.bin"] == artifact.files["constants.bin"]


@needs_compiler
def test_calls_of_one_executable_run_at_one_time() -> None:
    model = submodel(LAYER)
    executable = backend.load(backend.compile(model, C, SETTINGS), {}, C, SETTINGS)
    feeds = [LAYER.feeds(str(number)) for number in range(4)]
    want = [answer(executable, each) for each in feeds]
    found: list[bool] = []

    def work(number: int) -> None:
        out = np.empty_like(want[number])
        call = executable.bind(feeds[number], {"y": out})
        for _ in range(200):
            out[...] = 0
            call()
            if not np.array_equal(out, want[number]):
                return
        found.append(True)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4


def test_a_library_needs_what_its_target_has() -> None:
    assert {"avx2", "fma", "bmi1", "sse4_2"} <= set(compiler.instruction_sets(Target("c -mcpu=haswell")))
    assert "avx512f" not in compiler.instruction_sets(Target("c -mcpu=haswell"))
    assert set(compiler.instruction_sets(C)) <= cpu_features()


def test_flags_are_those_of_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    def flags(text: str, machine: str) -> tuple[str, ...]:
        monkeypatch.setattr(platform, "machine", lambda: machine)
        return compiler_flags(Target(text))

    assert flags("c", "x86_64") == ("-march=native",)
    assert flags("c", "aarch64") == ("-mcpu=native",)
    assert flags("c -march=rv64gc", "riscv64") == ("-march=rv64gc",)
    assert flags("c -mcpu=haswell -mattr=+avx512f,-fma", "x86_64")[0] == "-march=haswell"
    assert set(flags("c -mcpu=haswell -mattr=+avx512f,-fma", "x86_64")[1:]) == {"-mavx512f", "-mno-fma"}
    assert flags("c -mcpu=cortex-a76", "aarch64") == ("-mcpu=cortex-a76",)
