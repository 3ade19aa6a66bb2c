"""The error that the user allows: what is looked for because of it, and whether what won keeps to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from pydantic import TypeAdapter

from intarsia.cost.measure import Measurer
from intarsia.cost.progress import Progress, Watcher
from intarsia.cost.record import Failure
from intarsia.search.predict import failure_error
from intarsia.search.problem import Candidate, Problem
from intarsia.search.rough import NO_ROUGH, RoughPlans, RoughSearch, starting_points
from intarsia.search.rough_record import accuracy_key, from_json, rough_key, to_json
from intarsia.search.unseen import Accuracy, Samples, measured

_ACCURACY = TypeAdapter(Accuracy)


class Allowance:
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

    def plans(self) -> RoughPlans:
        """Plans in less than fp32 that keep to the error on the inputs that decide."""
        problem, measurer = self._problem, self._measurer
        if problem.settings.max_error is None or not self._exact:
            return NO_ROUGH
        key = rough_key(problem, self._exact)
        stored = measurer.store.get(key)
        if stored is not None:
            measurer.cached += 1
            return from_json(stored, problem.threads, problem.settings.max_error)
        plans = RoughSearch(problem, measurer, self._samples, self._watch).run(self._exact)
        measurer.measured += 1
        measurer.store.put("rough", key, to_json(plans), measurer.provenance)
        return plans

    def judge(self, plan: Candidate) -> Accuracy | None:
        """What a plan is off by on inputs that decided nothing; ``None`` where no error is allowed.

        Raises:
            BackendError: An engine failed.
        """
        allowed = self._problem.settings.max_error or plan.settings.max_error
        if allowed is None or not self._exact:
            return None
        measurer, exact = self._measurer, self._exact[0]
        key = accuracy_key(self._problem, plan, exact, allowed)
        stored = measurer.store.get(key)
        if stored is not None:
            measurer.cached += 1
            return _ACCURACY.validate_python(stored)
        self._watch(Progress(stage="accuracy", note=f"{plan.label} on unseen inputs"))
        found = measured(measurer, self._samples, plan, exact, allowed)
        if isinstance(found, Failure):
            raise failure_error(plan.partitions[0], found)
        measurer.measured += 1
        measurer.store.put("accuracy", key, asdict(found), measurer.provenance)
        return found
