"""A measurer with a table instead of a clock."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

from intarsia.backends.contract.failures import Cause
from intarsia.config import RunSettings, SearchSettings
from intarsia.cost.measure import Measurer
from intarsia.cost.records.outcomes import Kind, checked_outcome
from intarsia.cost.records.record import Failure, Key, Measurement, Outcome
from intarsia.cost.reference.stage_check import StageCheck
from intarsia.cost.timing.sampling import Effort
from intarsia.cost.timing.timetable import Timetable
from intarsia.partitioning import Capability, Partition
from intarsia.planning.problem import Problem
from intarsia.target import Target
from tests.fakes import fake_dag


def measured(ms: float, error: float = 0.0) -> Measurement:
    return Measurement(samples_ms=(ms,) * 9, compile_s=0.0, load_s=0.0, error=error)


class MemoryStore:
    """Records as text, as a file would hold them, without the wait for a disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._records: dict[str, str] = {}

    def get(self, key: Key, kind: Kind) -> Any:
        found = self._records.get(key.digest)
        return None if found is None else checked_outcome(kind, found)

    def put(self, kind: Kind, key: Key, data: Mapping[str, Any], provenance: Mapping[str, Any]) -> None:
        self._records[key.digest] = json.dumps(data)

    def discard(self, key: Key, why: str) -> None:
        self._records.pop(key.digest, None)


class FakeMeasurer:
    """Costs are sums over segments, plus what the transition between two engines costs, plus what only whole plans
    show."""

    def __init__(
        self,
        segments_ms: Mapping[Target, Sequence[float]],
        transition_ms: float = 0.0,
        surprise_ms: float = 0.0,
        failing: Mapping[Target, str] | None = None,
        telling: Collection[Target] = (),
        embedded_ms: float | None = None,
        errors: Mapping[Target, float] | None = None,
        stages: Mapping[Target, StageCheck] | None = None,
    ) -> None:
        """The engines in ``telling`` have profilers; a transition inside a session costs ``embedded_ms``.

        What fails at ``verify`` is measured where nothing is verified, with the error in ``errors``; ``stages`` tells
        what comes of checking the rounding stages of each engine.
        """
        self._errors = errors or {}
        self._stages = stages or {}
        self._segments_ms = segments_ms
        self._transition_ms = transition_ms
        self._surprise_ms = surprise_ms
        self._failing = failing or {}
        self._telling = telling
        self._embedded_ms = transition_ms + surprise_ms if embedded_ms is None else embedded_ms
        self.store = MemoryStore(Path())
        self.time = Timetable()
        self.provenance: Mapping[str, str] = {}
        self.measured = self.cached = 0
        self.asked: list[tuple[str, int]] = []
        self.machine = nullcontext
        self.may_conclude = True

    def cost(
        self,
        partition: Partition,
        settings: RunSettings,
        after: Partition | None = None,
        effort: Effort | None = None,
    ) -> Outcome:
        self.measured += 1
        self.asked.append((partition.target.kind.name, len(partition.nodes)))
        stage = self._failing.get(partition.target)
        if stage is not None and not (stage == "verify" and self._is_let_pass(partition.target, settings)):
            return Failure(stage=stage, reason="on purpose", cause=Cause.ENGINE)
        error = self._errors.get(partition.target, 0.0)
        return measured(self.partition_ms(partition) + (0.0 if after is None else self._transition_ms), error)

    def stages(self, partitions: Sequence[Partition], settings: RunSettings) -> StageCheck:
        return self._stages[partitions[0].target]

    def _is_let_pass(self, target: Target, settings: RunSettings) -> bool:
        allowed = settings.max_error or 0.0
        return not settings.verified or self._errors.get(target, 1.0) <= allowed

    def cost_of_plan(self, partitions: Sequence[Partition], settings: RunSettings, effort: Effort) -> Outcome:
        self.measured += 1
        if settings.embed:
            return measured(sum(map(self.partition_ms, partitions)) + (len(partitions) - 1) * self._embedded_ms)
        return measured(self.plan_ms(partitions))

    def node_times(self, partition: Partition, settings: RunSettings) -> Mapping[str, float]:
        if partition.target not in self._telling:
            return {}
        return {node: 0.8 * self._segments_ms[partition.target][int(node[1:])] for node in partition.nodes}

    def noted(self, partitions: Sequence[Partition], failure: Failure) -> Failure:
        self.may_conclude &= not failure.cause.is_transient
        return failure

    def partition_ms(self, partition: Partition) -> float:
        return sum(self._segments_ms[partition.target][int(node[1:])] for node in partition.nodes)

    def plan_ms(self, partitions: Sequence[Partition]) -> float:
        transitions = len(partitions) - 1
        return sum(map(self.partition_ms, partitions)) + transitions * (self._transition_ms + self._surprise_ms)

    def as_measurer(self) -> Measurer:
        return cast("Measurer", self)


def chain_problem(segments: int, targets: Sequence[Target], budget_s: float = 60.0) -> Problem:
    """A chain of nodes, each a segment of its own, that every target takes."""
    graph = fake_dag([[number - 1] if number else [] for number in range(segments)])
    return Problem(
        graph=graph,
        targets=tuple(targets),
        capabilities={target: Capability(refusals={}) for target in targets},
        settings=SearchSettings(budget_s=budget_s),
        threads=2,
        segments=tuple((node.id,) for node in graph.nodes),
    )
