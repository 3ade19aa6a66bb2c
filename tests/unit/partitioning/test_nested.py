"""Partitioning by priority with nested configurations, which divide what they are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.config import CompilationConfig, NestedEngine
from intarsia.errors import NoCoverError
from intarsia.partitioning import (
    Capability,
    Partition,
    Partitioning,
    divide,
    divided_inside,
    flattened,
    fused_groups,
    greedy,
    nested_capability,
)
from intarsia.target import Target
from tests.fakes import dags, fake_dag

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from intarsia.graph import Graph

    Engine = Target | NestedEngine

ORT, OV, MNN, NCNN = map(Target, ("onnxruntime", "openvino", "mnn", "ncnn"))
ALL = Capability(refusals={})
GRAPHS = dags(op_types=("Relu", "Relu", "Conv", "DequantizeLinear", "QuantizeLinear"))


def nested(*inner: Engine) -> NestedEngine:
    targets = [each.config if isinstance(each, NestedEngine) else each for each in inner]
    return NestedEngine(config=CompilationConfig.of({"kind": "config", "targets": targets}), engines=inner)


def chain(count: int) -> Graph:
    return fake_dag([[number - 1] if number else [] for number in range(count)])


def only(graph: Graph, *taken: int) -> Capability:
    return Capability(refusals={n.id: "not here" for n in graph.nodes if n.index not in taken})


def with_nested(graph: Graph, found: dict[Engine, Capability], *several: NestedEngine) -> Mapping[Engine, Capability]:
    for each in several:
        found[each] = nested_capability(graph, each, found)
    return found


def shape(partitioning: Partitioning) -> list[tuple[str, tuple[str, ...]]]:
    return [(str(partition.target), partition.nodes) for partition in partitioning.partitions]


@given(GRAPHS, st.integers(1, 3), st.data())
def test_without_nesting_it_is_greedy(graph: Graph, min_nodes: int, data: st.DataObject) -> None:
    ids = [node.id for node in graph.nodes]
    capabilities: dict[Engine, Capability] = {
        OV: Capability(refusals=dict.fromkeys(data.draw(st.sets(st.sampled_from(ids))), "no")),
        ORT: ALL,
    }
    flat = greedy(graph, [OV, ORT], {OV: capabilities[OV], ORT: ALL}, min_nodes)
    assert divide(graph, [OV, ORT], capabilities, min_nodes) == flat


@given(GRAPHS, st.data())
def test_what_is_nested_is_divided_among_its_own(graph: Graph, data: st.DataObject) -> None:
    ids = [node.id for node in graph.nodes]
    drawn = [Capability(refusals=dict.fromkeys(data.draw(st.sets(st.sampled_from(ids))), "no")) for _ in range(3)]
    deep = nested(MNN)
    inner = nested(deep, OV)
    capabilities = with_nested(graph, {MNN: drawn[0], OV: drawn[1], NCNN: drawn[2], ORT: ALL}, deep, inner)
    divided = divide(graph, [NCNN, inner, ORT], capabilities)
    parts = [(partition.target, partition.nodes) for partition in divided.partitions]
    assert shape(Partitioning.of(graph, parts)) == shape(divided)
    leaves = flattened(divided)
    assert_same_cover(graph, leaves)
    above = {MNN: (inner.target, deep.target), OV: (inner.target,), NCNN: (), ORT: ()}
    for part in divided.partitions:
        assert_inside(part, (), above, capabilities)
    taker = {id_: leaf.target for leaf in leaves.partitions for id_ in leaf.nodes}
    grouped = frozenset[str]().union(*fused_groups(graph))
    for id_ in set(ids) - grouped:
        # Outside groups the outer order is kept by each node, and by what is nested, the inner one.
        assert taker[id_] == next(each for each in (NCNN, MNN, OV, ORT) if capabilities[each].takes(id_))


def assert_same_cover(graph: Graph, leaves: Partitioning) -> None:
    """The partitions that run at last cover the graph in an order that runs."""
    parts = [(partition.target, partition.nodes) for partition in leaves.partitions]
    Partitioning.of(graph, parts)
    done: set[int | None] = {None}
    for _, nodes in parts:
        own = {graph.node(id_).index for id_ in nodes}
        reads = {graph.values[name].producer for id_ in nodes for name in graph.node(id_).reads}
        assert reads <= done | own
        done |= own


def assert_inside(
    part: Partition,
    around: tuple[Target, ...],
    above: Mapping[Target, tuple[Target, ...]],
    capabilities: Mapping[Engine, Capability],
) -> None:
    """What is inside of a partition holds its nodes, each on a target of that configuration."""
    if part.inside is None:
        assert around == above[part.target]
        assert all(capabilities[part.target].takes(id_) for id_ in part.nodes)
        return
    within = [id_ for each in part.inside.partitions for id_ in each.nodes]
    assert sorted(within) == sorted(part.nodes)
    for each in part.inside.partitions:
        assert_inside(each, (*around, part.target), above, capabilities)


@given(GRAPHS, st.lists(st.integers(0, 2), min_size=1, max_size=3), st.data())
def test_flattening_a_nest_of_equals_changes_no_division(
    graph: Graph, sizes: Sequence[int], data: st.DataObject
) -> None:
    """Whatever the brackets, each node goes to the first target of the flat list that takes it."""
    ids = [node.id for node in graph.nodes]
    free = [node.id for node in graph.nodes if node.id not in frozenset[str]().union(*fused_groups(graph))]
    flat = [MNN, OV, NCNN]
    drawn = [Capability(refusals=dict.fromkeys(data.draw(st.sets(st.sampled_from(ids))), "no")) for _ in flat]
    capabilities: dict[Engine, Capability] = {**dict(zip(flat, drawn, strict=True)), ORT: ALL}
    engines: list[Engine] = [*flat, ORT]
    for size in sizes:  # brackets around the first so many, which may hold brackets
        if size and size < len(engines):
            nest = nested(*engines[: size + 1])
            capabilities[nest] = nested_capability(graph, nest, capabilities)
            engines = [nest, *engines[size + 1 :]]
    taker = {
        id_: leaf.target for leaf in flattened(divide(graph, engines, capabilities)).partitions for id_ in leaf.nodes
    }
    for id_ in free:
        assert taker[id_] == next(each for each in (*flat, ORT) if capabilities[each].takes(id_))


def test_one_target_inside_and_outside_stays_two() -> None:
    graph = chain(4)
    inner = nested(OV, MNN)
    capabilities = with_nested(graph, {OV: only(graph, 1), MNN: only(graph, 2), ORT: ALL}, inner)
    outer_mnn = divide(graph, [inner, MNN, ORT], {**capabilities, MNN: only(graph, 2)})
    assert shape(flattened(outer_mnn)) == [
        ("onnxruntime", ("n0",)),
        ("openvino", ("n1",)),
        ("mnn", ("n2",)),
        ("onnxruntime", ("n3",)),
    ]
    assert [part.target for part in outer_mnn.partitions] == [ORT, inner.target, ORT]
    both = nested(ORT)
    split = divide(graph, [both, ORT], with_nested(graph, {ORT: ALL}, both))
    assert shape(split) == [(str(both.target), ("n0", "n1", "n2", "n3"))]
    assert shape(flattened(split)) == [("onnxruntime", ("n0", "n1", "n2", "n3"))]


def test_partitions_of_two_configurations_are_not_merged() -> None:
    graph = chain(4)
    inner = nested(MNN, ORT)
    capabilities = with_nested(graph, {MNN: only(graph), OV: only(graph, 0), ORT: only(graph, 1, 2)}, inner)
    apart = flattened(divide(graph, [OV, inner, ORT], {**capabilities, ORT: ALL}))
    assert shape(apart) == [("openvino", ("n0",)), ("onnxruntime", ("n1", "n2")), ("onnxruntime", ("n3",))]


def test_a_region_is_judged_as_a_whole_before_it_is_divided() -> None:
    """Flat, OpenVINO's lone node would be too small, and MNN's region would go first."""
    graph = chain(3)
    inner = nested(OV, MNN)
    capabilities = with_nested(graph, {OV: only(graph, 0), MNN: only(graph, 1), ORT: ALL}, inner)
    divided = flattened(divide(graph, [inner, ORT], capabilities, 2))
    assert shape(divided) == [("openvino", ("n0",)), ("mnn", ("n1",)), ("onnxruntime", ("n2",))]


def test_a_region_of_any_nodes_is_divided_by_priority() -> None:
    graph = chain(4)
    inner = nested(OV, MNN)
    capabilities = with_nested(graph, {OV: only(graph, 1), MNN: ALL}, inner)
    found = divided_inside(graph, inner, ["n1", "n2"], capabilities)
    assert [(str(part.target), part.nodes) for part in found] == [("openvino", ("n1",)), ("mnn", ("n2",))]


def test_no_partition_spans_two_devices() -> None:
    graph = chain(4)
    inner = nested(OV)
    places = {"n0": "a", "n1": "a", "n2": "b", "n3": "b"}
    divided = divide(graph, [inner], with_nested(graph, {OV: ALL}, inner), places=places)
    assert shape(flattened(divided)) == [("openvino", ("n0", "n1")), ("openvino", ("n2", "n3"))]


def test_a_group_that_none_takes_whole_is_refused_with_all_reasons() -> None:
    graph = chain(3)
    free = {value.name for value in graph.values.values() if value.producer == 0}
    graph = fake_dag([[], [0], [1]], shapes=dict.fromkeys(free))
    inner = nested(OV, MNN)
    refusals = nested_capability(graph, inner, {OV: only(graph, 0), MNN: only(graph, 1, 2)}).refusals
    assert dict(refusals) == {
        "n0": "openvino: 'n1', which must stay with it: not here; mnn: not here",
        "n1": "openvino: not here; mnn: 'n0', which must stay with it: not here",
    }


def test_a_nested_configuration_without_engines_takes_nothing() -> None:
    graph = chain(2)
    empty = NestedEngine(config=CompilationConfig.of({"kind": "config", "targets": ["openvino"]}), engines=())
    capabilities = with_nested(graph, {ORT: only(graph, 1)}, empty)
    with pytest.raises(NoCoverError, match=r"config -targets=openvino: none of its engines can be used here"):
        divide(graph, [empty, ORT], capabilities)
