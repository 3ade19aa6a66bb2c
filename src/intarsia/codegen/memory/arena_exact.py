"""The smallest arena there is, by branch and bound: for few items, and as the measure of the heuristics in tests.

Push all items of a smallest arena down as far as they go. Then each lies at 0 or directly above what it conflicts
with, and they can be placed in an order in which that one has its address already. So it is enough to try, for each
item that has no address yet, 0 and the address above each conflict with one that has. What was tried under one set of
addresses is not tried again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from intarsia.codegen.memory.liveness import Item, Key
from intarsia.codegen.memory.placing import Conflicts, Offsets, height

FEW = 10
"""Items up to which the exact search ends in a moment."""


def exact(
    items: Sequence[Item],
    conflicts: Conflicts,
    alignment: int,
    floor: int,
    known: Offsets,
    most_steps: int | None = None,
) -> tuple[dict[Key, int], bool]:
    """Addresses that need least, and whether that was shown.

    Args:
        items: What gets an address.
        conflicts: As `Liveness.conflicts`.
        alignment: Of each address, in bytes.
        floor: Bytes below which nothing need be looked for.
        known: Addresses that are allowed, to be improved upon.
        most_steps: Where the search gives up; never if left out.
    """
    search = _Search(items, conflicts, alignment, floor, known, most_steps)
    search.run()
    return search.best, search.is_complete


class _Search:
    def __init__(
        self,
        items: Sequence[Item],
        conflicts: Conflicts,
        alignment: int,
        floor: int,
        known: Offsets,
        most_steps: int | None,
    ) -> None:
        self.items = sorted(items, key=lambda each: -each.size)
        self.conflicts, self.alignment, self.floor = conflicts, alignment, floor
        self.best = dict(known)
        self.size = height(self.items, known)
        self.steps_left = most_steps
        self.seen: set[frozenset[tuple[Key, int]]] = set()

    @property
    def is_complete(self) -> bool:
        return self.steps_left is None or self.steps_left > 0 or self.size <= self.floor

    def run(self) -> None:
        if self.items:
            self._extend({})

    def _extend(self, placed: dict[Key, int]) -> None:
        left = [item for item in self.items if item.key not in placed]
        if not left:
            self.size, self.best = height(self.items, placed), dict(placed)
            return
        options = {item.key: self._fitting(item, placed) for item in left}
        if not all(options.values()):  # more addresses only take room away
            return
        for item in left:
            for offset in self._touching(item, placed):
                if self.size <= self.floor or (self.steps_left is not None and self.steps_left <= 0):
                    return
                if offset + item.size >= self.size:
                    continue
                state = frozenset((*placed.items(), (item.key, offset)))
                if state in self.seen:
                    continue
                self.seen.add(state)
                if self.steps_left is not None:
                    self.steps_left -= 1
                placed[item.key] = offset
                self._extend(placed)
                del placed[item.key]

    def _fitting(self, item: Item, placed: Offsets) -> bool:
        """Whether there is room for an item below the size of the best so far."""
        return any(offset + item.size < self.size for offset in self._touching(item, placed))

    def _touching(self, item: Item, placed: Offsets) -> Iterator[int]:
        """Free addresses at 0 or directly above a conflict, from the lowest on."""
        barred = [
            (placed[other] - high, placed[other] - low)
            for other, intervals in self.conflicts[item.key].items()
            if other in placed
            for low, high in intervals
        ]
        tight = {0, *(-(-high // self.alignment) * self.alignment for _, high in barred if high > 0)}
        for offset in sorted(tight):
            if not any(low < offset < high for low, high in barred):
                yield offset
