from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from intarsia.backends.onnxruntime.rules import KERNELS, refusal
from intarsia.graph import Graph, load_model
from tests.conformance.cases import Case, Feed, f32, i64, node, one, scalar

FLAGS = Feed(shape=(4,), dtype="bool")
IMAGE = f32(1, 2, 5, 5)


def graph_of(case: Case) -> Graph:
    return load_model(case.model())


def resize(mode: str, corners: str, *scales: float) -> Case:
    return Case(
        name="resize",
        nodes=(node("Resize", "x - s", mode=mode, coordinate_transformation_mode=corners),),
        inputs={"x": IMAGE},
        weights={"s": np.array((1, 1, *scales), np.float32)},
    )


REFUSED = {
    "no CPU kernel for Conv on float64": one(
        "Conv", "f64", {"x": Feed(shape=(1, 1, 4, 4), dtype="float64"), "w": np.ones((1, 1, 2, 2))}
    ),
    "no CPU kernel for Where on bool": one("Where", "flags", {"c": FLAGS, "a": FLAGS, "b": FLAGS}),
    "no CPU kernel for Max on int16": one(
        "Max", "int16", {"a": Feed(shape=(4,), dtype="int16"), "b": Feed(shape=(4,), dtype="int16")}
    ),
    "only as fmod": one("Mod", "floats", {"a": f32(4), "b": f32(4)}),
    "aligns corners by rounded sizes": resize("linear", "align_corners", 0.5, 0.7),
    "batch-first": Case(
        name="gru",
        nodes=(node("GRU", "x w r", "y", hidden_size=3, layout=1),),
        inputs={"x": f32(1, 4, 2)},
        weights={"w": (1, 9, 2), "r": (1, 9, 3)},
    ),
}
TAKEN = {
    "conv": one("Conv", "f32", {"x": IMAGE, "w": (2, 2, 3, 3)}),
    "corners at whole pixels": resize("linear", "align_corners", 2, 3),
    "corners, nearest": resize("nearest", "align_corners", 0.5, 0.7),
    "half pixels": resize("linear", "half_pixel", 0.5, 0.7),
    "fmod": one("Mod", "floats", {"a": f32(4), "b": f32(4)}, fmod=1),
    "float16 is computed in float32": one("Sin", "f16", {"x": Feed(shape=(4,), dtype="float16")}),
    "int64 add": one("Add", "i64", {"a": Feed(shape=(3,), dtype="int64"), "b": i64(1, 2, 3)}),
    "clip": one("Clip", "6", {"x": f32(4), "lo": scalar(0), "hi": scalar(6)}),
    "ceil, a window in the padding": one(
        "MaxPool", "ceil", {"x": f32(1, 1, 4, 4)}, kernel_shape=[1, 1], strides=[2, 2], ceil_mode=1
    ),
    "ceil, all windows in the data": one(
        "MaxPool", "ceil", {"x": f32(1, 1, 4, 4)}, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1
    ),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_refused(reason: str) -> None:
    graph = graph_of(REFUSED[reason])
    reasons = [refusal(each, graph) for each in graph.nodes]
    assert any(reason in (text or "") for text in reasons), reasons


@pytest.mark.parametrize("name", TAKEN)
def test_taken(name: str) -> None:
    graph = graph_of(TAKEN[name])
    assert graph.nodes
    assert [refusal(each, graph) for each in graph.nodes] == [None] * len(graph.nodes)


def test_every_float_operator_has_a_float32_kernel() -> None:
    """float16 stands for "computed in float32", so a row must not offer it alone."""
    assert all("float32" in dtypes for dtypes in KERNELS.values() if "float16" in dtypes or "float64" in dtypes)


@pytest.mark.parametrize(
    ("axis", "op_type", "is_taken"), [(0, "MatMul", False), (1, "MatMul", True), (0, "Gemm", True)]
)
def test_the_scales_of_a_products_weights_are_those_of_its_columns(axis: int, op_type: str, is_taken: bool) -> None:
    weights: dict[str, Any] = {"q": np.ones((4, 6), np.int8), "s": np.ones(6 if axis else 4, np.float32)}
    nodes = (node("DequantizeLinear", "q s", "d", axis=axis), node(op_type, "x d"))
    graph = load_model(Case(name="dequantised", nodes=nodes, inputs={"x": f32(2, 4)}, weights=weights).model())
    dequantised = next(each for each in graph.nodes if each.op_type == "DequantizeLinear")
    assert (refusal(dequantised, graph) is None) is is_taken
