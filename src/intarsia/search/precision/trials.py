"""Plans in reduced precision that were tried: their speed, their error, and why one is none."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from intarsia.backends import registry
from intarsia.config import RunSettings
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Failure
from intarsia.cost.reference.evaluate import Answers
from intarsia.cost.worker.progress import Progress, Watcher
from intarsia.errors import PlanError
from intarsia.graph import SubModel, extract
from intarsia.graph.quantise import quantised
from intarsia.partitioning import Partition
from intarsia.planning.problem import Candidate, Problem
from intarsia.search.collage.cost_attribution import shared_out, total_work
from intarsia.search.precision.choosers import OUT_OF_TIME
from intarsia.search.precision.layer_choice import errors_of, expected_worst
from intarsia.search.precision.validation_set import Samples
from intarsia.search.thresholds import PRECISION, SHARES
from intarsia.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class ReducedPrecision:
    """A plan in reduced precision, and its error on the calibration inputs."""

    candidate: Candidate
    error: float

    @property
    def ms(self) -> float:
        """Milliseconds of a call; infinite if they are unknown."""
        return self.candidate.total_ms or math.inf


class Trials:
    """Measures plans in reduced precision.

    Attributes:
        allowed: The error that a plan may have.
        aim: The error that it is to have on the calibration inputs, at most.
        found: Those that are faster and keep to the error.
        dropped: What else was tried, and why it will not be benchmarked.
        tried: The partitions of plans that need not be tried again.
        again: By name of a plan that was found, what looks for one like it that errs less, after the aim was lowered.
    """

    def __init__(self, problem: Problem, measurer: Measurer, samples: Samples, watch: Watcher) -> None:
        self.problem = problem
        self.measurer = measurer
        self.allowed = problem.settings.max_error or 0.0
        self.aim = self.allowed
        self.found: list[ReducedPrecision] = []
        self.dropped: list[tuple[str, str]] = []
        self.tried: set[tuple[Partition, ...]] = set()
        self.again: dict[str, Callable[[], object]] = {}
        self._samples = samples
        self._watch = watch
        self._exact: Sequence[Answers] = ()
        self._errors: dict[tuple[tuple[Partition, ...], RunSettings], Sequence[Sequence[float]] | Failure] = {}
        """Of each plan, the errors of each output on the calibration inputs."""
        self._written: tuple[Hashable, SubModel] | None = None

    def learn(self, exact: Sequence[Candidate]) -> str | None:
        """Learn what the first plan that answers the calibration inputs in fp32 answers, or why none does."""
        reason = OUT_OF_TIME
        for plan in exact:
            if not self.fits_time(self.whole_s(part.target for part in plan.partitions)):
                return reason
            answers = self.measurer.answers(plan.partitions, plan.settings, self._samples.calibration)
            if not isinstance(answers, Failure):
                self._exact = answers
                return None
            reason = f"failed at {answers.stage}: {answers.reason}"
        return reason

    def fits_time(self, seconds: float, until: float = SHARES.precision_end) -> bool:
        """Whether something that takes so long may begin; asked of the time alone, since all of this is kept as one."""
        return self.measurer.time.fits(seconds, until)

    def whole_s(self, targets: Iterable[Target]) -> float:
        """Seconds that it takes to measure the whole model on these."""
        return self.measurer.time.whole_s({registry.engine_of(target) for target in targets})

    def plan_s(self, plan: Candidate) -> float:
        """Seconds that a plan in reduced precision takes until it is known."""
        return 2 * self.whole_s(part.target for part in plan.partitions)

    def fits(self, error: float) -> bool:
        """Whether a plan with this error on the calibration inputs is likely to keep to what is allowed on others."""
        return error <= self.aim * (1 + PRECISION.margin) / 2

    def keep(
        self,
        reduced: ReducedPrecision | str,
        plan: Candidate,
        kind: str,
        again: Callable[[], object] = lambda: None,
    ) -> bool:
        """Take it down among those found, or why it is not; ``again`` looks for one like it that errs less."""
        if isinstance(reduced, str):
            self.dropped.append((f"{plan.label}, {kind}", reduced))
            return False
        self.found.append(reduced)
        self.again[reduced.candidate.name] = again
        return True

    @property
    def best(self) -> ReducedPrecision | None:
        """The fastest plan found so far."""
        return min(self.found, key=lambda reduced: reduced.ms, default=None)

    @property
    def best_ms(self) -> float:
        """What that takes; infinite if there is none."""
        return math.inf if self.best is None else self.best.ms

    def settings(self, plan: Candidate) -> RunSettings:
        """Those of a plan in reduced precision that is made of this one."""
        return replace(plan.settings, embed=False, max_error=self.allowed)

    def error(self, partitions: tuple[Partition, ...], settings: RunSettings) -> float | Failure:
        """Of a plan on the calibration inputs; asked once, since its engines compile it for that."""
        key = (partitions, settings)
        if key not in self._errors:
            if not self.fits_time(self.whole_s(part.target for part in partitions)):
                return self.measurer.time.refusal()
            answers = self.measurer.answers(partitions, settings, self._samples.calibration)
            self._errors[key] = answers if isinstance(answers, Failure) else errors_of(answers, self._exact)
        found = self._errors[key]
        return found if isinstance(found, Failure) else expected_worst(found)

    def has_failed(self, partitions: tuple[Partition, ...], settings: RunSettings) -> bool:
        """Whether a plan whose error is known erred more than is allowed on one of the calibration inputs."""
        found = self._errors.get((partitions, settings), ())
        return not isinstance(found, Failure) and max(map(max, found), default=0.0) > self.allowed

    def reduced(
        self,
        plan: Candidate,
        partitions: tuple[Partition, ...],
        slower: float = PRECISION.slower,
        checked_by: float = 1.0,
    ) -> ReducedPrecision | str:
        """A plan in reduced precision with its error, or why it is none.

        Args:
            slower: One that is slower so many times than in fp32 is none.
            checked_by: So many times the allowed error, one is none that makes more.
        """
        refusal = next(filter(None, map(self._refusal, partitions)), None)
        if refusal is not None:
            return refusal
        settings = self.settings(plan)
        candidate = replace(plan, partitions=partitions, settings=settings)
        kind = " + ".join(candidate.precisions) + ("" if len(partitions) == len(plan.partitions) else " in part")
        candidate = replace(candidate, name=f"{plan.name}, {kind}", label=f"{plan.label} in {kind}")
        self._watch(Progress(stage="accuracy", note=candidate.label))
        checked = replace(settings, max_error=checked_by * self.allowed)
        hopeless = 2 * self.best_ms if self.best_ms < math.inf else None
        outcome = self.measurer.cost_of_plan(partitions, checked, replace(PRECISION.effort, hopeless_ms=hopeless))
        if isinstance(outcome, Failure):
            return f"failed at {outcome.stage}: {outcome.reason}"
        if outcome.cost_ms >= slower * (plan.total_ms or math.inf):
            return f"it takes {outcome.cost_ms:.3g} ms, in fp32 {plan.total_ms:.3g}"
        if hopeless and outcome.cost_ms > hopeless:
            return "another plan in reduced precision takes less than half as long"
        error = self.error(partitions, settings)
        if isinstance(error, Failure):
            return f"failed at {error.stage}: {error.reason}"
        works = [total_work(self.problem.graph, part.nodes) for part in partitions]
        costs = shared_out(outcome.cost_ms, works)
        return ReducedPrecision(candidate=replace(candidate, predicted_ms=costs), error=error)

    def _refusal(self, partition: Partition) -> str | None:
        """Why an engine does not take what becomes of its partition."""
        if partition.precision is None or not partition.precision.schemes:
            return None
        if partition.target.kind.name == registry.NESTED:
            return "a nested configuration computes in fp32"
        asked = (partition.nodes, partition.precision)
        try:
            if self._written is None or self._written[0] != asked:  # engines are asked of the same layers in turn
                model = extract(self.problem.graph, partition.nodes)
                self._written = (asked, quantised(model, partition.precision))
        except PlanError as error:
            return str(error)
        written = self._written[1]
        backend = registry.of(partition.target)
        refusals = (backend.refusal(node, written.graph, partition.target) for node in written.nodes)
        return next(filter(None, refusals), None)
