"""Edges, orders, cycles and contraction of part graphs, against what brute force says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from intarsia.partitioning.quotient import (
    Contraction,
    edges,
    join,
    members,
    renumber,
    strong_components,
)
from intarsia.topological_order import runnable_order
from tests.fakes import fake_dag

Graphs = st.integers(1, 9).flatmap(
    lambda count: st.lists(st.sets(st.integers(0, count - 1)), min_size=count, max_size=count)
)


def reachable(after: list[set[int]], start: int) -> set[int]:
    found: set[int] = set()
    stack = [start]
    while stack:
        fresh = after[stack.pop()] - found
        found |= fresh
        stack += fresh
    return found


def acyclic(graph: list[set[int]]) -> list[set[int]]:
    return [{other for other in after if other > part} for part, after in enumerate(graph)]


def contracted(after: list[set[int]], labels: list[int]) -> list[set[int]]:
    merged: list[set[int]] = [set() for _ in range(max(labels) + 1)]
    for part, successors in enumerate(after):
        merged[labels[part]] |= {labels[successor] for successor in successors} - {labels[part]}
    return merged


def test_join_numbers_the_parts_by_their_first_thing() -> None:
    labels = join(6, [(4, 1), (5, 4), (2, 3)])
    assert labels == [0, 1, 2, 2, 1, 1]
    assert members(labels) == [[0], [1, 4, 5], [2, 3]]
    assert members([]) == []


def test_renumber_keeps_who_is_with_whom() -> None:
    assert renumber([7, 3, 7, 0]) == [0, 1, 0, 2]


def test_edges_leave_out_a_parts_own_values_and_inputs() -> None:
    graph = fake_dag([[], [0], [0, 1], [2]])
    assert edges(graph, [0, 0, 1, 2]) == [{1}, {2}, set()]


@given(Graphs)
def test_components_are_the_parts_that_reach_each_other(graph: list[set[int]]) -> None:
    labels = strong_components(graph)
    reach = [reachable(graph, part) for part in range(len(graph))]
    for one in range(len(graph)):
        for other in range(len(graph)):
            mutual = one == other or (other in reach[one] and one in reach[other])
            assert (labels[one] == labels[other]) == mutual


@given(Graphs, st.lists(st.sampled_from(["a", "b", None]), min_size=9, max_size=9))
def test_contraction_merges_all_that_can_merge_and_nothing_else(graph: list[set[int]], kinds: list[str | None]) -> None:
    graph = acyclic(graph)
    contraction = Contraction(graph)
    contraction.contract(kinds)
    labels = contraction.labels()
    merged = contracted(graph, labels)
    assert len(runnable_order(merged)) == len(merged)
    kind_of: dict[int, str | None] = {}
    for part, label in enumerate(labels):
        assert kind_of.setdefault(label, kinds[part]) == kinds[part]
    for first, successors in enumerate(merged):
        for second in successors:
            if kind_of[first] == kind_of[second] and kind_of[first] is not None:
                around = merged[first] - {second}
                assert any(second in reachable(merged, part) for part in around)
    assert all(len(group) == 1 or kinds[group[0]] is not None for group in members(labels))


def test_a_path_around_that_is_merged_itself_no_longer_refuses() -> None:
    contraction = Contraction([{1, 2}, {2}, set()])
    contraction.contract(["a", "a", "a"])
    assert contraction.labels() == [0, 0, 0]


def test_ten_thousand_parts_in_a_row_become_one() -> None:
    contraction = Contraction([{part + 1} if part < 9_999 else set() for part in range(10_000)])
    contraction.contract(["a"] * 10_000)
    assert set(contraction.labels()) == {0}
