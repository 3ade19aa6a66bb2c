"""What a search is given: the graph, who takes which of its nodes, and how the answer is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from intarsia.config import NestedEngine, target_of
from intarsia.config.emulated import Emulated
from intarsia.config.search_settings import SearchSettings
from intarsia.config.settings import RunSettings, Spin
from intarsia.graph import Graph
from intarsia.partitioning import Capability, Partition, greedy
from intarsia.partitioning.partitioning import Places
from intarsia.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One model to be planned.

    Attributes:
        graph: The normalised graph.
        targets: Engine targets, most preferred first.
        settings: What the search may spend, and its seed.
        threads: Threads of every plan.
        segments: The partitions that the search never cuts, in linear order.
        named: Targets that the user named, rather than the device they run on.
        places: The device of each node, by id, where devices were planned: no partition spans two.
        emulated: As of `RunSettings`, for every plan.
        nests: The nested configurations of all levels, by the targets that stand for them.
        inner: What engines of all levels take.
    """

    graph: Graph
    targets: tuple[Target, ...]
    capabilities: Mapping[Target, Capability]
    settings: SearchSettings
    threads: int
    segments: tuple[tuple[str, ...], ...]
    named: frozenset[Target] = frozenset()
    places: Places | None = None
    emulated: Emulated | None = None
    nests: Mapping[Target, NestedEngine] = field(default_factory=dict)
    inner: Mapping[Target | NestedEngine, Capability] = field(default_factory=dict)

    def run(self, spin: Spin = Spin.CALL) -> RunSettings:
        """The settings of a plan whose threads spin like this."""
        return RunSettings(threads=self.threads, spin=spin, emulated=self.emulated)

    def whole(self, target: Target) -> tuple[Partition, ...]:
        """All nodes on one target: one partition, or as many as its devices make it."""
        if self.places is None:
            return (Partition(target=target, nodes=tuple(node.id for node in self.graph.nodes)),)
        takes_all = {target: Capability(refusals={})}
        return greedy(self.graph, [target], takes_all, places=self.places).partitions

    @property
    def leaves(self) -> tuple[Target, ...]:
        """The targets that run something at last: those inside nested configurations in place of them."""
        return tuple(dict.fromkeys(leaf for target in self.targets for leaf in self._leaves(target)))

    def _leaves(self, target: Target) -> Iterator[Target]:
        nest = self.nests.get(target)
        if nest is None:
            yield target
        else:
            for engine in nest.engines:
                yield from self._leaves(target_of(engine))

    def refused(self, target: Target) -> Mapping[str, str]:
        """Nodes that a target does not take, with its reasons."""
        return self.capabilities[target].refusals


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A plan that may be shipped.

    Attributes:
        name: Its own among all candidates.
        label: How reports call it: a single engine by the target that the user gave, whatever options it is tuned to.
        partitions: In running order.
        settings: Threads and spinning.
        predicted_ms: Cost of each partition in its place, as far as it is known; the sum is the plan's.
        between_ms: Milliseconds from one answer to the next with all its instances at work, where that was measured.
    """

    name: str
    label: str
    partitions: tuple[Partition, ...]
    settings: RunSettings
    predicted_ms: tuple[float | None, ...]
    between_ms: float | None = None

    @property
    def total_ms(self) -> float | None:
        """The predicted cost of the plan, if every part of it has one."""
        known = [ms for ms in self.predicted_ms if ms is not None]
        return sum(known) if len(known) == len(self.predicted_ms) else None

    @property
    def precisions(self) -> tuple[str, ...]:
        """The reduced precisions that it computes in, each once; none where the user allows no error."""
        if self.settings.max_error is None:
            return ()
        return tuple(sorted({name for partition in self.partitions for name in partition.precisions}))
