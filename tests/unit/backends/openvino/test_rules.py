from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from intarsia.backends.openvino.rules import refusal
from intarsia.graph import load_model
from tests.conformance.cases import Case, Feed, f32, i64, node, one, scalar
from tests.unit.backends.onnxruntime.test_rules import resize

IMAGE = f32(1, 2, 5, 5)
INT32 = Feed(shape=(2, 3), dtype="int32", low=1, high=9)
INT8 = Feed(shape=(2, 3), dtype="int8", low=1, high=9)
INT64 = Feed(shape=(2, 3), dtype="int64", low=1, high=9)


def sizes(**attributes: Any) -> Case:
    return Case(
        name="resize",
        nodes=(node("Resize", "x - - s", **attributes),),
        inputs={"x": IMAGE},
        weights={"s": i64(1, 2, 3, 3)},
    )


def loop_with(op_type: str) -> Case:
    def info(name: str, shape: list[int], elem_type: int = TensorProto.FLOAT) -> Any:
        return helper.make_tensor_value_info(name, elem_type, shape)

    body = helper.make_graph(
        [node(op_type, "state", "next"), node("Identity", "on", "still")],
        "body",
        [info("turn", [], TensorProto.INT64), info("on", [], TensorProto.BOOL), info("state", [2, 2])],
        [info("still", [], TensorProto.BOOL), info("next", [2, 2])],
    )
    return Case(
        name="loop",
        nodes=(node("Loop", "n - x", body=body),),
        inputs={"x": f32(2, 2)},
        weights={"n": scalar(3, "int64")},
    )


def then(first: str, second: str, data: Feed, reads: str = "y", **attributes: Any) -> Case:
    """The second operator on what the first makes of the data."""
    nodes = (node(first, "x", "y"), node(second, reads, "z", **attributes))
    return Case(name=f"{first}-{second}", nodes=nodes, inputs={"x": data}, outputs=("z",))


RESHAPED_TO_WHAT_IS_IN = Case(
    name="counted",
    nodes=(node("NonZero", "d", "n"), node("Shape", "n", "s", start=1), node("Reshape", "x s")),
    inputs={"d": f32(100), "x": f32(4)},
)
LSTM = {"w": (1, 12, 2), "r": (1, 12, 3), "b": (1, 24), "h": (1, 1, 3), "c": (1, 1, 3), "p": (1, 9)}
REFUSED = [
    ("does not convert Det", one("Det", "2d", {"x": f32(3, 3)})),
    ("does not convert Bernoulli", loop_with("Bernoulli")),
    ("empty tensors", one("Relu", "empty", {"x": f32(0, 3)})),
    ("input 1 of Reshape as a constant", RESHAPED_TO_WHAT_IS_IN),
    ("the shape of y may change between calls", then("NonZero", "Cast", f32(3, 3), to=TensorProto.FLOAT)),
    ("by pointer only", then("NonZero", "Cast", f32(3, 3), to=TensorProto.BFLOAT16)),
    ("reads the empty constant w", one("Concat", "empty", {"x": f32(0, 3), "w": np.zeros((0, 3), np.float32)}, axis=0)),
    ("drops the ratio", one("Dropout", "ratio", {"x": f32(3), "r": Feed(shape=())})),
    ("multiplies by 1 / scale", then("Exp", "QuantizeLinear", Feed(shape=()), "x y")),
    ("saturate float8", one("Cast", "f8", {"x": f32(3)}, to=TensorProto.FLOAT8E4M3FN, saturate=0)),
    ("Div on integers in float32", one("Div", "int32", {"a": INT32, "b": INT32})),
    ("ReduceMax on integers in float32", one("ReduceMax", "int64", {"x": INT64, "axes": i64(1)})),
    ("Mod on integers in float32", one("Mod", "int32", {"a": INT32, "b": INT32})),
    (
        "starts in the padding",
        one("MaxPool", "c", {"x": f32(1, 1, 4, 4)}, kernel_shape=[1, 1], strides=[2, 2], ceil_mode=1),
    ),
    ("Resize ignores antialias", sizes(mode="linear", antialias=1)),
    ("Resize ignores exclude_outside", sizes(mode="cubic", exclude_outside=1)),
    (
        "Resize knows no half_pixel_symmetric",
        sizes(mode="linear", coordinate_transformation_mode="half_pixel_symmetric"),
    ),
    ("corners by rounded sizes", resize("linear", "align_corners", 0.5, 0.7)),
    ("does not wrap", one("Pad", "wrap", {"x": IMAGE, "p": i64(0, 0, 1, 1, 0, 0, 1, 1)}, mode="wrap")),
    ("dilate a kernel of one element", one("Conv", "1x1", {"x": IMAGE, "w": (2, 2, 1, 1)}, dilations=[2, 1])),
    ("images only", one("GridSample", "3d", {"x": f32(1, 1, 3, 3, 3), "g": f32(1, 2, 2, 2, 3)}, mode="linear")),
    (
        "ignores the peepholes",
        Case(
            name="lstm",
            nodes=(node("LSTM", "x w r b - h c p", "y", hidden_size=3),),
            inputs={"x": f32(4, 1, 2)},
            weights=LSTM,
        ),
    ),
]
TAKEN = [
    one("Reshape", "late", {"x": f32(4), "s": Feed(shape=(2,), dtype="int64")}),
    one("NonZero", "counted", {"x": f32(3, 3)}),
    one("Add", "int8", {"a": INT8, "b": INT8}),
    one("Div", "int8", {"a": INT8, "b": INT8}),
    Case(name="split", nodes=(node("Split", "x s", "y z"),), inputs={"x": f32(2)}, weights={"s": i64(0, 2)}),
    one("Cast", "f8", {"x": f32(3)}, to=TensorProto.FLOAT8E4M3FN),
    one("Conv", "3x3", {"x": IMAGE, "w": (2, 2, 3, 3)}),
    one("Conv", "dilated", {"x": IMAGE, "w": (2, 2, 3, 3)}, dilations=[2, 2], pads=[2, 2, 2, 2]),
    one("Add", "int32", {"a": INT32, "b": INT32}),
    one("Gather", "rows", {"w": (20, 8), "i": INT64}),
    one("Reshape", "fixed", {"x": f32(4), "s": i64(2, 2)}),
    one("ReduceMean", "image", {"x": IMAGE, "axes": i64(2, 3)}),
    sizes(mode="linear"),
    resize("linear", "align_corners", 2, 3),
    loop_with("Sin"),
    Case(
        name="lstm",
        nodes=(node("LSTM", "x w r b", "y", hidden_size=3),),
        inputs={"x": f32(4, 1, 2)},
        weights={name: LSTM[name] for name in "wrb"},
    ),
]


@pytest.mark.parametrize(("reason", "case"), REFUSED)
def test_refused(reason: str, case: Case) -> None:
    graph = load_model(case.model())
    reasons = [refusal(each, graph) for each in graph.nodes]
    assert any(reason in (text or "") for text in reasons), reasons


@pytest.mark.parametrize("case", TAKEN, ids=lambda case: case.name)
def test_taken(case: Case) -> None:
    graph = load_model(case.model())
    assert graph.nodes
    assert [refusal(each, graph) for each in graph.nodes] == [None] * len(graph.nodes)


def test_other_domains_are_refused() -> None:
    model = helper.make_model(
        helper.make_graph(
            [helper.make_node("Thing", ["x"], ["y"], domain="my.domain")],
            "custom",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
        ),
        opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("my.domain", 1)],
    )
    graph = load_model(model)
    assert "my.domain" in (refusal(graph.nodes[0], graph) or "")
    assert np.all([value.dtype == "float32" for value in graph.values.values()])


@pytest.mark.parametrize(
    ("keys", "attributes", "reason"),
    [
        (4, {"is_causal": 1}, None),
        (6, {}, None),
        (6, {"is_causal": 1}, "shifts the mask"),
        (4, {"left_window_size": 2}, "ignores the window"),
        (4, {"left_window_size": -1}, None),
    ],
)
def test_attention_behind_a_past(keys: int, attributes: dict[str, int], reason: str | None) -> None:
    shapes = {"q": 4, "k": keys, "v": keys, "past_k": 3, "past_v": 3}
    outputs = {"y": 4, "present_k": 3 + keys, "present_v": 3 + keys}

    def info(name: str, length: int) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 2, length, 8])

    attention = node("Attention", "q k v - past_k past_v", " ".join(outputs), **attributes)
    graph = helper.make_graph(
        [attention], "attention", [info(*each) for each in shapes.items()], [info(*each) for each in outputs.items()]
    )
    loaded = load_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=11))
    found = refusal(loaded.nodes[0], loaded)
    assert found is None if reason is None else reason in (found or "")


def product(scales: tuple[int, ...], axis: int, reader: str = "MatMul", **attributes: Any) -> Case:
    """A product with a weight of 4 by 6 numbers, dequantised."""
    names = "x t" if reader == "Transpose" else "x d"
    nodes = [node("DequantizeLinear", "q s", "d", **({"axis": axis} | attributes))]
    nodes += [node("Transpose", "d", "t", perm=[1, 0])] if reader == "Transpose" else []
    nodes += [node("Gemm" if reader == "Gemm" else "MatMul", names, **({"transB": 1} if reader == "Gemm" else {}))]
    data = f32(2, 4 if reader == "MatMul" else 6)
    weights: dict[str, Any] = {"q": np.ones((4, 6), np.int8), "s": np.ones(scales, np.float32)}
    return Case(name="dequantised", nodes=tuple(nodes), inputs={"x": data}, weights=weights)


@pytest.mark.parametrize(
    ("case", "is_taken"),
    [
        (product((), 1), True),
        (product((6,), 1), True),
        (product((4,), 0), False),
        (product((2, 6), 0, block_size=2), True),
        (product((4, 3), 1, block_size=2), False),
        (product((4,), 0, "Gemm"), True),
        (product((6,), 1, "Gemm"), False),
        (product((6,), 1, "Transpose"), False),
    ],
)
def test_the_scales_of_a_products_weights_are_those_of_its_columns(case: Case, is_taken: bool) -> None:
    graph = load_model(case.model())
    dequantised = next(each for each in graph.nodes if each.op_type == "DequantizeLinear")
    assert (refusal(dequantised, graph) is None) is is_taken
