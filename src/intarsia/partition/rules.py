"""Rules that propose which nodes a target could run in one call; which proposals are worth it is left to the search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar, Protocol

from intarsia.partition.region import maximal_regions

if TYPE_CHECKING:
    from intarsia.graph import Graph
    from intarsia.partition.capability import Capability
    from intarsia.partition.groups import CrossingOk
    from intarsia.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidatePartition:
    """Nodes that a target could run in one call.

    Attributes:
        target: Which target.
        nodes: Ids; a convex set.
        first: First atom, if the nodes are a run of consecutive atoms.
        last: Last atom, included.
    """

    target: Target
    nodes: frozenset[str]
    first: int | None = None
    last: int | None = None


class PartitionRule(Protocol):
    """One way to group what a target takes."""

    name: ClassVar[str]

    def candidates(self, graph: Graph, target: Target, capability: Capability) -> Iterable[CandidatePartition]:
        """Propose convex sets of nodes that the target takes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSpec:
    """A target and the rule that groups what it takes."""

    target: Target
    rule: PartitionRule


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeModel:
    """The whole graph, if the target takes it."""

    name: ClassVar[str] = "whole model"

    def candidates(self, graph: Graph, target: Target, capability: Capability) -> Iterator[CandidatePartition]:
        """Propose all nodes, or nothing."""
        if graph.nodes and all(capability.takes(node.id) for node in graph.nodes):
            yield CandidatePartition(target=target, nodes=frozenset(node.id for node in graph.nodes))


@dataclass(frozen=True, slots=True, kw_only=True)
class MaximalRegions:
    """The largest convex regions of what the target takes.

    Attributes:
        min_nodes: Smaller regions are not proposed.
        crossing_ok: See `maximal_regions`.
    """

    name: ClassVar[str] = "maximal regions"
    min_nodes: int = 1
    crossing_ok: CrossingOk | None = None

    def candidates(self, graph: Graph, target: Target, capability: Capability) -> Iterator[CandidatePartition]:
        """Propose each region."""
        accepted = {node.id for node in graph.nodes if capability.takes(node.id)}
        for region in maximal_regions(graph, accepted, crossing_ok=self.crossing_ok):
            if len(region) >= self.min_nodes:
                yield CandidatePartition(target=target, nodes=region)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """Every run of consecutive atoms that the target takes whole; atoms are stretches of one topological order."""

    name: ClassVar[str] = "intervals"
    atoms: tuple[tuple[str, ...], ...]

    def table(self, capability: Capability) -> IntervalTable:
        """Which runs a target takes."""
        refused = (sum(not capability.takes(id_) for id_ in atom) for atom in self.atoms)
        return IntervalTable(refused_before=tuple(accumulate(refused, initial=0)))

    def nodes(self, first: int, last: int) -> frozenset[str]:
        """The nodes of a run of atoms, ends included."""
        return frozenset(id_ for atom in self.atoms[first : last + 1] for id_ in atom)

    def candidates(self, graph: Graph, target: Target, capability: Capability) -> Iterator[CandidatePartition]:
        """Propose the runs, the shorter ones of each first atom first."""
        for first, last in self.table(capability):
            yield CandidatePartition(target=target, nodes=self.nodes(first, last), first=first, last=last)


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalTable:
    """Which runs of atoms a target takes, in constant time each.

    Attributes:
        refused_before: Number of refused nodes before each atom, and at last in all.
    """

    refused_before: Sequence[int]

    def accepts(self, first: int, last: int) -> bool:
        """Whether all of the run is taken, ends included."""
        return self.refused_before[first] == self.refused_before[last + 1]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """First and last atom of each run that is taken."""
        count = len(self.refused_before) - 1
        for first in range(count):
            for last in range(first, count):
                if not self.accepts(first, last):
                    break
                yield first, last
