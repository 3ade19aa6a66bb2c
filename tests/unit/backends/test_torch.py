"""What PyTorch refuses, without PyTorch."""

from __future__ import annotations

import pytest

from intarsia.backends import registry
from intarsia.backends.torch import TorchBackend
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
