"""The shortest path against every path there is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from intarsia.search.collage.shortest_path import Edge, shortest_path


def every_path(segments: int, targets: list[str]) -> Iterator[tuple[Edge[str], ...]]:
    for inner in itertools.product([False, True], repeat=segments - 1):
        bounds = [0, *(i for i, cut in enumerate(inner, start=1) if cut), segments]
        spans = list(itertools.pairwise(bounds))
        for choice in itertools.product(targets, repeat=len(spans)):
            if any(a == b for a, b in itertools.pairwise(choice)):
                continue
            yield tuple(
                Edge(start, end, target, before)
                for (start, end), target, before in zip(spans, choice, (None, *choice), strict=False)
            )


def table(draw: st.DrawFn) -> Callable[[Edge[str]], float]:
    seed = draw(st.integers(0, 2**32))

    def cost(edge: Edge[str]) -> float:
        value = hash((seed, edge.start, edge.end, edge.target, edge.after)) % 1000
        return math.inf if value < 100 else float(value)

    return cost


tables = st.composite(table)()


@settings(deadline=None)
@given(segments=st.integers(1, 5), count=st.integers(1, 3), cost=tables)
def test_nothing_is_shorter(segments: int, count: int, cost: Callable[[Edge[str]], float]) -> None:
    targets = ["a", "b", "c"][:count]
    costs = [sum(map(cost, path)) for path in every_path(segments, targets)]
    found = shortest_path(segments, targets, cost)
    if min(costs, default=math.inf) == math.inf:
        assert found is None
        return
    assert found is not None
    assert math.isclose(found.cost, min(costs))
    assert math.isclose(sum(map(cost, found.edges)), found.cost)
    assert [edge.start for edge in found.edges] == [0, *(edge.end for edge in found.edges[:-1])]
    assert found.edges[-1].end == segments
    assert all(a.target == b.after != b.target for a, b in itertools.pairwise(found.edges))


def test_a_tie_goes_to_fewer_partitions_and_the_first_target() -> None:
    path = shortest_path(3, ["b", "a"], lambda edge: float(edge.end - edge.start))
    assert path is not None
    assert path.edges == (Edge(0, 3, "b", None),)


def test_a_switch_that_costs_too_much_is_not_made() -> None:
    own = {(0, "a"): 1.0, (0, "b"): 5.0, (1, "a"): 5.0, (1, "b"): 1.0}

    def cost(edge: Edge[str], transition: float) -> float:
        return sum(own[i, edge.target] for i in range(edge.start, edge.end)) + (transition if edge.after else 0.0)

    cheap = shortest_path(2, ["a", "b"], lambda edge: cost(edge, 1.0))
    dear = shortest_path(2, ["a", "b"], lambda edge: cost(edge, 9.0))
    assert cheap is not None
    assert dear is not None
    assert [edge.target for edge in cheap.edges] == ["a", "b"]
    assert len(dear.edges) == 1


def test_at_a_seam_the_next_partition_may_be_on_the_same_target() -> None:
    def cost(edge: Edge[str]) -> float:
        return math.inf if edge.start < 2 < edge.end or edge.target == "b" else float(edge.end - edge.start)

    assert shortest_path(3, ["a", "b"], cost) is None
    path = shortest_path(3, ["a", "b"], cost, {2})
    assert path is not None
    assert [(edge.start, edge.end, edge.target) for edge in path.edges] == [(0, 2, "a"), (2, 3, "a")]


@settings(deadline=None)
@given(segments=st.integers(2, 5), cost=tables, stops=st.sets(st.integers(1, 4)))
def test_partitions_begin_and_end_at_stops(segments: int, cost: Callable[[Edge[str]], float], stops: set[int]) -> None:
    stops = {stop for stop in stops if stop < segments}
    allowed = {0, *stops, segments}
    paths = [p for p in every_path(segments, ["a", "b"]) if all({edge.start, edge.end} <= allowed for edge in p)]
    least = min((sum(map(cost, path)) for path in paths), default=math.inf)
    found = shortest_path(segments, ["a", "b"], cost, stops=stops)
    assert (found is None) == (least == math.inf)
    assert found is None or math.isclose(found.cost, least)
