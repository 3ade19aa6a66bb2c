"""The cheapest cover, against trying every one; and the same as the shortest path where the graph is a row."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from intarsia.partitioning.ideals import lattice
from intarsia.search.collage.convex_path import Cover, CoverGraph, Floats
from intarsia.search.collage.shortest_path import shortest_path


def graph_of(after: list[set[int]]) -> CoverGraph:
    return CoverGraph(lattice(after, [], most=10**5, most_local=0))


def row(count: int) -> list[set[int]]:
    return [{unit + 1} for unit in range(count - 1)] + [set()]


def apart(runners: int, ms: float) -> Floats:
    """The same transition between any two runners."""
    transition = np.full((runners, runners), ms)
    np.fill_diagonal(transition, np.inf)
    return transition


@given(st.integers(1, 5), st.integers(1, 3), st.integers(0, 9).map(float), st.randoms(use_true_random=False))
def test_a_row_is_covered_as_by_the_shortest_path(count: int, runners: int, ms: float, random: object) -> None:
    graph = graph_of(row(count))
    seed = np.random.default_rng(random.randrange(10**6))  # type: ignore[attr-defined]
    cost = seed.uniform(1.0, 9.0, (len(graph.sets), runners))
    cost[seed.uniform(size=cost.shape) < 0.2] = np.inf
    number = {mask: place for place, mask in enumerate(graph.sets)}
    path = shortest_path(
        count,
        range(runners),
        lambda edge: (
            float(cost[number[(1 << edge.end) - (1 << edge.start)], edge.target]) + (0.0 if edge.after is None else ms)
        ),
    )
    found = graph.cheapest(cost, apart(runners, ms))
    assert (found is None) == (path is None)
    if found is not None and path is not None:
        assert math.isclose(found.cost, path.cost)
        assert [runner for _, runner in found.steps] == [edge.target for edge in path.edges]


def test_of_two_covers_that_cost_the_same_the_one_with_fewer_steps_and_earlier_runners_wins() -> None:
    graph = graph_of(row(2))
    cost = np.array([[2.0 if mask == 0b11 else 1.0] * 2 for mask in graph.sets])
    assert graph.cheapest(cost, apart(2, 0.0)) == Cover(cost=2.0, steps=((graph.whole, 0),))


def test_a_cover_goes_around_a_branch() -> None:
    """Of a diamond the left side goes first, alone, and then the rest in one, without the middle step of one order."""
    graph = graph_of([{1, 2}, {3}, {3}, set()])
    number = {mask: place for place, mask in enumerate(graph.sets)}
    cost = np.full((len(graph.sets), 2), np.inf)
    cost[number[0b0011], 0] = cost[number[0b1100], 1] = 1.0
    assert graph.cheapest(cost, apart(2, 3.0)) == Cover(cost=5.0, steps=((number[0b0011], 0), (number[0b1100], 1)))


def test_there_is_no_cover_of_what_nobody_takes() -> None:
    graph = graph_of(row(3))
    assert graph.cheapest(np.full((len(graph.sets), 2), np.inf), apart(2, 0.0)) is None
