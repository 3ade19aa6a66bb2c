from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from hypothesis import given
from onnx import TensorProto, helper, numpy_helper

from intarsia.graph import load_model
from tests.unit.graph.models import branching, info, model, random_dags, renamed, two_layers


@given(random_dags())
def test_names_do_not_count(proto: onnx.ModelProto) -> None:
    assert load_model(proto).fingerprint == load_model(renamed(proto)).fingerprint


def test_equal_blocks_of_one_graph_are_equal() -> None:
    graph = load_model(two_layers())
    first, second = graph.extract(["first", "relu"]), graph.extract(["MatMul_2", "Relu_3"])
    assert first.fingerprint == second.fingerprint
    assert first.fingerprint != graph.extract(["relu", "MatMul_2"]).fingerprint
    assert first.fingerprint != graph.fingerprint


def test_other_weights_of_one_class_count_only_as_content() -> None:
    one, other = (load_model(two_layers(seed)) for seed in (1, 2))
    assert one.fingerprint == other.fingerprint
    assert one.content_hash() != other.content_hash()
    assert one.content_hash() == load_model(two_layers(1)).content_hash()


def test_one_bit_of_one_weight_changes_the_content_hash() -> None:
    proto = two_layers()
    before = load_model(proto).content_hash()
    raw = bytearray(proto.graph.initializer[1].raw_data)
    raw[-3] ^= 1
    proto.graph.initializer[1].raw_data = bytes(raw)
    assert load_model(proto).content_hash() != before


def test_names_inside_nested_graphs_do_not_count() -> None:
    proto = branching()
    other = branching()
    body = next(attribute.g for attribute in other.graph.node[4].attribute)
    for names in ((node.input, node.output) for node in body.node):
        for field in names:
            field[:] = [f"n_{name}" if name != "factor" else name for name in field]
    for value in (*body.input, *body.output):
        value.name = f"n_{value.name}"
    assert load_model(proto).fingerprint == load_model(other).fingerprint


def _base() -> onnx.ModelProto:
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Neg", ["z"], ["b"]),
        helper.make_node("Sub", ["a", "b"], ["c"]),
        helper.make_node("Add", ["c", "w"], ["d"]),
        helper.make_node("Reshape", ["d", "s"], ["y"]),
    ]
    weights = {"w": np.linspace(0.1, 1, 48, dtype=np.float32).reshape(8, 6), "s": np.array([6, 8])}
    return model(nodes, [info("x", (8, 6)), info("z", (8, 6))], [info("y", None)], weights)


def _set_weight(proto: onnx.ModelProto, name: str, array: np.ndarray) -> None:
    tensor = next(tensor for tensor in proto.graph.initializer if tensor.name == name)
    tensor.CopyFrom(numpy_helper.from_array(array, name))


def _operator(proto: onnx.ModelProto) -> None:
    proto.graph.node[2].op_type = "Mul"


def _wiring(proto: onnx.ModelProto) -> None:
    proto.graph.node[2].input[:] = ["b", "a"]


def _shape(proto: onnx.ModelProto) -> None:
    proto.graph.input[0].CopyFrom(info("x", (1, 6)))


def _opset(proto: onnx.ModelProto) -> None:
    proto.opset_import[0].version = 22


def _target(proto: onnx.ModelProto) -> None:
    _set_weight(proto, "s", np.array([4, 12]))


def _dtype(proto: onnx.ModelProto) -> None:
    _set_weight(proto, "w", np.linspace(0.1, 1, 48).reshape(8, 6))
    for value in (*proto.graph.input, *proto.graph.output):
        value.type.tensor_type.elem_type = TensorProto.DOUBLE


def _zeros(proto: onnx.ModelProto) -> None:
    _set_weight(proto, "w", np.eye(8, 6, dtype=np.float32))


def _denormal(proto: onnx.ModelProto) -> None:
    array = np.linspace(0.1, 1, 48, dtype=np.float32).reshape(8, 6)
    array[0, 0] = 1e-40
    _set_weight(proto, "w", array)


def _order(proto: onnx.ModelProto) -> None:
    proto.graph.output.append(info("c", None))


CHANGES = (_operator, _wiring, _shape, _opset, _target, _dtype, _zeros, _denormal, _order)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_everything_that_steers_the_work_counts(change: Callable[[onnx.ModelProto], None]) -> None:
    changed = _base()
    change(changed)
    assert load_model(changed).fingerprint != load_model(_base()).fingerprint


def test_attributes_count() -> None:
    def axis(number: int) -> str:
        nodes = [helper.make_node("Softmax", ["x"], ["y"], axis=number)]
        return load_model(model(nodes, [info("x", (3, 3))], [info("y", None)])).fingerprint

    assert axis(0) != axis(1)


def test_the_order_of_outputs_counts() -> None:
    def outputs(*names: str) -> str:
        nodes = [helper.make_node("Split", ["x"], list(names), num_outputs=2, axis=0)]
        nodes += [helper.make_node("Relu", ["p"], ["r"]), helper.make_node("Neg", ["q"], ["s"])]
        return load_model(model(nodes, [info("x", (4, 3))], [info("r", None), info("s", None)])).fingerprint

    assert outputs("p", "q") != outputs("q", "p")


@pytest.mark.parametrize("value", [0.5, 0.25])
def test_tiny_floats_are_structure(value: float) -> None:
    def of(number: float) -> str:
        weights = {"w": np.array([number], np.float32)}
        return load_model(
            model([helper.make_node("Mul", ["x", "w"], ["y"])], [info("x")], [info("y")], weights)
        ).fingerprint

    assert of(value) == of(value)
    assert of(value) != of(0.75)


def test_the_same_value_read_twice_is_not_two_values() -> None:
    def product(second: str) -> str:
        nodes = [helper.make_node("Mul", ["x", second], ["a"]), helper.make_node("Add", ["a", "z"], ["y"])]
        return load_model(model(nodes, [info("x"), info("z")], [info("y")])).fingerprint

    assert product("x") != product("z")
