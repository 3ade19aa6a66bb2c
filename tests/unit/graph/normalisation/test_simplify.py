from __future__ import annotations

import numpy as np
import pytest
from onnx import NodeProto, TensorProto, ValueInfoProto, helper

from intarsia.graph import load_model
from tests.unit.graph.models import info, model

WEIGHTS = {
    "same": np.array([2, 3]),
    "other": np.array([3, 2]),
    "half": np.float32(0.5),
    "on": np.True_,
    "off": np.False_,
}


def _kept(*nodes: NodeProto) -> list[str]:
    """The operators left when the nodes stand between two that stay."""
    around = [helper.make_node("Relu", ["x"], ["a"]), *nodes, helper.make_node("Neg", ["b"], ["y"])]
    graph = load_model(model(around, [info("x")], [ValueInfoProto(name="y")], WEIGHTS))
    assert graph.outputs == ("y",)
    return [node.op_type for node in graph.nodes][1:-1]


@pytest.mark.parametrize(
    "node",
    [
        helper.make_node("Identity", ["a"], ["b"]),
        helper.make_node("Dropout", ["a"], ["b"]),
        helper.make_node("Dropout", ["a", "half", "off"], ["b"]),
        helper.make_node("Cast", ["a"], ["b"], to=TensorProto.FLOAT),
        helper.make_node("Reshape", ["a", "same"], ["b"]),
        helper.make_node("Expand", ["a", "same"], ["b"]),
        helper.make_node("Flatten", ["a"], ["b"], axis=1),
        helper.make_node("Transpose", ["a"], ["b"], perm=[0, 1]),
        helper.make_node("Concat", ["a"], ["b"], axis=0),
        helper.make_node("Sum", ["a"], ["b"]),
    ],
    ids=lambda node: node.op_type,
)
def test_a_node_that_changes_nothing_goes(node: NodeProto) -> None:
    assert _kept(node) == []


@pytest.mark.parametrize(
    "node",
    [
        helper.make_node("Dropout", ["a", "half", "on"], ["b"]),
        helper.make_node("Cast", ["a"], ["b"], to=TensorProto.DOUBLE),
        helper.make_node("Reshape", ["a", "other"], ["b"]),
        helper.make_node("Transpose", ["a"], ["b"], perm=[1, 0]),
        helper.make_node("Transpose", ["a"], ["b"]),
        helper.make_node("Concat", ["a", "a"], ["b"], axis=0),
    ],
    ids=lambda node: node.op_type,
)
def test_a_node_that_changes_something_stays(node: NodeProto) -> None:
    assert _kept(node) == [node.op_type]


def test_a_dropout_whose_mask_is_read_stays() -> None:
    nodes = [helper.make_node("Dropout", ["x"], ["y", "mask"])]
    outputs = [info("y", None), info("mask", None, TensorProto.BOOL)]
    assert [node.op_type for node in load_model(model(nodes, [info("x")], outputs)).nodes] == ["Dropout"]


def test_an_idle_last_node_hands_its_name_to_the_one_before() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Identity", ["a"], ["y"])]
    graph = load_model(model(nodes, [info("x")], [info("y")]))
    assert [node.op_type for node in graph.nodes] == ["Relu"]
    assert graph.outputs == ("y",)


def test_two_outputs_of_one_value_stay_two() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Identity", ["y"], ["z"])]
    graph = load_model(model(nodes, [info("x")], [info("y"), info("z")]))
    assert graph.outputs == ("y", "z")
    assert [node.op_type for node in graph.nodes] == ["Relu", "Identity"]


def test_a_model_that_does_nothing_keeps_one_node() -> None:
    graph = load_model(model([helper.make_node("Identity", ["x"], ["y"])], [info("x")], [info("y")]))
    assert [node.op_type for node in graph.nodes] == ["Identity"]
    assert (graph.inputs, graph.outputs) == (("x",), ("y",))


def test_what_no_output_needs_goes() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Add", ["x", "w"], ["nobody"])]
    graph = load_model(model(nodes, [info("x")], [info("y")], {"w": np.ones(3, np.float32)}))
    assert [node.op_type for node in graph.nodes] == ["Relu"]
    assert not graph.weights
