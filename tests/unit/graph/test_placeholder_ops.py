"""Models with placeholders: with the partitions' own results in their place they compute what the whole model does."""

from __future__ import annotations

import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.errors import PlanError
from intarsia.graph import Graph, extract, load_model
from intarsia.graph.placeholder_ops import DOMAIN, OP_TYPE, punched
from intarsia.partitioning.region import maximal_regions
from tests.unit.graph.models import random_dags, two_layers


def whole_of(graph: Graph) -> list[str]:
    return [node.id for node in graph.nodes]


@given(random_dags(), st.sets(st.integers(0, 30)))
def test_each_node_is_in_a_placeholder_or_outside_and_comes_behind_what_it_reads(
    proto: onnx.ModelProto, chosen: set[int]
) -> None:
    graph = load_model(proto)
    ids = whole_of(graph)
    accepted = {ids[index % len(ids)] for index in chosen}
    partitions = [extract(graph, region) for region in maximal_regions(graph, accepted)]
    model = punched(extract(graph, ids), partitions)
    known = {*graph.inputs, *graph.weights}
    for node in model.nodes:
        assert set(node.reads) <= known
        known.update(node.outputs)
    assert set(graph.outputs) <= known
    placeholders = [node for node in model.nodes if node.op_type == OP_TYPE]
    assert sorted(placeholder.attributes["partition"] for placeholder in placeholders) == list(range(len(partitions)))
    inside = {node.id for partition in partitions for node in partition.nodes}
    assert {node.id for node in model.nodes} - {placeholder.id for placeholder in placeholders} == set(ids) - inside


def test_a_placeholder_is_written_with_the_shapes_of_what_leaves_it_and_without_its_weights() -> None:
    graph = load_model(two_layers())
    partition = extract(graph, ["relu", "MatMul_2"])
    model = punched(extract(graph, whole_of(graph)), [partition])
    assert set(partition.weights).isdisjoint(model.weights)
    proto = onnx.load_from_string(model.to_bytes(weights="inline"))
    placeholder = next(node for node in proto.graph.node if node.domain == DOMAIN)
    attributes = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in placeholder.attribute}
    shape = graph.values["c"].shape
    assert shape is not None
    assert attributes == {"partition": 0, "dims": [len(shape), *shape]}
    assert (list(placeholder.input), list(placeholder.output)) == (["a"], ["c"])
    assert {entry.domain: entry.version for entry in proto.opset_import}[DOMAIN] == 1


def test_partitions_that_need_each_other_are_refused() -> None:
    graph = load_model(two_layers())
    ids = whole_of(graph)
    around = extract(graph, [ids[0], ids[-1]])  # not convex: what lies between reads it and is read by it
    with pytest.raises(PlanError, match="circle"):
        punched(extract(graph, ids), [around])
