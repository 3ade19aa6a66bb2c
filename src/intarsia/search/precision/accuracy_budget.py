"""The error that the user allows: what is looked for because of it, and whether what won keeps to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pydantic import TypeAdapter

from intarsia.backends import registry
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Failure
from intarsia.cost.thresholds import PAIRED
from intarsia.cost.worker.progress import Progress, Watcher
from intarsia.errors import IntarsiaError
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
from intarsia.search.precision.validation_set import Accuracy, Samples, measured
from intarsia.search.thresholds import DECISION, PRECISION

_ACCURACY = TypeAdapter(Accuracy)


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

    def plans(self) -> ReducedPrecisionPlans:
        """Plans in less than fp32 that keep to the error on the inputs that decide."""
        problem, measurer = self._problem, self._measurer
        if problem.settings.max_error is None or not self._exact:
            return NO_REDUCED_PRECISION
        key = reduced_key(problem, self._exact)
        stored = measurer.store.get(key, "reduced_precision")
        kept = None if stored is None else self._kept(stored)
        if stored is not None and kept is None:
            measurer.store.discard(key, "it does not fit the model")
        if kept is not None:
            measurer.cached += 1
            return kept
        time = measurer.time
        time.keep(self._judging_s(self._exact[0], PRECISION.validation_least) + self._racing_s())
        plans = ReducedPrecisionSearch(problem, measurer, self._samples, self._watch).run(self._exact)
        time.keep(self._judging_s(self._exact[0], PRECISION.validation_least) if plans.found else 0.0)
        measurer.measured += 1
        if measurer.may_conclude:
            measurer.store.put("reduced_precision", key, to_json(plans), measurer.provenance)
        return plans

    def _kept(self, stored: Mapping[str, Any]) -> ReducedPrecisionPlans | None:
        """What is on record; ``None`` if it does not fit the model, whoever wrote it."""
        try:
            found = from_json(stored, self._problem.threads, self._problem.settings.max_error)
        except (IntarsiaError, ValueError):
            return None
        return found if all(fits(self._problem, each.candidate) for each in found.found) else None

    def judge(self, plan: Candidate) -> Accuracy | None:
        """The error of a plan on the validation set; ``None`` where no error is allowed.

        Where the time does not do for all inputs, they are fewer; for a plan in fp32 ``None`` where it does for none,
        and for one in less than fp32, which must not ship unjudged, an error that does not hold.

        Raises:
            BackendError: An engine failed.
        """
        allowed = self._problem.settings.max_error or plan.settings.max_error
        if allowed is None or not self._exact:
            return None
        measurer, exact = self._measurer, self._exact[0]
        key = accuracy_key(self._problem, plan, exact, allowed)
        stored = measurer.store.get(key, "accuracy")
        if stored is not None and stored["worst"].keys() == set(measurer.graph.outputs):
            measurer.cached += 1
            return _ACCURACY.validate_python(stored)
        if stored is not None:
            measurer.store.discard(key, "it is of other outputs")
        count = self._inputs(plan)
        if count < PRECISION.validation_least:
            return Accuracy(max_error=allowed, inputs=0, worst={}, mean={}) if plan.precisions else None
        self._watch(Progress(stage="validation inputs", note=plan.label))
        found = measured(measurer, self._samples, plan, exact, allowed, count)
        if isinstance(found, Failure):
            raise failure_error(plan.partitions[0], found)
        measurer.measured += 1
        measurer.store.put("accuracy", key, asdict(found), measurer.provenance)
        return found

    def _inputs(self, plan: Candidate) -> int:
        """On how many inputs there is time to judge a plan."""
        time = self._measurer.time
        time.keep(0.0)
        for count in (PRECISION.validation, PRECISION.validation // 2, PRECISION.validation_least):
            question = {"judged": plan.name, "inputs": count}
            if time.may_benchmark(question, self._judging_s(plan, count)):
                return count
        return 0

    def _judging_s(self, plan: Candidate, count: int) -> float:
        """Seconds in which a plan and the one in fp32 answer so many inputs."""
        several = (plan, self._exact[0])
        engines = [{registry.engine_of(part.target) for part in each.partitions} for each in several]
        runs_ms = sum(each.total_ms or 0.0 for each in several) + 2 * PRECISION.input_ms
        return sum(map(self._measurer.time.whole_s, engines)) + count * runs_ms / 1e3

    def _racing_s(self) -> float:
        """Seconds of a benchmark between the best plan in fp32 and one in less."""
        best = self._exact[0]
        engines = {registry.engine_of(part.target) for part in best.partitions}
        return PAIRED.settled_sets * self._measurer.time.set_s(
            [engines] * DECISION.kept_contenders, [best.total_ms or 0.0] * DECISION.kept_contenders
        )
