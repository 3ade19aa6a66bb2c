"""The error that the user allows: what is looked for because of it, and whether what won keeps to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from pydantic import TypeAdapter

from intarsia.backends import registry
from intarsia.cost.measure import Measurer
from intarsia.cost.records.recall import Entry, computed, recalled
from intarsia.cost.records.record import Failure
from intarsia.cost.worker.progress import Progress, Watcher
from intarsia.planning.problem import Candidate, Problem
from intarsia.search.collage.search_cache import fits
from intarsia.search.decision.prediction import failure_error
from intarsia.search.precision.record import accuracy_key, from_json, reduced_key, to_json
from intarsia.search.precision.reduced_precision import (
    NO_REDUCED_PRECISION,
    ReducedPrecisionPlans,
    ReducedPrecisionSearch,
    starting_points,
)
from intarsia.search.precision.validation_set import Accuracy, Samples, Validation
from intarsia.search.thresholds import DECISION, PRECISION, SHARES


class AccuracyBudget:
    """Without one nothing but fp32 is looked for, and nothing is judged."""

    def __init__(
        self,
        problem: Problem,
        measurer: Measurer,
        singles: Sequence[Candidate],
        mixes: Sequence[Candidate],
        watch: Watcher,
    ) -> None:
        self._problem = problem
        self._measurer = measurer
        self._exact = starting_points(singles, mixes)
        self._samples = Samples(problem.graph, measurer.folder, problem.settings.seed)
        self._watch = watch

    @cached_property
    def _validation(self) -> Validation:
        return Validation(self._measurer, self._samples, self._exact[0])

    def plans(self) -> ReducedPrecisionPlans:
        """Plans in reduced precision that keep to the error on the inputs that decide; the fastest on validation inputs
        too, where there was time to judge it.
        """
        problem, measurer = self._problem, self._measurer
        if problem.settings.max_error is None or not self._exact:
            return NO_REDUCED_PRECISION
        entry: Entry[ReducedPrecisionPlans] = Entry(
            kind="reduced_precision", key=reduced_key(problem, self._exact), read=self._read, write=to_json
        )

        def searched() -> ReducedPrecisionPlans:
            time, fewest = measurer.time, PRECISION.validation_least
            rounds_s = SHARES.benchmark_set * problem.settings.budget_s
            time.kept_s = self._judging_s(self._exact[0], fewest) + self._benchmark_s(rounds_s)
            look = ReducedPrecisionSearch(problem, measurer, self._samples, self._watch, self._judge_early)
            plans = look.run(self._exact)
            is_due = plans.found and not look.is_judged
            time.kept_s = self._judging_s(self._exact[0], fewest) if is_due else 0.0
            return plans

        known = recalled(measurer, entry)
        plans = known or computed(measurer, entry, searched, is_kept=lambda _: measurer.may_conclude)
        assert plans is not None
        return plans

    def _read(self, stored: Mapping[str, Any]) -> ReducedPrecisionPlans:
        found = from_json(stored, self._problem)
        if not all(fits(self._problem, each.candidate) for each in found.found):
            raise ValueError("it does not fit the model")
        return found

    def judge(self, plan: Candidate) -> Accuracy | None:
        """The error of a plan on the validation set; ``None`` where no error is allowed.

        Where the time does not do for all inputs, they are fewer; for a plan in fp32 ``None`` where it does for none,
        and for one in reduced precision, which must not ship unjudged, an error that does not hold. Where an engine
        fails, that is raised as its `BackendError`.
        """
        self._measurer.time.kept_s = 0.0
        return self._judged(plan, insists=True)

    def _judged(self, plan: Candidate, *, insists: bool) -> Accuracy | None:
        allowed = self._problem.settings.max_error or plan.settings.max_error
        if allowed is None or not self._exact:
            return None
        measurer, exact = self._measurer, self._exact[0]
        if plan.partitions == exact.partitions and plan.settings.max_error is None:  # what others are judged by
            return None
        key = accuracy_key(self._problem, plan, exact, allowed)
        entry: Entry[Accuracy] = Entry(kind="accuracy", key=key, read=self._read_accuracy)
        if (known := recalled(measurer, entry)) is not None:
            return known
        count = self._inputs(plan, insists=insists)
        if count < PRECISION.validation_least:
            return Accuracy(max_error=allowed, inputs=0, worst={}, mean={}) if plan.precisions else None

        def judged() -> Accuracy:
            self._watch(Progress(stage="validation inputs", note=plan.label))
            found = self._validation.measured(plan, allowed, count)
            if isinstance(found, Failure):
                raise failure_error(plan.partitions[0], found)
            return found

        found = computed(measurer, entry, judged)
        assert found is not None
        return found

    def _judge_early(self, plan: Candidate) -> Accuracy | None:
        """As `judge`, before the benchmark, whose time stays kept, and as much again for what takes longer."""
        time = self._measurer.time
        kept_s = time.kept_s
        time.kept_s = PRECISION.kept_benchmarks * self._benchmark_s()
        try:
            return self._judged(plan, insists=False)
        finally:
            time.kept_s = kept_s

    def _read_accuracy(self, stored: Mapping[str, Any]) -> Accuracy:
        if stored["worst"].keys() != set(self._measurer.graph.outputs):
            raise ValueError("it is of other outputs")
        return TypeAdapter(Accuracy).validate_python(stored)

    def _inputs(self, plan: Candidate, *, insists: bool) -> int:
        """On how many inputs there is time to judge a plan; somewhat more time where somebody ``insists``."""
        time = self._measurer.time
        counts = (PRECISION.validation, PRECISION.validation // 2, PRECISION.validation_least)
        questions = ((count, {"judged": plan.name, "inputs": count}) for count in counts)
        found = next((n for n, asked in questions if time.may_benchmark(asked, self._judging_s(plan, n))), 0)
        if found or not plan.precisions or not insists:
            return found
        # It was shown to be faster, and cannot ship unjudged: all that was spent on it would be lost.
        late_s = PRECISION.judged_late * time.deadline.stated
        is_near = self._judging_s(plan, counts[-1]) <= time.left_to_benchmark + late_s
        return counts[-1] if is_near else 0

    def _judging_s(self, plan: Candidate, count: int) -> float:
        """Seconds in which a plan and the one in fp32 answer so many inputs."""
        several = (plan,) if self._validation.has_right(count) else (plan, self._exact[0])
        engines = [{registry.engine_of(part.target) for part in each.partitions} for each in several]
        runs_ms = sum((each.total_ms or 0.0) + PRECISION.input_ms for each in several)
        return sum(map(self._measurer.time.whole_s, engines)) + count * runs_ms / 1e3

    def _benchmark_s(self, rounds_s: float = 0.0) -> float:
        """Seconds of a benchmark of the best plan in fp32, one in less, and the control; the shortest if left out."""
        best, time = self._exact[0], self._measurer.time
        engines = {registry.engine_of(part.target) for part in best.partitions}
        several = DECISION.fewest + 1
        calls_ms = [best.total_ms or 0.0] * several
        return time.writing_s(DECISION.fewest) + time.set_s([engines] * several, calls_ms, rounds_s)
