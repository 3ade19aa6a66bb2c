"""The linear order and its cuts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from intarsia.partitioning.groups import fused_groups
from intarsia.partitioning.linear import cuts, line, linear_order
from intarsia.partitioning.region import boundaries
from tests.convexity import is_convex
from tests.fakes import dags, fake_dag, fake_graph

if TYPE_CHECKING:
    from intarsia.graph import Graph

MIXED = dags(op_types=("Relu", "Relu", "Conv", "DequantizeLinear", "QuantizeLinear"))


@given(MIXED)
def test_each_node_comes_once_and_after_what_it_reads(graph: Graph) -> None:
    order = linear_order(graph)
    assert sorted(order) == sorted(node.id for node in graph.nodes)
    place = {id_: place for place, id_ in enumerate(order)}
    for node in graph.nodes:
        for name in node.reads:
            producer = graph.values[name].producer
            assert producer is None or place[graph.nodes[producer].id] < place[node.id]


@given(MIXED)
def test_groups_stand_in_one_partition(graph: Graph) -> None:
    place = {id_: place for place, id_ in enumerate(linear_order(graph))}
    for group in fused_groups(graph):
        places = sorted(place[id_] for id_ in group)
        assert places == list(range(places[0], places[0] + len(group)))


@given(dags(), st.data())
def test_any_region_is_convex(graph: Graph, data: st.DataObject) -> None:
    order = linear_order(graph)
    start = data.draw(st.integers(0, len(order)))
    end = data.draw(st.integers(start, len(order)))
    assert is_convex(graph, order[start:end])


def test_branches_follow_each_other_though_the_graph_mixes_them() -> None:
    # Two branches of three nodes, listed in turn, that meet at the end.
    graph = fake_dag([[], [0], [0], [1], [2], [3], [4], [5, 6]])
    assert linear_order(graph) == ("n0", "n1", "n3", "n5", "n2", "n4", "n6", "n7")


def test_a_node_comes_right_before_its_first_reader() -> None:
    graph = fake_dag([[], [], [1], [2], [3, 0]])
    assert linear_order(graph) == ("n1", "n2", "n3", "n0", "n4")


@given(MIXED)
def test_cuts_name_what_crosses_them(graph: Graph) -> None:
    order = linear_order(graph)
    inside = [
        cut
        for cut in range(1, len(order))
        for group in fused_groups(graph)
        if set(order[:cut]) & group and set(order[cut:]) & group
    ]
    every = cuts(graph)
    assert [cut.position for cut in every] == sorted(set(range(1, len(order))) - set(inside))
    for cut in every:
        before, after = boundaries(graph, order[: cut.position]), boundaries(graph, order[cut.position :])
        assert set(cut.crossing) == set(before.outputs) & set(after.inputs)
        assert cut.nbytes == sum(graph.values[name].nbytes for name in cut.crossing)


def test_a_cut_counts_the_bytes_and_not_the_weights() -> None:
    rows = [
        ("a", "Split", ["x", "w"], ["va", "", "vb"]),
        ("b", "Add", ["va", "w"], ["vc"]),
        ("c", "Add", ["vc", "vb"], ["vd"]),
    ]
    graph = fake_graph(rows, weights=["w"], shapes={"va": (2, 3), "vb": (5,), "vc": (7,)})
    assert [(cut.position, cut.crossing, cut.nbytes) for cut in cuts(graph)] == [
        (1, ("va", "vb"), 44),
        (2, ("vb", "vc"), 48),
    ]


def test_there_is_no_cut_where_a_value_of_unknown_shape_lives() -> None:
    graph = fake_dag([[], [0], [1], [2]], shapes={"v1": None})
    assert [cut.position for cut in cuts(graph)] == [1, 3]
    assert [cut.position for cut in cuts(graph, crossing_ok=lambda value: True)] == [1, 2, 3]


def test_the_narrow_cuts_lie_outside_of_a_residual_block() -> None:
    # A residual block between two plain layers: two values cross within it, one at its ends.
    graph = fake_dag([[], [0], [1], [2], [3, 1], [4]])
    assert [len(cut.crossing) for cut in cuts(graph)] == [1, 1, 2, 2, 1]
    assert [cut.position for cut in line(graph)[1]] == [1, 2, 5]


@given(dags())
def test_a_narrow_cut_is_no_wider_than_its_neighbours(graph: Graph) -> None:
    every = cuts(graph)
    _, narrow = line(graph)
    assert bool(narrow) == bool(every)
    for i, cut in enumerate(every):
        near = every[max(i - 1, 0) : i + 2]
        assert (cut in narrow) == (len(cut.crossing) == min(len(other.crossing) for other in near))
