"""Graphs of node groups: their edges, their cycles, and the contraction of their edges.

A *label* is the number of the group that a node belongs to; groups are numbered from 0 by their first node. What a
group is (quantised nodes, a region, a partition) is up to the callers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from intarsia.disjoint_sets import DisjointSets
from intarsia.topological_order import runnable_order

if TYPE_CHECKING:
    from intarsia.graph import Graph


def join(count: int, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """Labels of ``count`` things after each pair was put into one group."""
    sets = DisjointSets(count)
    for one, other in pairs:
        sets.merge(sets.find(one), sets.find(other))
    return renumber(sets.representatives())


def renumber(labels: Iterable[int]) -> list[int]:
    """The same groups, numbered from 0 by first appearance."""
    numbers: dict[int, int] = {}
    return [numbers.setdefault(label, len(numbers)) for label in labels]


def members(labels: Sequence[int]) -> list[list[int]]:
    """The things of each group, in order."""
    parts: list[list[int]] = [[] for _ in range(max(labels, default=-1) + 1)]
    for thing, label in enumerate(labels):
        parts[label].append(thing)
    return parts


def edges(graph: Graph, labels: Sequence[int]) -> list[set[int]]:
    """For each group, the other groups that read its values."""
    after: list[set[int]] = [set() for _ in range(max(labels, default=-1) + 1)]
    for node in graph.nodes:
        here = labels[node.index]
        for name in node.reads:
            producer = graph.values[name].producer
            if producer is not None and labels[producer] != here:
                after[labels[producer]].add(here)
    return after


def strong_components(after: Sequence[set[int]]) -> list[int]:
    """Labels of the strongly connected components (Tarjan 1972; its own stack, as graphs are deeper than Python's)."""
    index = [-1] * len(after)
    low = [0] * len(after)
    component = [-1] * len(after)
    open_parts: list[int] = []
    visited = 0
    for start in range(len(after)):
        if index[start] >= 0:
            continue
        path = [(start, iter(after[start]))]
        while path:
            part, successors = path[-1]
            if index[part] < 0:
                index[part] = low[part] = visited
                visited += 1
                open_parts.append(part)
            deeper = _next_open(part, successors, index, low, component)
            if deeper is not None:
                path.append((deeper, iter(after[deeper])))
                continue
            path.pop()
            if path:
                parent = path[-1][0]
                low[parent] = min(low[parent], low[part])
            if low[part] == index[part]:
                while component[part] < 0:
                    component[open_parts.pop()] = part
    return renumber(component)


def _next_open(
    part: int, successors: Iterable[int], index: list[int], low: list[int], component: list[int]
) -> int | None:
    for successor in successors:
        if index[successor] < 0:
            return successor
        if component[successor] < 0:
            low[part] = min(low[part], index[successor])
    return None


class Contraction:
    """An acyclic graph of groups that merges neighbours as long as it stays acyclic.

    Keeps a topological order and searches only between the places of the two parts (as XLA's ``GraphCycles`` does), so
    that merging neighbours takes time in the distance between them, not in the size of the graph.
    """

    def __init__(self, after: Sequence[set[int]]) -> None:
        self._after = [set(successors) for successors in after]
        self._before: list[set[int]] = [set() for _ in after]
        for part, successors in enumerate(after):
            for successor in successors:
                self._before[successor].add(part)
        self._merged = DisjointSets(len(after))
        self._order = runnable_order(after)
        self._place = [0] * len(after)
        for place, part in enumerate(self._order):
            self._place[part] = place

    def labels(self) -> list[int]:
        """For each original group, the label of the one that it was merged into."""
        return renumber(self._merged.representatives())

    def contract(self, kinds: Sequence[object]) -> None:
        """Merge neighbours of equal kind (``None`` never merges) until none is left that can merge."""
        find = self._merged.find
        changed = True
        while changed:
            changed = False
            for part in [part for part in self._order if part >= 0 and kinds[part] is not None]:
                here = find(part)
                # The nearest first: until it is merged, a path through it keeps the farther ones from merging.
                for earlier in sorted(self._before[here], key=self._place.__getitem__, reverse=True):
                    if kinds[earlier] == kinds[here] and self._merge(find(earlier), find(here)):
                        changed = True

    def _merge(self, first: int, second: int) -> bool:
        """Make one group of two, of which ``first`` is the earlier; ``False`` if another path leads to the second."""
        if first == second:
            return False
        behind = self._reached(first, second)
        if behind is None:
            return False
        keep, gone = first, second
        if len(self._after[gone]) + len(self._before[gone]) > len(self._after[keep]) + len(self._before[keep]):
            keep, gone = gone, keep
        self._reorder(first, second, behind, keep)
        self._absorb(keep, gone)
        return True

    def _reached(self, first: int, second: int) -> set[int] | None:
        """What follows ``first`` before the place of ``second``; ``None`` if ``second`` is reached through it."""
        end = self._place[second]
        found = {part for part in self._after[first] if self._place[part] < end}
        stack = list(found)
        while stack:
            for part in self._after[stack.pop()]:
                if part == second:
                    return None
                if self._place[part] < end and part not in found:
                    found.add(part)
                    stack.append(part)
        return found

    def _reorder(self, first: int, second: int, behind: set[int], merged: int) -> None:
        start, end = self._place[first], self._place[second] + 1
        places = [place for place in range(start, end) if self._order[place] >= 0]
        window = [self._order[place] for place in places]
        ahead = [part for part in window if part not in behind and part not in (first, second)]
        sequence = [*ahead, merged, *(part for part in window if part in behind)]
        # One place becomes free, at the front: the merged part grows towards the end, where its next neighbours are.
        self._order[places[0]] = -1
        for place, part in zip(places[1:], sequence, strict=True):
            self._order[place] = part
            self._place[part] = place

    def _absorb(self, keep: int, gone: int) -> None:
        self._merged.merge(keep, gone)
        for links, back in ((self._after, self._before), (self._before, self._after)):
            for part in links[gone]:
                back[part].discard(gone)
                if part != keep:
                    back[part].add(keep)
                    links[keep].add(part)
            links[gone] = set()
        self._after[keep].discard(keep)
        self._before[keep].discard(keep)
