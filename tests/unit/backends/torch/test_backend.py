"""What PyTorch refuses, without PyTorch."""

from __future__ import annotations

from importlib import metadata, util
from pathlib import Path
from types import SimpleNamespace

import pytest

from intarsia.backends import registry
from intarsia.backends.torch.backend import TorchBackend
from intarsia.config import RunSettings, Spin
from intarsia.graph import load_model
from intarsia.target import Target
from tests.conformance.cases import Case, Feed, f32, one


def reasons(case: Case) -> list[str]:
    graph = load_model(case.model())
    return list(registry.get("torch").capability(graph, Target("torch")).refusals.values())


def test_it_is_found_by_its_file() -> None:
    assert isinstance(registry.get("torch"), TorchBackend)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "uint8"])
def test_it_adds_numbers_of_most_types(dtype: str) -> None:
    x = Feed(shape=(2, 3), dtype=dtype, low=0, high=9)
    assert reasons(one("Add", "a", {"x": x, "b": x})) == []


def test_it_adds_no_large_unsigned_numbers() -> None:
    x = Feed(shape=(2, 3), dtype="uint32", low=0, high=9)
    (reason,) = reasons(one("Add", "a", {"x": x, "b": x}))
    assert "uint32" in reason


def test_it_pools_no_whole_numbers() -> None:
    x = Feed(shape=(1, 1, 4, 4), dtype="int8", low=0, high=9)
    assert reasons(one("MaxPool", "m", {"x": x}, kernel_shape=[2, 2])) == ["torch has no pool_max of int8"]


def test_it_convolves_over_up_to_three_dimensions() -> None:
    assert reasons(one("Conv", "c", {"x": f32(1, 1, 4, 4, 4), "w": (1, 1, 2, 2, 2)})) == []
    (reason,) = reasons(one("Conv", "c", {"x": f32(1, 1, 4, 4, 4, 4), "w": (1, 1, 2, 2, 2, 2)}))
    assert reason == "torch has no conv over 4 dimensions"


def test_its_threads_obey_the_plan() -> None:
    wanted = registry.get("torch").environment(RunSettings(threads=2, spin=Spin.NEVER))
    assert wanted["OMP_WAIT_POLICY"] == "passive"


def test_on_a_gpu_it_multiplies_no_matrices_of_whole_numbers() -> None:
    a, b = Feed(shape=(2, 3), dtype="int32", low=0, high=9), Feed(shape=(3, 2), dtype="int32", low=0, high=9)
    graph = load_model(one("MatMul", "m", {"a": a, "b": b}).model())
    refusals = registry.get("torch").capability(graph, Target("torch -base=cuda")).refusals
    assert list(refusals.values()) == ["torch has no matmul of int32 on cuda"]
    assert not registry.get("torch").capability(graph, Target("torch")).refusals


@pytest.mark.parametrize(
    ("line", "devices"), [("cuda: Optional[str] = '12.8'", ("cpu", "cuda")), ("cuda: Optional[str] = None", ("cpu",))]
)
def test_it_runs_on_gpus_if_it_was_built_for_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str, devices: tuple[str, ...]
) -> None:
    (tmp_path / "version.py").write_text(f"debug = False\n{line}\nhip: Optional[str] = None\n")
    monkeypatch.setattr(
        util, "find_spec", lambda name: SimpleNamespace(origin=None, submodule_search_locations=[str(tmp_path)])
    )
    monkeypatch.setattr(metadata, "version", lambda package: "2.13.0")
    assert TorchBackend().probe().devices == devices
