"""Union-find: numbered things in sets that grow together."""

from __future__ import annotations


class DisjointSets:
    """Things numbered from 0, at first each in a set of its own. One member stands for its set: the representative."""

    def __init__(self, count: int) -> None:
        self._parent = list(range(count))

    def find(self, thing: int) -> int:
        """The representative of the set that holds a thing. Halves the path to it (Tarjan and van Leeuwen 1984)."""
        parent = self._parent
        while parent[thing] != thing:
            parent[thing] = parent[parent[thing]]
            thing = parent[thing]
        return thing

    def merge(self, keep: int, gone: int) -> None:
        """Make one set of two, given by their representatives; the first stands for it from now on."""
        self._parent[gone] = keep

    def representatives(self) -> list[int]:
        """For each thing the representative of its set."""
        return [self.find(thing) for thing in range(len(self._parent))]
