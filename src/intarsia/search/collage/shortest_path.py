"""A shortest path over the cover of a linear order: from segment 0 to the end, each edge a run of segments on one
target.

Pure: it knows no engine and no clock. The state is how far the cover reaches and which target ran last, since what a
partition costs depends on who ran before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Edge(Generic[T]):
    """Segments ``start`` … ``end - 1`` on ``target``, right behind ``after`` (``None`` at the beginning)."""

    start: int
    end: int
    target: T
    after: T | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Path(Generic[T]):
    """A cover and the sum of its edges' costs."""

    cost: float
    edges: tuple[Edge[T], ...]


_State = tuple[float, int, Edge[T], int | None]
"""Cost up to here, number of edges, the last edge, and the state before it."""


def shortest_path(
    segments: int,
    targets: Sequence[T],
    cost: Callable[[Edge[T]], float],
    seams: Collection[int] = (),
    *,
    stops: Collection[int] | None = None,
    most: float = math.inf,
) -> Path[T] | None:
    """The cheapest cover; ``None`` if every one costs infinity, or more than ``most``.

    Neighbouring edges are on different targets: two partitions of one target side by side are one partition. Ties go to
    fewer edges, then to the targets named first, so the same costs give the same path. O(stops² · targets²).

    Args:
        targets: Most preferred first.
        cost: What an edge costs, never less than nothing.
        seams: Segments before which every partition ends, so that the next may be on the same target.
        stops: Segments before which a partition may end; all of them if left out.
        most: No cover that costs more is looked for.
    """
    places = list(range(segments + 1)) if stops is None else sorted({0, *stops, *seams, segments})
    best: dict[int, dict[int, _State[T]]] = {place: {} for place in places}
    for end in places[1:]:
        here = best[end]
        for start in takewhile(lambda place: place < end, places):  # noqa: B023 - used up within this round
            for index, target in enumerate(targets):
                for before, spent, edges in _states(best[start], start, None if start in seams else index):
                    known = here.get(index)
                    if spent > most or (known is not None and spent > known[0]):
                        continue
                    edge = Edge(start, end, target, None if before is None else targets[before])
                    total = spent + cost(edge)
                    if total <= most and total < math.inf and (known is None or (total, edges + 1) < known[:2]):
                        here[index] = (total, edges + 1, edge, before)
    return _walk_back(best, segments)


def _states(states: Mapping[int, _State[T]], start: int, unlike: int | None) -> list[tuple[int | None, float, int]]:
    if start == 0:
        return [(None, 0.0, 0)]
    return [(before, state[0], state[1]) for before, state in sorted(states.items()) if before != unlike]


def _walk_back(best: Mapping[int, Mapping[int, _State[T]]], segments: int) -> Path[T] | None:
    end = segments
    if not best[end]:
        return None
    index: int | None = min(best[end], key=lambda i: (*best[end][i][:2], i))
    assert index is not None
    total = best[end][index][0]
    edges: list[Edge[T]] = []
    while index is not None:
        _, _, edge, before = best[end][index]
        edges.append(edge)
        end, index = edge.start, before
    return Path(cost=total, edges=tuple(reversed(edges)))
