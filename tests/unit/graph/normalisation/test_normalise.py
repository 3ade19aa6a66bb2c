from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper

from intarsia.errors import ModelError
from intarsia.graph import extract, load_model
from intarsia.graph.fingerprint import content_hash, fingerprint_of
from intarsia.graph.reference.reference import evaluate
from intarsia.graph.store import structure
from tests.unit.graph.models import branching, feeds_of, info, model, two_layers

LIGHT = sorted((Path(onnx.__file__).parent / "backend/test/data/light").glob("*.onnx"))


def test_there_are_nine_light_models() -> None:
    assert len(LIGHT) == 9


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_a_light_model_is_normalised(path: Path) -> None:
    graph = load_model(path)
    assert graph.opsets == {"": 21}
    assert graph.ir_version >= 10
    assert len(graph.inputs) == 1
    assert list(graph.outputs) == [value.name for value in onnx.load(path).graph.output]
    assert not [value.name for value in graph.values.values() if value.shape is None or value.dtype is None]
    assert not {"Constant", "ConstantOfShape", "Dropout", "Identity", "Shape"} & {node.op_type for node in graph.nodes}
    assert len({node.id for node in graph.nodes}) == len(graph.nodes)


def test_a_node_keeps_a_name_that_no_other_has() -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="twice"),
        helper.make_node("Neg", ["a"], ["b"], name="once"),
        helper.make_node("Abs", ["b"], ["c"], name="twice"),
        helper.make_node("Exp", ["c"], ["d"]),
        helper.make_node("Log", ["d"], ["y"], name="Exp_3"),
    ]
    graph = load_model(model(nodes, [info("x")], [info("y")]))
    assert [node.id for node in graph.nodes] == ["Relu_0", "once", "Abs_2", "Exp_3_", "Exp_3"]
    assert graph.node("once").op_type == "Neg"


def test_the_same_model_gives_the_same_graph() -> None:
    first, second = (load_model(branching()) for _ in range(2))
    assert structure(first) == structure(second)


def test_the_users_model_is_left_alone() -> None:
    proto = branching(opset=13)
    before = proto.SerializeToString(deterministic=True)
    load_model(proto)
    assert proto.SerializeToString(deterministic=True) == before
    held = ir.from_proto(proto)
    load_model(held)
    assert ir.to_proto(held).SerializeToString(deterministic=True) == ir.to_proto(
        ir.from_proto(proto)
    ).SerializeToString(deterministic=True)


def test_all_forms_of_one_model_are_equal(tmp_path: Path) -> None:
    proto = two_layers()
    path = tmp_path / "m.onnx"
    onnx.save(proto, path)
    hashes = {
        content_hash(load_model(source))
        for source in (path, str(path), proto.SerializeToString(), proto, ir.from_proto(proto))
    }
    assert len(hashes) == 1


def test_weights_that_are_inputs_too_are_weights() -> None:
    proto = two_layers()
    proto.graph.input.extend([info("w0", (32, 32)), info("w1", (32, 32))])
    proto.ir_version = 3
    graph = load_model(proto)
    assert graph.inputs == ("x",)
    assert set(graph.weights) == {"w0", "w1"}


def test_functions_are_inlined() -> None:
    nodes = [helper.make_node("Neg", ["p"], ["q"]), helper.make_node("Abs", ["q"], ["r"])]
    function = helper.make_function("mine", "Both", ["p"], ["r"], nodes, [helper.make_opsetid("", 21)])
    proto = model(
        [helper.make_node("Both", ["x"], ["a"], domain="mine"), helper.make_node("Both", ["a"], ["y"], domain="mine")],
        [info("x")],
        [info("y")],
        domains={"mine": 1},
    )
    proto.functions.append(function)
    graph = load_model(proto)
    assert [node.op_type for node in graph.nodes] == ["Neg", "Abs", "Neg", "Abs"]
    assert graph.opsets == {"": 21}


@pytest.mark.parametrize("opset", [11, 21])
def test_operators_of_unknown_domains_survive(opset: int) -> None:
    nodes = [
        helper.make_node("Foo", ["x"], ["a"], domain="their", strength=2.0),
        helper.make_node("Softmax", ["a"], ["b"], axis=1),
        helper.make_node("Foo", ["b"], ["y"], domain="their"),
    ]
    graph = load_model(model(nodes, [info("x")], [info("y", None)], opset=opset, domains={"their": 1}))
    assert graph.opsets == {"": 21, "their": 1}
    assert graph.nodes[0].op_type == "Foo"
    assert graph.nodes[0].attributes["strength"] == 2.0
    assert graph.values["a"].shape is None


def test_the_declared_shape_of_an_unknown_operator_is_believed() -> None:
    nodes = [helper.make_node("Foo", ["x"], ["a"], domain="their"), helper.make_node("Relu", ["a"], ["y"])]
    proto = model(nodes, [info("x", ("N", 3))], [info("y", None)], domains={"their": 1})
    proto.graph.value_info.append(info("a", ("N", 7)))
    graph = load_model(proto, {"N": 5})
    assert graph.values["y"].shape == (5, 7)


def test_a_stale_declared_shape_is_not() -> None:
    proto = model(
        [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Neg", ["a"], ["y"])], [info("x")], [info("y")]
    )
    proto.graph.value_info.append(info("a", (9, 9)))
    assert load_model(proto).values["a"].shape == (2, 3)


def test_the_other_spelling_of_the_domain() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"], domain="ai.onnx")]
    proto = model(nodes, [info("x")], [info("y")])
    proto.opset_import[0].domain = "ai.onnx"
    graph = load_model(proto)
    assert graph.opsets == {"": 21}
    assert graph.nodes[0].domain == ""


def test_nodes_are_sorted() -> None:
    nodes = [helper.make_node("Neg", ["a"], ["y"]), helper.make_node("Relu", ["x"], ["a"])]
    assert [node.op_type for node in load_model(model(nodes, [info("x")], [info("y")])).nodes] == ["Relu", "Neg"]


def test_a_cycle_is_one_clear_error() -> None:
    nodes = [helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Relu", ["a"], ["b"])]
    with pytest.raises(ModelError, match="not sound"):
        load_model(model(nodes, [info("x")], [info("b")]))


@pytest.mark.parametrize("opset", [13, 21])
def test_nested_graphs_stay_whole_and_say_what_they_capture(opset: int) -> None:
    graph = load_model(branching(opset))
    assert [node.op_type for node in graph.nodes] == ["Neg", "ReduceSum", "Greater", "If", "Loop"]
    branch, loop = graph.nodes[3:]
    assert branch.has_subgraph
    assert branch.inputs == ("positive",)
    assert branch.reads[:2] == ("positive", "z")
    large = [name for name in branch.reads if name in graph.weights]
    assert [graph.weights[name].shape for name in large] == [(3, 200), (3, 200)]
    assert loop.reads == ("three", "y", "factor")
    assert loop.inputs == ("three", "", "y")
    assert graph.values["z"].consumers == (1, 3)
    assert graph.values["y"].shape == (2, 200)


@pytest.mark.parametrize("opset", [13, 21])
@pytest.mark.parametrize("sign", [1, -1])
def test_nested_graphs_compute_what_they_say(opset: int, sign: int) -> None:
    proto = branching(opset)
    feeds = {"x": np.full((2, 3), sign, dtype=np.float32)}
    branch = proto.graph.node[3]
    graphs = {attribute.name: attribute.g for attribute in branch.attribute}
    tensor = graphs["then_branch"].initializer[0] if sign < 0 else graphs["else_branch"].node[0].attribute[0].t
    once = -feeds["x"] @ onnx.numpy_helper.to_array(tensor)
    results = evaluate(load_model(proto), feeds)
    np.testing.assert_allclose(results["last"], 8 * once, rtol=1e-5)
    np.testing.assert_allclose(results["peaks"], [factor * once.max() for factor in (2, 4, 8)], rtol=1e-5)


def test_values_know_their_place() -> None:
    graph = load_model(two_layers())
    x, a, y, w0 = (graph.values[name] for name in ("x", "a", "y", "w0"))
    assert (x.is_input, x.producer, x.consumers) == (True, None, (0,))
    assert (a.producer, a.consumers, a.shape, a.dtype, a.nbytes) == (0, (1,), (4, 32), "float32", 512)
    assert (y.is_output, y.consumers) == (True, ())
    assert (w0.is_weight, w0.producer, w0.nbytes) == (True, None, 4096)


def test_left_out_outputs_and_inputs_stay_in_place() -> None:
    lstm = helper.make_node("LSTM", ["x", "w", "r", "", "", "h"], ["", "y"], hidden_size=3)
    weights = {
        "w": np.ones((1, 12, 4), np.float32),
        "r": np.ones((1, 12, 3), np.float32),
        "h": np.ones((1, 1, 3), np.float32),
    }
    graph = load_model(model([lstm], [info("x", (5, 1, 4))], [info("y", None)], weights))
    assert graph.nodes[0].inputs == ("x", "w", "r", "", "", "h")
    assert graph.nodes[0].outputs == ("", "y")
    assert graph.nodes[0].reads == ("x", "w", "r", "h")
    assert graph.values["y"].shape == (1, 1, 3)


def test_thousands_of_nodes_are_no_burden() -> None:
    names = ["x", *(f"v{i}" for i in range(3000)), "y"]
    nodes = [helper.make_node("Relu", [a], [b]) for a, b in pairwise(names)]
    graph = load_model(model(nodes, [info("x")], [info("y")]))
    assert Counter(node.op_type for node in graph.nodes) == {"Relu": 3001}
    assert extract(graph, [f"Relu_{i}" for i in range(100, 2900)]).inputs[0].name == "v99"
    assert len(fingerprint_of(graph)) == 32


def test_metadata_travels() -> None:
    proto = two_layers()
    proto.metadata_props.add(key="author", value="somebody")
    assert load_model(proto).metadata == {"author": "somebody"}


def test_an_integer_input_keeps_its_type() -> None:
    nodes = [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT)]
    graph = load_model(model(nodes, [info("x", (2,), TensorProto.INT64)], [info("y", (2,))]))
    assert [graph.values[name].dtype for name in "xy"] == ["int64", "float32"]


def test_feeds_of_the_models_fit() -> None:
    assert evaluate(load_model(two_layers()), feeds_of(two_layers()))["y"].shape == (4, 32)
