"""What is changed in models for OpenVINO, over the whole range of each type: that none of it goes wrong in a kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
import pytest

from intarsia.backends import registry
from intarsia.graph import load_model
from intarsia.graph.reference.reference import evaluate
from tests.conformance.cases import Case, Feed, f32, i64, node, one
from tests.conformance.conftest import sent
from tests.conformance.judge import faults
from tests.conformance.process import EngineProcess

FLOAT = onnx.TensorProto.FLOAT
NARROW = ("int8", "uint8", "int16", "uint16")


def whole(dtype: str, low: int | None = None, shape: tuple[int, ...] = (67,)) -> Feed:
    """Any value of an integer type, from ``low`` on."""
    limits = np.iinfo(dtype)
    return Feed(shape=shape, dtype=dtype, low=limits.min if low is None else low, high=int(limits.max))


def narrow(dtype: str) -> tuple[Case, ...]:
    """Arithmetic that wraps around, then something that shows whether it did."""
    a, b, c = whole(dtype), whole(dtype), whole(dtype, low=1)
    elem_type = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return (
        Case(
            name=f"{dtype}-add-div",
            nodes=(node("Add", "a b", "s"), node("Div", "s c")),
            inputs={"a": a, "b": b, "c": c},
        ),
        Case(name=f"{dtype}-mul-max", nodes=(node("Mul", "a b", "p"), node("Max", "p b")), inputs={"a": a, "b": b}),
        Case(
            name=f"{dtype}-sub-mod",
            nodes=(node("Sub", "a b", "d"), node("Mod", "d c")),
            inputs={"a": a, "b": b, "c": c},
        ),
        Case(
            name=f"{dtype}-cast",
            nodes=(node("Cast", "x", "n", to=elem_type), node("Cast", "n", to=FLOAT)),
            inputs={"x": whole("int32")},
        ),
    )


BOUNDS = {"low": np.array(-1_234_567_891, np.int32), "high": np.array(1_234_567_891, np.int32)}
MASK = np.array([[0, 0, 0], [-np.inf, 0, 0], [-np.inf, -np.inf, -np.inf]], np.float32)
FIXED = (
    *(case for dtype in NARROW for case in narrow(dtype)),
    Case(name="clip", nodes=(node("Clip", "x low high"),), inputs={"x": whole("int32")}, weights=BOUNDS),
    Case(
        name="masked",
        nodes=(node("Where", "keep zero mask", "m"), node("ReduceMax", "m last", keepdims=0)),
        inputs={"keep": Feed(shape=(2, 3, 3), dtype="bool")},
        weights={"zero": np.array([0], np.float32), "mask": np.broadcast_to(MASK, (2, 3, 3)).copy(), "last": i64(-1)},
    ),
    Case(
        name="apart",
        nodes=(node("NonMaxSuppression", "boxes scores most none"),),
        inputs={"scores": f32(1, 1, 2)},
        weights={
            "boxes": np.array([[[0, 0, 1, 1], [2, 2, 3, 3]]], np.float32),
            "most": i64(2),
            "none": np.array([0], np.float32),
        },
    ),
)
DECIDED = (
    one("Slice", "length", {"x": f32(6, 3), "from": i64(0), "to": Feed(shape=(1,), dtype="int64", low=1, high=6)}),
    one("ReduceSum", "axis", {"x": f32(2, 3, 4), "axes": Feed(shape=(1,), dtype="int64", low=0, high=3)}),
    one("Pad", "value", {"x": f32(2, 3), "pads": i64(1, 0, 0, 2), "value": Feed(shape=())}),
    Case(
        name="computed",
        nodes=(node("Add", "n one", "m"), node("Expand", "x m", "e"), node("Relu", "e")),
        inputs={"x": f32(1, 3), "n": Feed(shape=(1,), dtype="int64", low=0, high=1)},
        weights={"one": i64(3)},
    ),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Case], dict[str, Any]]]:
    """Runs a case in a process of its own."""
    found = registry.probe("openvino")
    if not found.usable:
        pytest.skip(f"openvino: {found.reason}")
    folder = tmp_path_factory.mktemp("openvino")
    with EngineProcess("openvino") as process:
        yield lambda case: sent(process, "run", case, folder)


@pytest.mark.engine
@pytest.mark.parametrize("case", [*FIXED, *DECIDED], ids=lambda case: case.name)
def test_taken_and_right(run: Callable[[Case], dict[str, Any]], case: Case) -> None:
    answer = run(case)
    assert "refused" not in answer
    graph = load_model(case.model())
    want = [evaluate(graph, case.feeds(turn)) for turn in ("a", "b", "a")]
    assert faults(answer, want, may_mutate=False) == []
