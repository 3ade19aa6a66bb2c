from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from intarsia.errors import ModelError
from intarsia.graph import extract, load_model
from intarsia.graph.normalisation.normalise import Types
from intarsia.graph.reference.contrib_ops import custom_op_values
from intarsia.graph.reference.reference import evaluate
from tests.unit.graph.models import info, model, two_layers


def mystery() -> onnx.ModelProto:
    """a = Relu(x), b = Mystery(a), y = Relu(b)."""
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Mystery", ["a"], ["b"], domain="com.example"),
        helper.make_node("Relu", ["b"], ["y"]),
    ]
    proto = model(nodes, [info("x", (2, 3))], [info("y", None)])
    proto.opset_import.append(helper.make_opsetid("com.example", 1))
    return proto


def test_what_onnx_does_not_define_is_told_from_what_it_does() -> None:
    assert custom_op_values(load_model(mystery())) == ("b",)
    assert custom_op_values(load_model(two_layers())) == ()


@pytest.mark.parametrize(
    ("types", "dtype", "shape"),
    [({}, None, None), ({"b": ("float32", (4, 5))}, "float32", (4, 5)), ({"b": ("float32", None)}, "float32", None)],
)
def test_types_that_are_told_are_carried_on(types: Types, dtype: str | None, shape: tuple[int, ...] | None) -> None:
    values = load_model(mystery(), types=types).values
    assert (values["b"].dtype, values["b"].shape) == (dtype, shape)
    assert values["y"].shape == shape


def test_the_reference_takes_what_is_given_instead_of_computing_it() -> None:
    graph, x = load_model(mystery()), np.ones((2, 3), np.float32)
    with pytest.raises(ModelError, match="Mystery"):
        evaluate(graph, {"x": x})
    given = np.array([[-1.0, 2.0]], np.float32)
    np.testing.assert_array_equal(evaluate(graph, {"x": x}, given={"b": given})["y"], [[0.0, 2.0]])


def test_inner_values_become_outputs() -> None:
    graph = load_model(two_layers())
    partition = extract(graph, graph.position)
    names = [value.name for value in partition.with_outputs(["b", "y"]).outputs]
    assert names == ["y", "b"]
