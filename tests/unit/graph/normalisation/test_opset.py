from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from intarsia.errors import ModelError
from intarsia.graph import extract, load_model
from tests.unit.graph.models import branching, info, model, two_layers


def test_opset_and_ir_version_are_lowered_by_relabelling() -> None:
    graph = load_model(two_layers())
    partition = extract(graph, graph.position)
    proto = onnx.ModelProto.FromString(partition.to_bytes(weights="inline", max_opset=14, max_ir=7))
    assert (proto.opset_import[0].version, proto.ir_version) == (14, 7)
    onnx.checker.check_model(proto, full_check=True)
    same = onnx.ModelProto.FromString(partition.to_bytes(weights="inline", max_opset=30, max_ir=30))
    assert (same.opset_import[0].version, same.ir_version) == (21, graph.ir_version)


def test_an_operator_that_changed_since_is_named() -> None:
    nodes = [helper.make_node("ReduceSum", ["x", "a"], ["y"], name="total")]
    graph = load_model(model(nodes, [info("x")], [info("y", None)], {"a": np.array([1])}))
    with pytest.raises(ModelError, match=r"'total': ReduceSum changed in opset 13, and the reader knows only 12"):
        extract(graph, ["total"]).to_bytes(weights="inline", max_opset=12)


def test_an_operator_that_was_given_more_types_is_the_one_it_was() -> None:
    nodes = [helper.make_node("Reshape", ["x", "s"], ["y"]), helper.make_node("Shape", ["y"], ["z"])]
    graph = load_model(model(nodes, [info("x")], [info("y", None), info("z", None, 7)], {"s": np.array([3, 2])}))
    proto = onnx.ModelProto.FromString(extract(graph, graph.position).to_bytes(weights="inline", max_opset=20))
    assert proto.opset_import[0].version == 20
    onnx.checker.check_model(proto, full_check=True)


def test_types_that_the_older_one_does_not_take_hinder() -> None:
    nodes = [helper.make_node("Transpose", ["x"], ["y"])]
    x, y = (info(name, (2, 3), onnx.TensorProto.INT4) for name in "xy")
    with pytest.raises(ModelError, match="Transpose changed in opset 21"):
        extract(load_model(model(nodes, [x], [y])), ["Transpose_0"]).to_bytes(weights="inline", max_opset=20)


def test_an_operator_inside_a_nested_graph_counts_too() -> None:
    partition = extract(load_model(branching()), ["Loop_4"])
    with pytest.raises(ModelError, match="Loop"):
        partition.to_bytes(weights="inline", max_opset=20)


def test_an_ir_version_from_before_constants_is_refused() -> None:
    with pytest.raises(ModelError, match="IR version 3"):
        extract(load_model(two_layers()), ["first"]).to_bytes(weights="inline", max_ir=3)


def test_operators_of_other_domains_do_not_hinder() -> None:
    nodes = [helper.make_node("Foo", ["x"], ["y"], domain="their")]
    graph = load_model(model(nodes, [info("x")], [info("y", None)], domains={"their": 3}))
    proto = onnx.ModelProto.FromString(extract(graph, ["Foo_0"]).to_bytes(weights="inline", max_opset=13))
    assert {entry.domain: entry.version for entry in proto.opset_import} == {"": 13, "their": 3}
