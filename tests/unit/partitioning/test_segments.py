"""The atoms of the search."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from intarsia.graph.fingerprint import fingerprint_of
from intarsia.partitioning.groups import fused_groups
from intarsia.partitioning.linear import linear_order
from intarsia.partitioning.region import boundaries
from intarsia.partitioning.segments import OTHER, REPEATS, character, coarser, segments
from tests.convexity import is_convex
from tests.fakes import dags, fake_dag, fake_graph

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node

MIXED = dags(op_types=("Relu", "Conv", "GRU", "DequantizeLinear", "QuantizeLinear"))


def one(node: Node) -> float:
    return 1.0


@given(MIXED, st.integers(1, 8), st.sampled_from([0.0, 1.0, 1e9]))
def test_segments_are_the_linear_order_in_few_partitions(graph: Graph, limit: int, work: float) -> None:
    partitions = segments(graph, limit, lambda node: work * node.index)
    assert tuple(id_ for partition in partitions for id_ in partition) == linear_order(graph)
    assert 1 <= len(partitions) <= REPEATS * limit
    operators = [tuple(graph.node(id_).op_type for id_ in partition) for partition in partitions]
    assert len({(types, work and partition) for types, partition in zip(operators, partitions, strict=True)}) <= limit
    assert all(partitions)
    for group in fused_groups(graph):
        assert any(group <= set(partition) for partition in partitions)


@given(dags(), st.integers(1, 8), st.data())
def test_any_run_of_segments_is_convex(graph: Graph, limit: int, data: st.DataObject) -> None:
    partitions = segments(graph, limit, one)
    start = data.draw(st.integers(0, len(partitions) - 1))
    end = data.draw(st.integers(start, len(partitions) - 1))
    assert is_convex(graph, [id_ for partition in partitions[start : end + 1] for id_ in partition])


def test_an_empty_graph_has_no_segment() -> None:
    assert segments(fake_dag([]), 3, one) == ()


def test_work_is_shared_out() -> None:
    graph = fake_dag([[number - 1] if number else [] for number in range(64)])
    partitions = segments(graph, 4, lambda node: 1.0 + node.index / 1000)  # no two nodes are alike
    assert len(partitions) == 4
    assert all(12 <= len(partition) <= 20 for partition in partitions)
    heavy = segments(graph, 4, lambda node: 100.0 if node.index == 40 else 1.0 + node.index / 1000)
    assert ("n40",) in heavy


def test_equal_blocks_are_cut_alike_and_more_of_them_are_kept() -> None:
    """Twelve layers of three unlike operators between a stem and a head: four unlike regions, fourteen in all."""
    types = ["Conv", *(["Softmax", "MatMul", "Erf"] * 12), "GRU"]
    graph = fake_dag([[number - 1] if number else [] for number in range(len(types))], types)
    partitions = segments(graph, 5, one)
    kinds = [fingerprint_of(graph, partition) for partition in partitions]
    assert len(partitions) > 12
    assert len(set(kinds)) <= 5
    assert max(map(kinds.count, kinds)) >= 11


def test_equal_neighbours_are_merged_only_beyond_the_greatest_number_in_all() -> None:
    graph = fake_dag([[number - 1] if number else [] for number in range(64)])
    assert [len(partition) for partition in segments(graph, 4, one)] == [8] * 8


def test_coarser_divisions_nest() -> None:
    types = ["Conv" if number % 3 else "Softmax" for number in range(60)]
    graph = fake_dag([[number - 1] if number else [] for number in range(60)], types)

    def unlike(node: Node) -> float:
        return 1.0 + node.index % 7

    partitions = segments(graph, 32, unlike)
    levels = list(map(set, coarser(graph, partitions, (2, 4, 8, 16), unlike)))
    assert all(few <= many for few, many in pairwise(levels))
    assert all(0 in level for level in levels)
    assert max(map(max, levels)) < len(partitions)
    assert coarser(graph, (), (4, 8), one) == [(), ()]


def test_blocks_are_cut_between_and_not_within() -> None:
    reads: list[list[int]] = [[]]
    for _ in range(6):
        start = len(reads) - 1
        reads += [[start], [start + 1], [start + 2, start]]
    graph = fake_dag(reads)
    partitions = segments(graph, 6, lambda node: 1.0 + node.index / 1000)
    assert len(partitions) == 6
    order = linear_order(graph)
    for partition in partitions[:-1]:
        cut = order.index(partition[-1]) + 1
        crossing = set(boundaries(graph, order[:cut]).outputs) & set(boundaries(graph, order[cut:]).inputs)
        assert len(crossing) == 1


def test_a_narrow_cut_is_preferred_to_a_balanced_one() -> None:
    # Two residual blocks; the second holds most of the work, and two values cross its middle.
    graph = fake_dag([[], [0], [1, 0], [2], [3], [4], [5, 2]])
    work = [0.0, 2.0, 2.0, 5.0, 5.0, 9.0, 1.0]
    assert segments(graph, 2, lambda node: work[node.index]) == (("n0", "n1", "n2"), ("n3", "n4", "n5", "n6"))


def test_the_boundary_between_unlike_parts_is_kept() -> None:
    types = ["Conv"] * 20 + ["Transpose", "Squeeze"] + ["GRU"] * 2
    graph = fake_dag([[number - 1] if number else [] for number in range(len(types))], types)
    partitions = segments(graph, 3, lambda node: 10.0 if node.op_type == "Conv" else 1.0)
    kinds = [{character(graph.node(id_)) for id_ in partition} - {OTHER} for partition in partitions]
    assert all(len(kind) == 1 for kind in kinds)
    assert [next(iter(kind)) for kind in kinds][-1] == "recurrent"


def test_a_kernel_keeps_the_elementwise_operators_behind_it() -> None:
    types = ["Conv", "BatchNormalization", "Relu", "Conv", "Relu", "Concat", "Relu", "MatMul", "Add"]
    graph = fake_dag([[number - 1] if number else [] for number in range(len(types))], types)
    partitions = segments(graph, 9, one)
    assert partitions == (("n0", "n1", "n2"), ("n3", "n4"), ("n5",), ("n6",), ("n7", "n8"))


def test_small_neighbours_of_one_character_are_one_even_below_the_limit() -> None:
    graph = fake_dag([[number - 1] if number else [] for number in range(4)])
    assert segments(graph, 4, lambda node: 100.0 if node.index == 0 else 1.0) == (("n0",), ("n1", "n2", "n3"))


def test_a_value_of_unknown_shape_stays_within_a_segment() -> None:
    graph = fake_dag([[number - 1] if number else [] for number in range(6)], shapes={"v2": None})
    partitions = segments(graph, 6, one)
    assert any({"n2", "n3"} <= set(partition) for partition in partitions)
    assert len(segments(graph, 6, one, crossing_ok=lambda value: True)) == len(partitions) + 1


def test_characters() -> None:
    types = ["Conv", "Gemm", "LSTM", "Resize", "Softmax", "Relu"]
    graph = fake_graph([(op_type, op_type, ["x"], [f"v{op_type}"]) for op_type in types])
    assert [character(node) for node in graph.nodes] == ["conv", "matmul", "recurrent", "resample", "normalise", OTHER]


def test_ten_thousand_nodes_are_cut() -> None:
    graph = fake_dag([[] if not number else sorted({number - 1, max(number - 9, 0)}) for number in range(10_000)])
    partitions = segments(graph, 24, lambda node: 1.0 + node.index % 97)
    assert 12 < len(partitions) <= 24 * REPEATS
    assert all(len(before) < 1_000 for before, _ in pairwise(partitions))
