"""Which places share a device: a union-find whose sets carry a device; and why two constraints are in conflict."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

from intarsia.devices.constraint import Constraint
from intarsia.disjoint_sets import DisjointSets
from intarsia.target import VirtualDevice

SHOWN = 8
"""How many steps of a path a message shows before it leaves out the middle."""


@dataclass(frozen=True, slots=True)
class Pin:
    """A constraint that reached a place; ``device`` is what it says, its label resolved."""

    place: int
    device: VirtualDevice
    constraint: Constraint


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two places that cannot share a device, and why they should; or, with a pin, a place that cannot be on its device.

    Of a pin that failed, both places are the same.
    """

    first: int
    second: int
    why: str = ""
    pin: Pin | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictPath:
    """Two pins that no device satisfies, and a shortest path from one to the other.

    ``path`` has steps: why two places share a device, and the next place. It is empty where both pin one place.
    """

    first: Pin
    second: Pin
    path: tuple[tuple[str, int], ...]


class DeviceUnification:
    """Places by number, in sets that share a device: the join of the devices of all pins in the set."""

    def __init__(self, count: int) -> None:
        self._sets = DisjointSets(count)
        self._size = [1] * count
        self._device = [VirtualDevice()] * count
        self._pins: list[list[Pin]] = [[] for _ in range(count)]
        self._links: list[tuple[int, int, str]] = []

    def device(self, place: int) -> VirtualDevice:
        """What is known about the device of a place; parts may be free."""
        return self._device[self._sets.find(place)]

    def pins(self, place: int) -> Sequence[Pin]:
        """The constraints that reached its set."""
        return self._pins[self._sets.find(place)]

    def pin(self, pin: Pin) -> bool:
        """Put a place on a device; ``False``, and nothing changes, if it is known to be on another."""
        root = self._sets.find(pin.place)
        joined = self._device[root].join(pin.device)
        if joined is None:
            return False
        self._device[root] = joined
        self._pins[root].append(pin)
        return True

    def unite(self, first: int, second: int, why: str) -> bool:
        """Put two places on one device; ``False``, and nothing changes, if they are known to be on two.

        Messages write ``why`` between the two.
        """
        keep, gone = self._sets.find(first), self._sets.find(second)
        if keep == gone:
            return True
        joined = self._device[keep].join(self._device[gone])
        if joined is None:
            return False
        if self._size[keep] < self._size[gone]:
            keep, gone = gone, keep
        self._sets.merge(keep, gone)
        self._size[keep] += self._size[gone]
        self._device[keep] = joined
        self._pins[keep] += self._pins[gone]
        self._pins[gone] = []
        self._links.append((first, second, why))
        return True

    def explain(self, conflict: Conflict) -> ConflictPath:
        """The two pins that are in conflict, and the path between them."""
        old = self.pins(conflict.first)
        new = self.pins(conflict.second) if conflict.pin is None else [conflict.pin]
        start, end = next(pair for pair in product(old, new) if pair[0].device.join(pair[1].device) is None)
        path = self._path(start.place, end.place, (conflict.first, conflict.second, conflict.why))
        return ConflictPath(first=start, second=end, path=tuple(path))

    def _path(self, start: int, end: int, extra: tuple[int, int, str]) -> list[tuple[str, int]]:
        links: dict[int, list[tuple[str, int]]] = {}
        for first, second, why in (*self._links, extra):
            links.setdefault(first, []).append((why, second))
            links.setdefault(second, []).append((why, first))
        came: dict[int, tuple[str, int]] = {start: ("", start)}
        queue = deque([start])
        while queue and end not in came:
            here = queue.popleft()
            for why, there in links.get(here, ()):
                if there not in came:
                    came[there] = (why, here)
                    queue.append(there)
        steps = []
        while end != start:
            why, before = came[end]
            steps.append((why, end))
            end = before
        return steps[::-1]


def conflict_text(found: ConflictPath, name: Callable[[int], str]) -> str:
    """The message for a conflict: both constraints, and the path between them."""
    lines = ["two device constraints cannot both hold:", f"  {found.first.constraint}", f"  {found.second.constraint}"]
    if found.path:
        steps = [f"{why} {name(place)}" for why, place in found.path]
        if len(steps) > SHOWN:
            half = SHOWN // 2
            steps = [*steps[:half], f"… {len(steps) - SHOWN} more …", *steps[-half:]]
        lines.append(f"  no copy can be made on the path between them: {' '.join([name(found.first.place), *steps])}")
    else:
        lines.append(f"  both are about {name(found.first.place)}")
    lines.append("change one of them, or leave it out")
    return "\n".join(lines)
