"""The rule that proposes the search's candidates: runs of consecutive atoms, from single ones up to the whole model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from intarsia.partition.capability import Capability


@dataclass(frozen=True, slots=True)
class Intervals:
    """Which runs of atoms a target takes, in constant time each. A run is convex: atoms cut one topological order.

    Attributes:
        refused_before: Number of refused nodes before each atom, and at last in all.
    """

    refused_before: Sequence[int]

    @classmethod
    def of(cls, atoms: Sequence[Sequence[str]], capability: Capability) -> Intervals:
        """Count what a target refuses, atom by atom."""
        refused = (sum(not capability.takes(id_) for id_ in atom) for atom in atoms)
        return cls(tuple(accumulate(refused, initial=0)))

    def accepts(self, start: int, end: int) -> bool:
        """Whether the target takes all nodes of the atoms ``start`` … ``end - 1``."""
        return self.refused_before[start] == self.refused_before[end]
