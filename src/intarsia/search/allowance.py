"""The error that the user allows: what is looked for because of it, and whether what won keeps to it."""

from __future__ import annotations

from collections.abc import Sequence

from intarsia.cost.measure import Measurer
from intarsia.cost.progress import Progress, Watcher
from intarsia.cost.record import Failure
from intarsia.search.predict import failure_error
from intarsia.search.problem import Candidate, Problem
from intarsia.search.rough import NO_ROUGH, RoughPlans, RoughSearch, starting_points
from intarsia.search.unseen import Accuracy, Samples, measured


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
        if self._problem.settings.max_error is None:
            return NO_ROUGH
        return RoughSearch(self._problem, self._measurer, self._samples, self._watch).run(self._exact)

    def judge(self, plan: Candidate) -> Accuracy | None:
        """What a plan is off by on inputs that decided nothing; ``None`` where no error is allowed.

        Raises:
            BackendError: An engine failed.
        """
        allowed = self._problem.settings.max_error or plan.settings.max_error
        if allowed is None or not self._exact:
            return None
        self._watch(Progress(stage="accuracy", note=f"{plan.label} on unseen inputs"))
        found = measured(self._measurer, self._samples, plan, self._exact[0], allowed)
        if isinstance(found, Failure):
            raise failure_error(plan.partitions[0], found)
        return found
