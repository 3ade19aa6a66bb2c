from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from intarsia.graph import load_model
from intarsia.graph.reference.reference import evaluate
from tests.unit.graph.models import info, model, two_layers


@pytest.mark.parametrize("opset", [7, 9, 11, 13, 18, 20])
def test_an_old_model_is_raised_and_computes_the_same(opset: int) -> None:
    attributes: dict[str, Any] = {"axes": [1]} if opset < 18 else {}
    axes = [] if attributes else ["axes"]
    nodes = [
        helper.make_node("ReduceMean", ["x", *axes], ["m"], keepdims=1, **attributes),
        helper.make_node("Sub", ["x", "m"], ["d"]),
        helper.make_node("Softmax", ["d"], ["y"], axis=1),
    ]
    weights = {"axes": np.array([1])} if axes else {}
    graph = load_model(model(nodes, [info("x")], [info("y")], weights, opset=opset, ir_version=8))
    assert graph.opsets == {"": 21}
    x = np.array([[1, 2, 4], [0, 0, 3]], np.float32)
    expected = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(evaluate(graph, {"x": x})["y"], expected, rtol=1e-5)


def test_weights_survive_being_raised() -> None:
    proto = two_layers()
    proto.opset_import[0].version = 9
    graph = load_model(proto)
    assert graph.opsets == {"": 21}
    np.testing.assert_array_equal(graph.weights["w1"].array(), load_model(two_layers()).weights["w1"].array())


def test_a_newer_model_stays_as_it_is() -> None:
    proto = two_layers()
    proto.opset_import[0].version = 23
    assert load_model(proto).opsets == {"": 23}


def test_a_model_that_cannot_be_raised_stays_as_it_is() -> None:
    nodes = [helper.make_node("NoSuchOperator", ["x"], ["a"]), helper.make_node("Relu", ["a"], ["y"])]
    graph = load_model(model(nodes, [info("x")], [info("y", None)], opset=11))
    assert graph.opsets == {"": 11}
    assert [node.op_type for node in graph.nodes] == ["NoSuchOperator", "Relu"]
