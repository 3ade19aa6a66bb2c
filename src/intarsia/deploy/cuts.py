"""Where a model may be cut into stages for several machines: the places, and what crosses the link for each stage."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from intarsia.partitioning import cuts, linear_order

if TYPE_CHECKING:
    from intarsia.graph import Graph

MOST_PLACES: Final = 32
"""Places that are looked at: more would be closer together than two machines' costs are known."""
LARGEST_MESSAGE: Final = 1 << 31
"""Bytes of values that are sent at one place at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The nodes of a graph in one order, and the places where stages may begin and end.

    Attributes:
        nodes: Ids, in an order in which data flows forward. Any run of them is convex.
        places: Numbers of nodes before each place, ascending, from 0 to all.
        sent: Bytes that go to a stage and come back from it, by its first and last place (as indices of ``places``).
    """

    nodes: tuple[str, ...]
    places: tuple[int, ...]
    sent: Mapping[tuple[int, int], int] = field(repr=False)

    def run(self, start: int, end: int) -> tuple[str, ...]:
        """The nodes between two places, by their indices."""
        return self.nodes[self.places[start] : self.places[end]]


@dataclass(frozen=True, slots=True)
class _Life:
    """Where on the line a value is made (-1: an input), where it is read, whether the caller wants it."""

    made: int
    reads: tuple[int, ...]
    is_output: bool
    nbytes: int


def line_of(graph: Graph, weight: Mapping[str, float]) -> Line:
    """The line of a graph, with its narrowest places.

    Args:
        graph: The normalised graph.
        weight: How much each node costs; of places that are near each other by cost, the narrowest one stays.
    """
    order = linear_order(graph)
    places = (0, *_narrow(graph, order, weight), len(order))
    return Line(nodes=order, places=places, sent=_sent(_lives(graph, order), places))


def _narrow(graph: Graph, order: Sequence[str], weight: Mapping[str, float]) -> list[int]:
    """In each of `MOST_PLACES` shares of the cost the place where the fewest bytes cross."""
    if any(graph.values[name].producer is None for name in graph.outputs):
        return []  # an output that no node makes belongs to no stage
    spent = list(accumulate(weight[id_] for id_ in order))
    whole = spent[-1] or 1.0
    best: dict[int, tuple[int, int]] = {}
    for cut in cuts(graph):
        if not cut.nbytes or cut.nbytes > LARGEST_MESSAGE:
            continue  # of unknown size, or a sub-graph that nothing joins to the rest
        share = min(MOST_PLACES - 1, int(spent[cut.position - 1] / whole * MOST_PLACES))
        best[share] = min(best.get(share, (cut.nbytes, cut.position)), (cut.nbytes, cut.position))
    return sorted(position for _, position in best.values())


def _lives(graph: Graph, order: Sequence[str]) -> list[_Life]:
    at = {graph.node(id_).index: place for place, id_ in enumerate(order)}
    return [
        _Life(
            made=-1 if value.producer is None else at[value.producer],
            reads=tuple(sorted(at[consumer] for consumer in value.consumers)),
            is_output=value.is_output,
            nbytes=value.nbytes,
        )
        for value in graph.values.values()
        if not value.is_weight and (value.consumers or value.is_output)
    ]


def _sent(lives: Sequence[_Life], places: Sequence[int]) -> dict[tuple[int, int], int]:
    found = {}
    for start, first in enumerate(places):
        for end in range(start + 1, len(places)):
            found[start, end] = sum(_crossing(life, first, places[end]) for life in lives)
    return found


def _crossing(life: _Life, first: int, end: int) -> int:
    """The bytes of a value that a stage of the nodes from ``first`` up to ``end`` is sent, or sends."""
    if first <= life.made < end:
        return life.nbytes if life.is_output or (life.reads and life.reads[-1] >= end) else 0
    if life.made >= end:
        return 0
    return life.nbytes if bisect_left(life.reads, first) < bisect_right(life.reads, end - 1) else 0
