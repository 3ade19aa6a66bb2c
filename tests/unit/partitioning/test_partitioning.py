"""Validation, order and merging of a whole cover."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.errors import PlanError
from intarsia.partitioning.groups import fused_groups
from intarsia.partitioning.linear import linear_order
from intarsia.partitioning.partitioning import Partition, Partitioning, merge_adjacent
from intarsia.partitioning.region import boundaries, maximal_regions
from intarsia.target import Target
from tests.convexity import is_convex
from tests.fakes import dags, fake_dag, fake_graph

if TYPE_CHECKING:
    from collections.abc import Iterable

    from intarsia.graph import Graph

ORT, OV = Target("onnxruntime"), Target("openvino")
MIXED = dags(op_types=("Relu", "Relu", "Conv", "DequantizeLinear", "QuantizeLinear"))


def chain(count: int) -> Graph:
    return fake_dag([[number - 1] if number else [] for number in range(count)])


def shape(partitioning: Partitioning) -> list[tuple[str, tuple[str, ...]]]:
    return [(str(partition.target), partition.nodes) for partition in partitioning.partitions]


def assert_runs(graph: Graph, partitioning: Partitioning) -> None:
    """Each node once, and each partition after all that it reads."""
    done = set(graph.inputs) | set(graph.weights)
    held: list[str] = []
    for partition in partitioning.partitions:
        border = boundaries(graph, partition.nodes)
        assert set(border.inputs) <= done
        assert is_convex(graph, partition.nodes)
        assert list(partition.nodes) == sorted(partition.nodes, key=lambda id_: graph.node(id_).index)
        done |= set(border.outputs)
        held += partition.nodes
    assert sorted(held) == sorted(node.id for node in graph.nodes)


def cover(graph: Graph, data: st.DataObject) -> list[tuple[Target, Iterable[str]]]:
    """A random cover: regions of a random half, and regions of the other half around them."""
    taken = data.draw(st.sets(st.sampled_from([node.id for node in graph.nodes])))
    first = maximal_regions(graph, taken)
    rest = {node.id for node in graph.nodes}.difference(*first)
    parts = [*first, *maximal_regions(graph, rest, fixed=first)]
    return [(data.draw(st.sampled_from([ORT, OV])), sorted(part)) for part in data.draw(st.permutations(parts))]


@given(MIXED, st.data())
def test_a_cover_is_put_in_a_runnable_order(graph: Graph, data: st.DataObject) -> None:
    parts = cover(graph, data)
    partitioning = Partitioning.of(graph, parts)
    assert_runs(graph, partitioning)
    assert sorted(set(partition.nodes) == set(ids) for partition in partitioning.partitions for _, ids in parts).count(
        True
    ) == len(parts)
    assert partitioning == Partitioning.of(graph, reversed(parts))


@given(MIXED, st.data())
def test_merging_keeps_the_cover_and_leaves_no_equal_neighbours(graph: Graph, data: st.DataObject) -> None:
    partitioning = Partitioning.of(graph, cover(graph, data))
    merged = merge_adjacent(graph, partitioning)
    assert_runs(graph, merged)
    before = {id_: partition.target for partition in partitioning.partitions for id_ in partition.nodes}
    assert {id_: partition.target for partition in merged.partitions for id_ in partition.nodes} == before
    targets = [partition.target for partition in merged.partitions]
    assert all(one != other for one, other in pairwise(targets))
    assert merge_adjacent(graph, merged) == merged
    assert Partitioning.of(graph, [(partition.target, partition.nodes) for partition in merged.partitions]) == merged


@given(dags(), st.lists(st.booleans(), min_size=14, max_size=14))
def test_any_cut_of_the_linear_order_is_a_partitioning(graph: Graph, ends: list[bool]) -> None:
    order = linear_order(graph)
    parts: list[list[str]] = [[]]
    for id_, end in zip(order, ends, strict=False):
        parts[-1].append(id_)
        if end:
            parts.append([])
    assert_runs(graph, Partitioning.of(graph, [(ORT, part) for part in parts if part]))


def test_free_partitions_run_in_the_order_of_their_first_nodes() -> None:
    graph = fake_dag([[], [], [1], [0], [2, 3]])
    partitioning = Partitioning.of(graph, [(OV, ["n4"]), (ORT, ["n1", "n2"]), (OV, ["n3", "n0"])])
    assert shape(partitioning) == [("openvino", ("n0", "n3")), ("onnxruntime", ("n1", "n2")), ("openvino", ("n4",))]


def test_an_empty_graph_has_an_empty_partitioning() -> None:
    assert Partitioning.of(fake_dag([]), []) == Partitioning(partitions=())
    assert merge_adjacent(fake_dag([]), Partitioning(partitions=())) == Partitioning(partitions=())


def test_partitions_that_are_only_parted_by_order_merge() -> None:
    graph = fake_dag([[], []])
    parted = Partitioning(partitions=(Partition(target=ORT, nodes=("n0",)), Partition(target=ORT, nodes=("n1",))))
    assert shape(merge_adjacent(graph, parted)) == [("onnxruntime", ("n0", "n1"))]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([["n0", "n1"]], "2 of 4 nodes are in no partition: n2, n3; add them"),
        (
            [["n0", "n1"], ["n1", "n2", "n3"]],
            "node 'n1' is in partition 1 (onnxruntime) and in partition 2 (openvino); leave it in one of them, once",
        ),
        ([["n0", "n0", "n1", "n2", "n3"]], "node 'n0' is in partition 1 (onnxruntime) and in partition 1"),
        (
            [["n0", "n1", "n2", "n3", "n33"]],
            "partition 1 (onnxruntime) holds 'n33', which is not a node of the model; did you mean 'n3'?",
        ),
        ([["n0", "n1", "n2", "n3", "other"]], "which is not a node of the model; remove it"),
        ([["n0", "n1", "n2", "n3"], []], "partition 2 (openvino) holds no node; remove it"),
        (
            [["n0", "n2"], ["n1", "n3"]],
            "partition 1 (onnxruntime) and partition 2 (openvino) depend on each other: the second reads 'v0'",
        ),
    ],
)
def test_a_wrong_cover_is_refused(parts: list[list[str]], message: str) -> None:
    with pytest.raises(PlanError) as caught:
        Partitioning.of(chain(4), zip((ORT, OV), parts, strict=False))
    assert message in str(caught.value)


def test_a_list_of_missing_nodes_ends() -> None:
    with pytest.raises(PlanError, match="19 of 20 nodes are in no partition: n1, n2, n3, n4, n5 and 14 more"):
        Partitioning.of(chain(20), [(ORT, ["n0"])])


def test_a_longer_cycle_is_named_by_two_that_follow_each_other() -> None:
    rows = [("a", "Relu", ["x"], ["1"]), ("b", "Relu", ["x"], ["2"]), ("c", "Relu", ["x"], ["3"])]
    rows += [("a2", "Relu", ["3"], ["4"]), ("b2", "Relu", ["1"], ["5"]), ("c2", "Relu", ["2"], ["6"])]
    graph = fake_graph(rows)
    with pytest.raises(PlanError, match=r"partition 1 \(onnxruntime\) and partition 2 .* reads '1' from the first"):
        Partitioning.of(graph, [(ORT, ["a", "a2"]), (ORT, ["b", "b2"]), (OV, ["c", "c2"])])


def test_a_quantised_group_is_not_cut() -> None:
    graph = fake_dag([[], [0], [1]], ["DequantizeLinear", "Conv", "QuantizeLinear"])
    assert fused_groups(graph)
    with pytest.raises(PlanError, match="cut a quantised group; put these nodes into one partition: n0, n1, n2"):
        Partitioning.of(graph, [(ORT, ["n0", "n1"]), (OV, ["n2"])])


def test_a_value_of_unknown_shape_crosses_only_where_the_caller_allows() -> None:
    graph = fake_dag([[], [0]], shapes={"v0": None})
    parts = [(ORT, ["n0"]), (OV, ["n1"])]
    with pytest.raises(PlanError, match=r"value 'v0' would pass from partition 1 \(onnxruntime\) to partition 2"):
        Partitioning.of(graph, parts)
    assert len(Partitioning.of(graph, parts, crossing_ok=lambda value: value.name == "v0").partitions) == 2
    assert len(Partitioning.of(graph, [(ORT, ["n0", "n1"])]).partitions) == 1


def test_a_moved_draft_is_a_partition_of_its_own_until_it_is_checked() -> None:
    graph = fake_dag([[], [0], [1], [2]])
    first, second = Target("openvino"), Target("mnn")
    made = Partitioning.of(graph, [(first, ["n0", "n1"]), (second, ["n2", "n3"])])
    draft = made.moved(["n2", "n1"], second)
    assert [(str(p.target), p.nodes) for p in draft.partitions] == [
        ("openvino", ("n0",)),
        ("mnn", ("n3",)),
        ("mnn", ("n2", "n1")),
    ]
    checked = Partitioning.of(graph, [(p.target, p.nodes) for p in draft.partitions])
    assert [p.nodes for p in checked.partitions] == [("n0",), ("n1", "n2"), ("n3",)]
    assert made.moved(["n0", "n1", "n2", "n3"], first).partitions[0].nodes == ("n0", "n1", "n2", "n3")
