"""Constraints that a model carries, through everything that normalisation does."""

from __future__ import annotations

from typing import Any

import pytest
from onnx import NodeProto, helper

from intarsia.config import CompilationConfig
from intarsia.devices import MODEL_KEY, NODE_KEY, Constraint, model_constraints, plan_devices
from intarsia.errors import ConfigError
from intarsia.graph import load_model, open_graph
from intarsia.graph.fingerprint import fingerprint_of
from intarsia.graph.store import structure
from tests.unit.graph.models import info, model


def pinned(device: str, *args: Any, **more: Any) -> NodeProto:
    node = helper.make_node(*args, **more)
    node.metadata_props.add(key=NODE_KEY, value=device)
    return node


def resolved(source: Any) -> dict[str, str]:
    return {each.name: str(each.device) for each in model_constraints(load_model(source))}


@pytest.mark.parametrize("opset", [13, 17, 21])
def test_nodes_keep_what_they_say_when_the_opset_is_raised(opset: int) -> None:
    nodes = [
        pinned("cpu:1", "Relu", ["x"], ["a"], name="first"),
        helper.make_node("Neg", ["a"], ["b"], name="second"),
        pinned(" gpu2 ", "Softmax", ["b"], ["y"], name="third"),
    ]
    assert resolved(model(nodes, [info("x")], [info("y")], opset=opset)) == {"first": "cpu:1", "third": "gpu2"}


def test_a_function_gives_what_it_says_to_its_nodes() -> None:
    """What is nearest to a node counts: its own word, the call's, the function's, then the same of what is around."""
    body = [helper.make_node("Relu", ["p"], ["r"], name="relu"), pinned("own", "Neg", ["r"], ["q"], name="neg")]
    function = helper.make_function("local", "F", ["p"], ["q"], body, [helper.make_opsetid("", 21)])
    function.metadata_props.add(key=NODE_KEY, value="function")
    outer = helper.make_function(
        "local",
        "G",
        ["p"],
        ["q"],
        [helper.make_node("F", ["p"], ["r"], domain="local"), helper.make_node("Abs", ["r"], ["q"])],
        [helper.make_opsetid("local", 1), helper.make_opsetid("", 21)],
    )
    calls = [
        pinned("call", "F", ["x"], ["a"], domain="local"),
        helper.make_node("F", ["a"], ["b"], domain="local"),
        pinned("outer", "G", ["b"], ["y"], domain="local"),
    ]
    whole = model(calls, [info("x")], [info("y")], domains={"local": 1})
    whole.functions.extend([function, outer])
    graph = load_model(whole)
    assert [(node.op_type, node.metadata[NODE_KEY]) for node in graph.nodes] == [
        *(("Relu", "call"), ("Neg", "own")),
        *(("Relu", "function"), ("Neg", "own")),
        *(("Relu", "function"), ("Neg", "own"), ("Abs", "outer")),
    ]


def test_a_stored_graph_carries_its_constraints(tmp_path: Any) -> None:
    whole = model([pinned("cpu", "Relu", ["x"], ["y"], name="only")], [info("x")], [info("y")])
    whole.metadata_props.add(key=MODEL_KEY, value="outputs: cpu\nvalues: {y: gpu1}")
    graph = load_model(whole)
    again = open_graph(structure(graph), tmp_path)
    assert model_constraints(again) == model_constraints(graph)
    assert [str(each) for each in model_constraints(graph)] == [
        "node 'only' on 'cpu' (from the metadata of node 'only')",
        "all outputs on 'cpu' (from the model's metadata 'intarsia.devices', line 1)",
        "value 'y' on 'gpu1' (from the model's metadata 'intarsia.devices', line 2)",
    ]


def test_metadata_changes_nothing_that_is_computed() -> None:
    plain = model([helper.make_node("Relu", ["x"], ["y"], name="only")], [info("x")], [info("y")])
    wished = model([pinned("cpu", "Relu", ["x"], ["y"], name="only")], [info("x")], [info("y")])
    assert fingerprint_of(load_model(plain)) == fingerprint_of(load_model(wished))


def test_an_argument_that_disagrees_with_the_model_is_named_with_it() -> None:
    whole = model([pinned("cpu", "Relu", ["x"], ["y"], name="only")], [info("x")], [info("y")])
    graph = load_model(whole)
    config = CompilationConfig.of("cuda, llvm")
    with pytest.raises(ConfigError) as caught:
        plan_devices(graph, config, [*model_constraints(graph), Constraint.node("only", "cuda", source="devices.yaml")])
    assert "node 'only' on 'cpu' (from the metadata of node 'only')" in str(caught.value)
    assert "node 'only' on 'cuda' (from devices.yaml)" in str(caught.value)


def test_metadata_that_makes_no_sense() -> None:
    whole = model([helper.make_node("Relu", ["x"], ["y"])], [info("x")], [info("y")])
    whole.metadata_props.add(key=MODEL_KEY, value="nods: {}")
    with pytest.raises(
        ConfigError, match=r"the model's metadata 'intarsia\.devices', line 1: there is no section 'nods'"
    ):
        model_constraints(load_model(whole))
