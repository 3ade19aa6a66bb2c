from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx import NodeProto, TensorProto, helper, numpy_helper

from intarsia.errors import ModelError
from intarsia.graph import Graph, load_model
from intarsia.graph.limits import LIMITS
from intarsia.graph.normalisation import fold
from tests.unit.graph.models import info, model


def _ops(graph: Graph) -> list[str]:
    return [node.op_type for node in graph.nodes]


def _filled(name: str, shape_name: str, value: float = 0.5) -> NodeProto:
    tensor = numpy_helper.from_array(np.array([value], np.float32))
    return helper.make_node("ConstantOfShape", [shape_name], [name], value=tensor)


def test_shape_arithmetic_ends_in_a_constant() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["n"]),
        helper.make_node("Unsqueeze", ["n", "axes"], ["first"]),
        helper.make_node("Concat", ["first", "rest"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["y"]),
    ]
    weights = {"zero": np.int64(0), "axes": np.array([0]), "rest": np.array([-1])}
    graph = load_model(model(nodes, [info("x", ("N", 3, 4))], [info("y", None)], weights), {"N": 5})
    assert _ops(graph) == ["Reshape"]
    assert graph.weights["target"].array().tolist() == [5, -1]
    assert graph.values["y"].shape == (5, 12)


@pytest.mark.parametrize(("start", "end", "expected"), [(None, None, [2, 3, 4]), (1, None, [3, 4]), (-2, -1, [3])])
def test_a_part_of_a_shape(start: int | None, end: int | None, expected: list[int]) -> None:
    limits: dict[str, Any] = {key: value for key, value in (("start", start), ("end", end)) if value is not None}
    nodes = [
        helper.make_node("Shape", ["x"], ["s"], **limits),
        helper.make_node("Size", ["x"], ["n"]),
        helper.make_node("Add", ["s", "n"], ["sum"]),
        helper.make_node("Mul", ["k", "sum"], ["y"]),
    ]
    inputs = [info("x", (2, 3, 4)), info("k", (len(expected),), TensorProto.INT64)]
    graph = load_model(model(nodes, inputs, [info("y", None, TensorProto.INT64)]))
    assert _ops(graph) == ["Mul"]
    assert graph.weights["sum"].array().tolist() == [size + 24 for size in expected]


def test_equal_constants_share_their_memory() -> None:
    nodes = [_filled("w", "s"), _filled("v", "t"), _filled("u", "s", 0.25)]
    nodes += [helper.make_node("Sum", ["x", "w", "v", "u"], ["y"])]
    shape = np.array([64, 64])
    graph = load_model(model(nodes, [info("x", (64, 64))], [info("y", None)], {"s": shape, "t": shape}))
    arrays = {name: graph.weights[name].array() for name in "wvu"}
    assert np.shares_memory(arrays["w"], arrays["v"])
    assert not np.shares_memory(arrays["w"], arrays["u"])
    assert set(graph.weights) == {"w", "v", "u"}


@pytest.mark.parametrize(
    "node",
    [
        helper.make_node("RandomNormal", [], ["c"], shape=[2, 3]),
        helper.make_node("RandomUniformLike", ["w"], ["c"]),
        helper.make_node("Bernoulli", ["w"], ["c"]),
        helper.make_node("DequantizeLinear", ["q", "scale"], ["c"]),
        helper.make_node("Expand", ["w", "huge"], ["c"]),
    ],
    ids=lambda node: node.op_type,
)
def test_some_nodes_stay_though_their_inputs_are_constant(node: NodeProto) -> None:
    weights = {
        "w": np.full((2, 3), 0.5, np.float32),
        "q": np.ones((2, 3), np.int8),
        "scale": np.float32(0.5),
        "huge": np.array([4096, 1024, 2, 3]),
    }
    graph = load_model(
        model([node, helper.make_node("Add", ["x", "c"], ["y"])], [info("x")], [info("y", None)], weights)
    )
    assert len(graph.nodes) == 2


def test_a_node_with_several_outputs_is_folded() -> None:
    nodes = [
        helper.make_node("Split", ["w", "sizes"], ["a", "b"], axis=0),
        helper.make_node("Sum", ["x", "a", "b"], ["y"]),
    ]
    weights = {"w": np.arange(6, dtype=np.float32), "sizes": np.array([3, 3])}
    graph = load_model(model(nodes, [info("x", (3,))], [info("y", None)], weights))
    assert _ops(graph) == ["Sum"]
    assert graph.weights["b"].array().tolist() == [3, 4, 5]


def test_a_constant_output_keeps_its_node() -> None:
    nodes = [helper.make_node("Neg", ["w"], ["y"])]
    graph = load_model(model(nodes, [info("x")], [info("y", None)], {"w": np.ones(3, np.float32)}))
    assert _ops(graph) == ["Neg"]
    assert graph.values["y"].shape == (3,)


def test_strings_can_be_constants() -> None:
    nodes = [helper.make_node("Concat", ["a", "b"], ["c"], axis=0), helper.make_node("Equal", ["x", "c"], ["y"])]
    weights = {"a": np.array(["p"], object), "b": np.array(["q"], object)}
    inputs = [info("x", (2,), TensorProto.STRING)]
    graph = load_model(model(nodes, inputs, [info("y", (2,), TensorProto.BOOL)], weights))
    assert graph.weights["c"].dtype == "string"
    assert graph.weights["c"].array().tolist() == ["p", "q"]


def test_below_the_trusted_opset_only_integers_are_folded() -> None:
    """A Scan of opset 8 cannot be converted, so the model stays there."""
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "i"], ["t"]), helper.make_node("Identity", ["t"], ["o"])],
        "body",
        [info("s", (3,)), info("i", (3,))],
        [info("t", (3,)), info("o", (3,))],
    )
    nodes = [
        helper.make_node("Scan", ["", "start", "x"], ["last", "all"], body=body, num_scan_inputs=1),
        helper.make_node("Softmax", ["w"], ["soft"]),
        helper.make_node("Concat", ["one", "two"], ["shape"], axis=0),
        helper.make_node("Reshape", ["soft", "shape"], ["tall"]),
        helper.make_node("Add", ["last", "tall"], ["y"]),
    ]
    weights = {
        "start": np.zeros((1, 3), np.float32),
        "w": np.ones((3, 1), np.float32),
        "one": np.array([1]),
        "two": np.array([3]),
    }
    graph = load_model(model(nodes, [info("x", (1, 4, 3))], [info("y", None)], weights, opset=8))
    assert graph.opsets == {"": 8}
    assert set(_ops(graph)) == {"Scan", "Softmax", "Reshape", "Add"}
    assert graph.weights["shape"].array().tolist() == [1, 3]


def test_shapes_that_only_hold_across_nodes_are_found() -> None:
    """The number of rows is not known, yet the rest of the shape is carried along and known at the end."""
    nodes = [
        helper.make_node("NonZero", ["x"], ["places"]),
        helper.make_node("Shape", ["places"], ["extent"]),
        helper.make_node("Slice", ["extent", "zero", "one"], ["head"]),
        helper.make_node("ConstantOfShape", ["head"], ["y"]),
    ]
    weights = {"zero": np.array([0]), "one": np.array([1])}
    graph = load_model(model(nodes, [info("x")], [info("y", None)], weights))
    assert graph.values["places"].shape is None
    assert graph.values["y"].shape == (2,)


@pytest.mark.parametrize("op_type", ["GroupNormalization", "MeanVarianceNormalization"])
def test_operators_without_inference_of_their_own_keep_their_shape(op_type: str) -> None:
    weights = {"s": np.ones(4, np.float32), "b": np.zeros(4, np.float32)} if op_type.startswith("Group") else {}
    attributes: dict[str, Any] = {"num_groups": 2} if weights else {}
    node = helper.make_node(op_type, ["x", *weights], ["y"], **attributes)
    graph = load_model(model([node], [info("x", (1, 4, 2, 2))], [info("y", None)], weights))
    assert graph.values["y"].shape == (1, 4, 2, 2)


def _of(op_type: str, inputs: list[str], **attributes: Any) -> list[NodeProto]:
    """A node over constants, and one that reads its result and cannot be folded."""
    return [
        helper.make_node(op_type, inputs, ["c"], **attributes),
        helper.make_node("Foo", ["x", "c"], ["y"], domain="o"),
    ]


@pytest.mark.parametrize(
    ("nodes", "weights"),
    [
        (_of("ConstantOfShape", ["s"]), {"s": np.array([3 << 29])}),
        (_of("Range", ["zero", "many", "one"]), {"zero": 0, "many": 10**10, "one": 1}),
        (
            _of("Range", ["zero", "many", "one"]),
            {k: np.int16(v) for k, v in {"zero": 0, "many": 20_000, "one": 1}.items()},
        ),
        (_of("Tile", ["w", "times"]), {"w": np.ones((1, 1), np.float32), "times": np.array([10**5, 10**5])}),
        (_of("OneHot", ["i", "depth", "w"]), {"i": np.arange(100), "depth": 10**8, "w": np.array([0.0, 1.0])}),
        (
            _of("GridSample", ["w", "g"]),
            {"w": np.ones((1, 1, 8, 8), np.float32), "g": np.zeros((1, 400, 400, 2), np.float32)},
        ),
        (_of("EyeLike", ["w"]), {}),
    ],
    ids=["ConstantOfShape", "Range", "Range-of-unknown-size", "Tile", "OneHot", "GridSample", "EyeLike-of-an-input"],
)
def test_a_constant_that_would_take_too_much_stays_a_node(nodes: list[NodeProto], weights: dict[str, Any]) -> None:
    if nodes[0].op_type == "EyeLike":
        nodes[0].input[0] = "x"
    arrays = {name: np.asarray(content) for name, content in weights.items()}
    graph = load_model(model(nodes, [info("x")], [info("y", None)], arrays, domains={"o": 1}))
    assert len(graph.nodes) == 2


def test_many_small_constants_do_not_add_up_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fold, "LIMITS", replace(LIMITS, folded_bytes=1 << 20))
    nodes = [_filled(f"c{number}", f"s{number}", number) for number in range(100)]
    nodes.append(helper.make_node("Sum", ["x", *(f"c{number}" for number in range(100))], ["y"]))
    weights = {f"s{number}": np.array([1 << 14]) for number in range(100)}
    graph = load_model(model(nodes, [info("x", (1 << 14,))], [info("y", None)], weights))
    assert _ops(graph).count("ConstantOfShape") == 100 - 16


def test_a_negative_extent_is_refused_where_it_arises() -> None:
    nodes = [helper.make_node("ConstantOfShape", ["s"], ["c"], name="fill"), helper.make_node("Add", ["x", "c"], ["y"])]
    with pytest.raises(ModelError, match="'fill'"):
        load_model(model(nodes, [info("x")], [info("y", None)], {"s": np.array([-1, 3])}))
