"""Convex sets and their borders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from intarsia.partitioning.groups import fused_groups
from intarsia.partitioning.quotient import edges
from intarsia.partitioning.region import Boundary, boundaries, maximal_regions
from intarsia.topological_order import runnable_order
from tests.convexity import is_convex
from tests.fakes import dags, fake_dag, fake_graph

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from intarsia.graph import Graph

MIXED = dags(op_types=("Relu", "Relu", "Conv", "DequantizeLinear", "QuantizeLinear"))


def ids(graph: Graph) -> list[str]:
    return [node.id for node in graph.nodes]


def ancestors(graph: Graph) -> list[set[int]]:
    found: list[set[int]] = []
    for node in graph.nodes:
        producers = {p for name in node.reads if (p := graph.values[name].producer) is not None}
        found.append(producers.union(*(found[producer] for producer in producers)))
    return found


def convex_by_force(graph: Graph, chosen: Collection[str]) -> bool:
    above = ancestors(graph)
    inside = {graph.node(id_).index for id_ in chosen}
    return not any(
        outside in above[below] and above[outside] & inside
        for below in inside
        for outside in range(len(graph.nodes))
        if outside not in inside
    )


def runs(graph: Graph, regions: Sequence[Collection[str]]) -> bool:
    """Whether the graph of regions and other nodes has no cycle."""
    labels = list(range(len(graph.nodes)))
    for region in regions:
        indices = [graph.node(id_).index for id_ in region]
        for index in indices:
            labels[index] = min(indices)
    after = edges(graph, labels)
    return len(runnable_order(after)) == len(after)


@given(dags(), st.data())
def test_convexity_is_what_paths_say(graph: Graph, data: st.DataObject) -> None:
    chosen = data.draw(st.sets(st.sampled_from(ids(graph))))
    assert is_convex(graph, chosen) == convex_by_force(graph, chosen)


def test_a_border_lists_each_value_once_in_the_order_of_the_graph() -> None:
    rows = [
        ("a", "Relu", ["x"], ["va"]),
        ("b", "Split", ["va", "w"], ["vb1", "", "vb2"]),
        ("c", "Add", ["vb2", "va"], ["vc"]),
        ("d", "Add", ["vc", "vb1"], ["vd"]),
    ]
    graph = fake_graph(rows, weights=["w"], outputs=["vd", "vb2"])
    assert boundaries(graph, {"c", "b"}) == Boundary(inputs=("va",), outputs=("vb1", "vb2", "vc"))
    assert boundaries(graph, ids(graph)) == Boundary(inputs=("x",), outputs=("vb2", "vd"))


@given(dags(), st.data())
def test_a_border_is_all_that_passes_it(graph: Graph, data: st.DataObject) -> None:
    chosen = data.draw(st.sets(st.sampled_from(ids(graph)), min_size=1))
    inside = {graph.node(id_).index for id_ in chosen}
    border = boundaries(graph, chosen)
    read = {name for index in inside for name in graph.nodes[index].reads}
    written = {name for index in inside for name in graph.nodes[index].outputs}
    read_outside = {name for node in graph.nodes if node.index not in inside for name in node.reads}
    assert set(border.inputs) == read - written
    assert set(border.outputs) == written & (read_outside | set(graph.outputs))


@given(MIXED, st.data())
def test_regions_are_convex_disjoint_and_cover_what_is_accepted(graph: Graph, data: st.DataObject) -> None:
    accepted = data.draw(st.sets(st.sampled_from(ids(graph))))
    regions = maximal_regions(graph, accepted)
    covered = [id_ for region in regions for id_ in region]
    cut = {id_ for group in fused_groups(graph) if not group <= accepted for id_ in group}
    assert sorted(covered) == sorted(accepted - cut)
    assert all(convex_by_force(graph, region) for region in regions)
    assert runs(graph, regions)
    for group in fused_groups(graph):
        assert all(group <= region or not group & region for region in regions)


@given(dags(), st.data())
def test_no_two_regions_that_touch_can_be_merged(graph: Graph, data: st.DataObject) -> None:
    regions = maximal_regions(graph, data.draw(st.sets(st.sampled_from(ids(graph)))))
    for i, one in enumerate(regions):
        for other in regions[i + 1 :]:
            touch = set(boundaries(graph, one).outputs) & set(boundaries(graph, other).inputs)
            touch |= set(boundaries(graph, other).outputs) & set(boundaries(graph, one).inputs)
            rest = [region for region in regions if region not in (one, other)]
            assert not touch or not runs(graph, [*rest, one | other])


@given(dags(), st.data())
def test_regions_run_together_with_what_is_fixed(graph: Graph, data: st.DataObject) -> None:
    first = data.draw(st.sets(st.sampled_from(ids(graph))))
    fixed = maximal_regions(graph, first)
    regions = maximal_regions(graph, set(ids(graph)) - first, fixed=fixed)
    assert runs(graph, [*fixed, *regions])
    assert sorted(id_ for region in (*fixed, *regions) for id_ in region) == sorted(ids(graph))


def test_a_diamond_with_one_refused_side_is_cut_once() -> None:
    graph = fake_dag([[], [0], [0], [1, 2]])
    regions = maximal_regions(graph, {"n0", "n1", "n3"})
    assert [set(region) for region in regions] == [{"n0", "n1"}, {"n3"}]


def test_nothing_accepted_is_no_region() -> None:
    assert maximal_regions(fake_dag([[], [0]]), ()) == ()
    assert is_convex(fake_dag([[]]), ())


def test_a_wide_graph_of_ten_thousand_nodes_is_grouped() -> None:
    graph = fake_dag([[] if number < 100 else [number - 100] for number in range(10_000)])
    accepted = {f"n{number}" for number in range(10_000) if number // 100 % 7}
    regions = maximal_regions(graph, accepted)
    assert len(regions) == 100 * 15
    assert set().union(*regions) == accepted
