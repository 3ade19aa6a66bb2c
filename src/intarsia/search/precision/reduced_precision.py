"""Plans in reduced precision that keep the whole within a stated error, made from the best plans in fp32.

What decides (ranges, which layers, which plans) is measured on calibration inputs; what ships is checked on others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from intarsia.config.precision import Precision
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Failure
from intarsia.cost.worker.progress import Watcher
from intarsia.partitioning import Partition, Partitioning, with_precision
from intarsia.planning.problem import Candidate, Problem
from intarsia.search.precision.candidates import Cut, in_reduced_types, most_that_fits, speed_settings
from intarsia.search.precision.choosers import OUT_OF_TIME, Choosers, rounding_s
from intarsia.search.precision.early_judge import EarlyJudge
from intarsia.search.precision.families import PRODUCTS, WEIGHTS
from intarsia.search.precision.layer_trials import IN_TYPES, IN_WEIGHTS, try_layers
from intarsia.search.precision.trials import ReducedPrecision, Trials
from intarsia.search.precision.validation_set import Accuracy, Samples
from intarsia.search.precision.weight_trials import WeightTrials
from intarsia.search.thresholds import DECISION, PRECISION
from intarsia.target.reduced_precision import rounded_type


@dataclass(frozen=True, slots=True, kw_only=True)
class ReducedPrecisionPlans:
    """What came of looking for plans in reduced precision.

    Attributes:
        found: The fastest first.
        dropped: What was tried and will not be benchmarked, and why.
        reason: Why there is none.
    """

    found: tuple[ReducedPrecision, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()
    reason: str = ""

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The plans."""
        return tuple(reduced.candidate for reduced in self.found)


NO_REDUCED_PRECISION = ReducedPrecisionPlans()
"""Where nobody allowed an error."""


class ReducedPrecisionSearch:
    """Makes plans in reduced precision of plans in fp32.

    Attributes:
        is_judged: Whether the fastest plan that `run` found keeps to the error on validation inputs.

    Args:
        judge: Returns the error of a plan on the validation set; see `AccuracyBudget.judge`.
    """

    def __init__(
        self,
        problem: Problem,
        measurer: Measurer,
        samples: Samples,
        watch: Watcher,
        judge: Callable[[Candidate], Accuracy | None],
    ) -> None:
        self.trials = Trials(problem, measurer, samples, watch)
        self.is_judged = False
        self._judge = judge
        self._problem = problem
        self._measurer = measurer
        self._samples = samples
        self._watch = watch

    def run(self, exact: Sequence[Candidate]) -> ReducedPrecisionPlans:
        """The fastest that stay within the error on calibration inputs, made of each engine's best plan and mixes."""
        has_layers = any(family.layers(self._problem.graph) for family in (PRODUCTS, WEIGHTS))
        if not has_layers and not any(
            True for plan in exact for _ in in_reduced_types(self._problem.graph, plan.partitions)
        ):
            return ReducedPrecisionPlans(reason="nothing in the model computes faster in less than fp32")
        with self._measurer.machine():
            reason = self.trials.learn(exact)
            if reason is not None:
                return ReducedPrecisionPlans(reason=reason)
            with Choosers(self._problem, self._measurer, self._samples, self._watch, exact) as choosers:
                return self._searched(exact, choosers)

    def _searched(self, exact: Sequence[Candidate], choosers: Choosers) -> ReducedPrecisionPlans:
        trials = self.trials
        early = EarlyJudge(trials, exact, self._judge)
        tried = [plan for plan in exact if self._has_time(plan)]
        # Whole plans first: what layers cost takes long to learn. Weights in few bits need nothing to be learnt, but
        # only models that wait for their weights gain more by them than by a smaller type.
        weights = WeightTrials(trials)
        if weights.are_first:
            weights.try_all(tried)
        typed = [(plan, self._try_types(plan, choosers)) for plan in tried]
        if not weights.are_first:
            weights.try_all(tried)
        # An engine that is fast in one type of less than fp32 mostly is in another.
        typed.sort(key=lambda pair: not pair[1])
        for plan, types in typed:
            for partitions, error in types:
                try_layers(trials, choosers, plan, partitions, base=error)
        early.run()  # while there is time for one that errs less
        for is_dynamic in (False, True):
            for place, (plan, _) in enumerate(typed):
                try_layers(trials, choosers, plan, plan.partitions, is_dynamic=is_dynamic)
                if not (is_dynamic or place):
                    early.run()
        weights.try_layers(choosers)
        early.run()
        self.is_judged = early.has_judged_best
        found = sorted(trials.found, key=lambda reduced: reduced.ms)
        faster = f"{PRECISION.plans} others were faster when they were tried"
        # What tells most of a model first.
        before = sorted(trials.dropped, key=lambda pair: pair[0].endswith(IN_WEIGHTS))
        dropped = (*early.missed, *before, *((reduced.candidate.label, faster) for reduced in found[PRECISION.plans :]))
        reason = "" if found else f"no plan in reduced precision is benchmarked: {_first(dropped)}"
        return ReducedPrecisionPlans(found=tuple(found[: PRECISION.plans]), dropped=dropped, reason=reason)

    def _has_time(self, plan: Candidate) -> bool:
        """Whether there is time to try a plan; that there is none is taken down."""
        fits = self.trials.fits_time(self.trials.plan_s(plan))
        if not fits:
            self.trials.dropped.append((plan.label, OUT_OF_TIME))
        return fits

    def _try_types(self, plan: Candidate, choosers: Choosers) -> list[tuple[tuple[Partition, ...], float]]:
        """With its engines in reduced precision, or only one end of the model: what fits as a whole, with its error."""
        fitting = []
        for nearest in in_reduced_types(self._problem.graph, plan.partitions):
            slow_ms = self._slow_ms(plan, nearest)
            if slow_ms is not None:
                self.trials.keep(f"it takes {slow_ms:.3g} ms, and others less", plan, IN_TYPES)
                continue
            partitions = self._rounded(choosers, nearest)
            settings = self.trials.settings(plan)
            error = self.trials.error(partitions, settings)
            if isinstance(error, Failure):
                self.trials.keep(f"failed at {error.stage}: {error.reason}", plan, IN_TYPES)
            elif error > PRECISION.hopeful * self.trials.aim or self.trials.has_failed(partitions, settings):
                self._try_part(plan, partitions, error, choosers)
            else:
                again = partial(self._try_part, plan, partitions, error, choosers)
                is_kept = self.trials.keep(self.trials.reduced(plan, partitions), plan, IN_TYPES, again)
                if is_kept and self.trials.fits(error):
                    fitting.append((partitions, error))
        return fitting

    def _try_part(self, plan: Candidate, partitions: tuple[Partition, ...], error: float, choosers: Choosers) -> None:
        self.trials.keep(self._cut(plan, partitions, error, choosers), plan, IN_TYPES)

    def _slow_ms(self, plan: Candidate, partitions: tuple[Partition, ...]) -> float | None:
        """What it takes with weights rounded to the nearest, where it is known that other plans take less."""
        settings = speed_settings(plan, self.trials.allowed)
        if plan.total_ms is None or not self._measurer.knows(partitions, settings, "all"):
            return None
        most_ms = min(PRECISION.types_behind * plan.total_ms, DECISION.reduced_behind * self.trials.best_ms)
        ms = self._measurer.cost_of_plan(partitions, settings, PRECISION.effort).cost_ms
        return ms if most_ms < ms < math.inf else None

    def _rounded(self, choosers: Choosers, partitions: tuple[Partition, ...]) -> tuple[Partition, ...]:
        """With weights rounded by what they are multiplied with, where an engine rounds them as they are."""
        if all(rounded_type(partition.target) is None for partition in partitions):
            return partitions
        needed_s = rounding_s(self._problem.graph) + self.trials.whole_s(partition.target for partition in partitions)
        if not self.trials.fits_time(needed_s):
            return partitions
        means = choosers.means()
        if isinstance(means, str):  # rounded to the nearest
            return partitions
        precision = Precision.of({}, {}, means)
        return with_precision(self._problem.graph, Partitioning(partitions=partitions), precision).partitions

    def _cut(
        self, plan: Candidate, partitions: tuple[Partition, ...], error: float, choosers: Choosers
    ) -> ReducedPrecision | str:
        """As much of one end of the model in that type as fits the error."""
        if len(partitions) > 1:
            return f"its error is {error:.2g}"
        exact, reduced = plan.partitions[0].target, partitions[0].target
        cut = Cut(
            graph=self._problem.graph,
            segments=self._problem.segments,
            exact=exact,
            reduced=reduced,
            rounded=partial(self._rounded, choosers),
        )
        error_of = partial(self.trials.error, settings=self.trials.settings(plan))
        found = most_that_fits(cut, error, PRECISION.margin * self.trials.aim, error_of)
        if isinstance(found, Failure):
            return f"failed at {found.stage}: {found.reason}"
        return f"its error is {error:.2g}, so is each end's" if found is None else self.trials.reduced(plan, found)


def _first(dropped: Sequence[tuple[str, str]]) -> str:
    if not dropped:
        return "nothing was tried"
    plan, why = dropped[0]
    return f"{plan.partition(',')[0]}: {why}"


def starting_points(singles: Sequence[Candidate], mixes: Sequence[Candidate]) -> list[Candidate]:
    """Of each engine within reach its best settings, the fastest first, and the best mix that is called in turn."""
    best: dict[str, Candidate] = {}
    ranked = sorted(singles, key=lambda plan: plan.total_ms or math.inf)
    for single in ranked:
        if (single.total_ms or math.inf) <= PRECISION.engines_behind * (ranked[0].total_ms or math.inf):
            best.setdefault(single.label, single)
    return [*best.values(), *[mix for mix in mixes if not mix.settings.embed][:1]]
