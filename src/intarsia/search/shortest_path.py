"""A shortest path over the cover of a linear order: from atom 0 to the end, each edge a run of atoms on one target.

Pure: it knows no engine and no clock. The state is how far the cover reaches and which target ran last, since what a
piece costs depends on who ran before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Edge(Generic[T]):
    """Atoms ``start`` … ``end - 1`` on ``target``, right behind ``after`` (``None`` at the beginning)."""

    start: int
    end: int
    target: T
    after: T | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Path(Generic[T]):
    """A cover and the sum of its edges' costs."""

    cost: float
    edges: tuple[Edge[T], ...]


def shortest_path(
    atoms: int, targets: Sequence[T], cost: Callable[[Edge[T]], float], seams: Collection[int] = ()
) -> Path[T] | None:
    """The cheapest cover; ``None`` if every one costs infinity.

    Neighbouring edges are on different targets: two pieces of one target side by side are one piece. Ties go to fewer
    edges, then to the targets named first, so the same costs give the same path. O(atoms² · targets²).

    Args:
        atoms: How many there are.
        targets: Most preferred first.
        cost: What an edge costs.
        seams: Atoms before which every piece ends, so that the next may be on the same target.
    """
    # best[end][target] = (cost, number of edges, the last edge, the state before it)
    best: list[dict[int, tuple[float, int, Edge[T], int | None]]] = [{} for _ in range(atoms + 1)]
    for end in range(1, atoms + 1):
        for start in range(end):
            for index, target in enumerate(targets):
                for before, spent, edges in _states(best, start, None if start in seams else index):
                    edge = Edge(start, end, target, None if before is None else targets[before])
                    total = spent + cost(edge)
                    known = best[end].get(index)
                    if total < math.inf and (known is None or (total, edges + 1) < known[:2]):
                        best[end][index] = (total, edges + 1, edge, before)
    return _walk_back(best)


def _states(
    best: Sequence[dict[int, tuple[float, int, Edge[T], int | None]]], start: int, unlike: int | None
) -> list[tuple[int | None, float, int]]:
    if start == 0:
        return [(None, 0.0, 0)]
    return [(before, state[0], state[1]) for before, state in sorted(best[start].items()) if before != unlike]


def _walk_back(best: Sequence[dict[int, tuple[float, int, Edge[T], int | None]]]) -> Path[T] | None:
    if not best[-1]:
        return None
    index: int | None = min(best[-1], key=lambda i: (*best[-1][i][:2], i))
    assert index is not None
    total = best[-1][index][0]
    edges: list[Edge[T]] = []
    end = len(best) - 1
    while index is not None:
        _, _, edge, before = best[end][index]
        edges.append(edge)
        end, index = edge.start, before
    return Path(cost=total, edges=tuple(reversed(edges)))
