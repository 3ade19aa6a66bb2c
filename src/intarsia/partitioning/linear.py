"""Puts the nodes of a graph in one line, and finds the places where the line may be cut.

Any run of a topological order is convex, so the nodes between two cuts are a partition that needs no further check.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from intarsia.partitioning.groups import indivisible, may_cross
from intarsia.partitioning.quotient import members

if TYPE_CHECKING:
    from intarsia.graph import Graph, Value
    from intarsia.partitioning.groups import CrossingOk


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A place between two nodes of the linear order.

    Attributes:
        position: Number of nodes before the cut.
        crossing: Values computed before and read after it, by first computed.
        nbytes: Their size; values of unknown size count nothing.
    """

    position: int
    crossing: tuple[str, ...]
    nbytes: int


def linear_order(graph: Graph) -> tuple[str, ...]:
    """Node ids in an order in which each node comes after what it reads, branch after branch, quantised groups whole.

    It is a depth-first walk from each last node to what it reads, so a node comes as late as its readers allow.
    """
    return tuple(graph.nodes[index].id for part in _depth_first(graph) for index in part)


def cuts(graph: Graph, crossing_ok: CrossingOk | None = None) -> tuple[Cut, ...]:
    """All places where the linear order may be cut: not within a quantised group, nor where a value may not cross.

    Args:
        crossing_ok: Asked for each value that is no tensor of known rank; without it these may not cross.
    """
    if crossing_ok is not None and any(not may_cross(value, None) for value in graph.values.values()):
        return tuple(_cuts(graph, _depth_first(graph), crossing_ok))
    if "cuts" not in graph.memo:
        graph.memo["cuts"] = tuple(_cuts(graph, _depth_first(graph), None))
    found: tuple[Cut, ...] = graph.memo["cuts"]
    return found


def line(graph: Graph, crossing_ok: CrossingOk | None = None) -> tuple[tuple[str, ...], tuple[Cut, ...]]:
    """`linear_order`, and those `cuts` that cross no more values than the cuts next to them."""
    every = cuts(graph, crossing_ok)
    widths = [len(cut.crossing) for cut in every]
    around = zip(every, widths, [*widths[:1], *widths], [*widths[1:], *widths[-1:]], strict=False)
    return linear_order(graph), tuple(cut for cut, here, left, right in around if here <= min(left, right))


def _depth_first(graph: Graph) -> tuple[tuple[int, ...], ...]:
    """Node indices of each indivisible part, parts in linear order; walked once a graph."""
    if "depth first" not in graph.memo:
        graph.memo["depth first"] = tuple(map(tuple, _walked(graph)))
    order: tuple[tuple[int, ...], ...] = graph.memo["depth first"]
    return order


def _walked(graph: Graph) -> list[list[int]]:
    labels = indivisible(graph, crossing_ok=lambda _: True)
    parts = members(labels)
    before = _reads(graph, labels, len(parts))
    read = {earlier for parts_read in before for earlier in parts_read}
    seen = [False] * len(parts)
    order = []
    for sink in (part for part in range(len(parts)) if part not in read):
        path = [(sink, iter(before[sink]))]
        seen[sink] = True
        while path:
            part, earlier = path[-1]
            following = next((other for other in earlier if not seen[other]), None)
            if following is None:
                order.append(parts[part])
                path.pop()
            else:
                seen[following] = True
                path.append((following, iter(before[following])))
    return order


def _reads(graph: Graph, labels: Sequence[int], count: int) -> list[list[int]]:
    """The parts that each part reads, in the order of its inputs."""
    before: list[dict[int, None]] = [{} for _ in range(count)]
    for node in graph.nodes:
        here = labels[node.index]
        for name in node.reads:
            producer = graph.values[name].producer
            if producer is not None and labels[producer] != here:
                before[here][labels[producer]] = None
    return [list(parts) for parts in before]


def _cuts(graph: Graph, parts: Sequence[Sequence[int]], crossing_ok: CrossingOk | None) -> Iterator[Cut]:
    place = {index: place for place, index in enumerate(chain.from_iterable(parts))}
    last_read_at: defaultdict[int, list[str]] = defaultdict(list)
    live: dict[str, Value] = {}
    nbytes = barred = position = 0
    for part in parts[:-1]:
        for index in part:
            for name in filter(None, graph.nodes[index].outputs):
                value = graph.values[name]
                if value.consumers:
                    last_read_at[max(place[consumer] for consumer in value.consumers)].append(name)
                    live[name] = value
                    nbytes += value.nbytes
                    barred += not may_cross(value, crossing_ok)
            for name in last_read_at[place[index]]:
                value = live.pop(name)
                nbytes -= value.nbytes
                barred -= not may_cross(value, crossing_ok)
        position += len(part)
        if not barred:
            yield Cut(position=position, crossing=tuple(live), nbytes=nbytes)
