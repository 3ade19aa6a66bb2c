from __future__ import annotations

import numpy as np
from onnx import helper

from intarsia.graph import load_model
from intarsia.graph.reference.reference import evaluate
from tests.unit.graph.models import info, model


def test_a_weight_that_is_an_output_gets_a_node_and_keeps_its_name_outside() -> None:
    content = np.arange(6, dtype=np.float32).reshape(2, 3)
    proto = model([helper.make_node("Add", ["x", "w"], ["y"])], [info("x")], [info("y"), info("w")], {"w": content})
    before = proto.SerializeToString(deterministic=True)
    graph = load_model(proto)
    assert graph.outputs == ("y", "w")
    assert graph.nodes[graph.values["w"].producer or 0].op_type == "Identity"
    np.testing.assert_array_equal(evaluate(graph, {"x": content})["w"], content)
    assert proto.SerializeToString(deterministic=True) == before


def test_an_input_that_is_an_output_gets_a_node() -> None:
    proto = model([helper.make_node("Relu", ["x"], ["y"])], [info("x")], [info("y"), info("x")])
    graph = load_model(proto)
    assert graph.inputs == ("x",)
    assert graph.outputs == ("y", "x_1")
    assert [node.op_type for node in graph.nodes] == ["Relu", "Identity"]
    assert graph.values["x_1"].shape == (2, 3)


def test_a_value_that_is_two_outputs_gets_a_node_for_the_second() -> None:
    graph = load_model(model([helper.make_node("Relu", ["x"], ["y"])], [info("x")], [info("y"), info("y")]))
    assert graph.outputs == ("y", "y_1")
    feeds = {"x": np.ones((2, 3), np.float32)}
    assert set(evaluate(graph, feeds)) == {"y", "y_1"}


def test_nothing_is_named_twice_when_the_model_uses_our_pattern() -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="Neg_1"),
        helper.make_node("Neg", ["a"], ["b"]),
        helper.make_node("Neg", ["b"], ["y"], name="Neg_1_"),
    ]
    graph = load_model(model(nodes, [info("x")], [info("y")]))
    assert [node.id for node in graph.nodes] == ["Neg_1", "Neg_1__", "Neg_1_"]
