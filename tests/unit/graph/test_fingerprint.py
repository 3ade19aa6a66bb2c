from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from hypothesis import given
from onnx import TensorProto, helper, numpy_helper

from intarsia.graph import extract, load_model
from intarsia.graph.fingerprint import content_hash, fingerprint_of, likeness, model_fingerprint
from tests.unit.graph.models import branching, info, model, random_dags, renamed, two_layers


@given(random_dags())
def test_names_do_not_count(proto: onnx.ModelProto) -> None:
    assert fingerprint_of(load_model(proto)) == fingerprint_of(load_model(renamed(proto)))


def test_equal_blocks_of_one_graph_are_equal() -> None:
    graph = load_model(two_layers())
    first, second = extract(graph, ["first", "relu"]), extract(graph, ["MatMul_2", "Relu_3"])
    assert model_fingerprint(first) == model_fingerprint(second)
    assert model_fingerprint(first) != fingerprint_of(graph, ["relu", "MatMul_2"])
    assert model_fingerprint(first) != fingerprint_of(graph)


def test_other_weights_of_one_class_count_only_as_content() -> None:
    one, other = (load_model(two_layers(seed)) for seed in (1, 2))
    assert fingerprint_of(one) == fingerprint_of(other)
    assert content_hash(one) != content_hash(other)
    assert content_hash(one) == content_hash(load_model(two_layers(1)))


def test_one_bit_of_one_weight_changes_the_content_hash() -> None:
    proto = two_layers()
    before = content_hash(load_model(proto))
    raw = bytearray(proto.graph.initializer[1].raw_data)
    raw[-3] ^= 1
    proto.graph.initializer[1].raw_data = bytes(raw)
    assert content_hash(load_model(proto)) != before


def test_names_inside_nested_graphs_do_not_count() -> None:
    proto = branching()
    other = branching()
    body = next(attribute.g for attribute in other.graph.node[4].attribute)
    for names in ((node.input, node.output) for node in body.node):
        for field in names:
            field[:] = [f"n_{name}" if name != "factor" else name for name in field]
    for value in (*body.input, *body.output):
        value.name = f"n_{value.name}"
    assert fingerprint_of(load_model(proto)) == fingerprint_of(load_model(other))


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
    assert fingerprint_of(load_model(changed)) != fingerprint_of(load_model(_base()))


def test_attributes_count() -> None:
    def axis(number: int) -> str:
        nodes = [helper.make_node("Softmax", ["x"], ["y"], axis=number)]
        return fingerprint_of(load_model(model(nodes, [info("x", (3, 3))], [info("y", None)])))

    assert axis(0) != axis(1)


def test_the_order_of_outputs_counts() -> None:
    def outputs(*names: str) -> str:
        nodes = [helper.make_node("Split", ["x"], list(names), num_outputs=2, axis=0)]
        nodes += [helper.make_node("Relu", ["p"], ["r"]), helper.make_node("Neg", ["q"], ["s"])]
        return fingerprint_of(load_model(model(nodes, [info("x", (4, 3))], [info("r", None), info("s", None)])))

    assert outputs("p", "q") != outputs("q", "p")


@pytest.mark.parametrize("value", [0.5, 0.25])
def test_tiny_floats_are_structure(value: float) -> None:
    def of(number: float) -> str:
        weights = {"w": np.array([number], np.float32)}
        return fingerprint_of(
            load_model(model([helper.make_node("Mul", ["x", "w"], ["y"])], [info("x")], [info("y")], weights))
        )

    assert of(value) == of(value)
    assert of(value) != of(0.75)


def test_the_same_value_read_twice_is_not_two_values() -> None:
    def product(second: str) -> str:
        nodes = [helper.make_node("Mul", ["x", second], ["a"]), helper.make_node("Add", ["a", "z"], ["y"])]
        return fingerprint_of(load_model(model(nodes, [info("x"), info("z")], [info("y")])))

    assert product("x") != product("z")


@given(random_dags())
def test_runs_that_are_alike_have_one_fingerprint_whatever_their_names(proto: onnx.ModelProto) -> None:
    graph, other = load_model(proto), load_model(renamed(proto))
    runs = [graph.nodes[start:end] for start in range(len(graph.nodes)) for end in range(start + 1, start + 4)]
    found: dict[str, str] = {}
    for run in filter(None, runs):
        fingerprint = fingerprint_of(graph, [node.id for node in run])
        assert found.setdefault(likeness(graph, run), fingerprint) == fingerprint
        assert likeness(other, [other.nodes[node.index] for node in run]) == likeness(graph, run)
