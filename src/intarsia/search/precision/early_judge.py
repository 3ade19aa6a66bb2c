"""Judges the fastest plan in reduced precision before the benchmark, while what each layer costs is still known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from intarsia.errors import BackendError
from intarsia.planning.problem import Candidate
from intarsia.search.precision.trials import ReducedPrecision, Trials
from intarsia.search.precision.validation_set import Accuracy
from intarsia.search.thresholds import PRECISION


class EarlyJudge:
    """Takes plans out of the trials that err too much on validation inputs; what errs less is found in their place.

    Attributes:
        missed: The plans that were taken out, and by how much each missed the error.

    Args:
        exact: The plans in fp32: what is hardly faster than these is not judged.
        judge: Returns the error of a plan on the validation set; see `AccuracyBudget.judge`.
    """

    def __init__(
        self, trials: Trials, exact: Sequence[Candidate], judge: Callable[[Candidate], Accuracy | None]
    ) -> None:
        self.missed: list[tuple[str, str]] = []
        self._trials = trials
        self._exact_ms = min((plan.total_ms or math.inf for plan in exact), default=math.inf)
        self._judge = judge
        self._best_judged: ReducedPrecision | None = None
        """The last that kept to the error on validation inputs."""
        self._unjudged: ReducedPrecision | None = None
        """The last that there was no time to judge."""

    @property
    def has_judged_best(self) -> bool:
        """Whether the fastest plan that was found has been judged, and keeps to the error."""
        best = self._trials.best
        return best is not None and best == self._best_judged

    def run(self) -> None:
        """Judge the fastest, and the next where it misses the error, as often as `PRECISION.judged` says."""
        for _ in range(PRECISION.judged):
            best = self._trials.best
            if best is None or best in (self._best_judged, self._unjudged):
                return
            if PRECISION.promising * self._trials.best_ms > self._exact_ms or self._is_kept(best):
                return

    def _is_kept(self, best: ReducedPrecision) -> bool:
        """Whether a plan stays as it is; else what errs less was looked for in its place."""
        trials = self._trials
        try:
            accuracy = self._judge(best.candidate)
        except BackendError as error:
            why = f"failed at {error.stage}: {error.detail}"
        else:
            if accuracy is None or not accuracy.inputs:  # there is no time now
                self._unjudged = best
                if not trials.fits(best.error):
                    trials.again[best.candidate.name]()
                return True
            if accuracy.has_room:
                self._best_judged = best
                return True
            why = accuracy.miss("it")
            trials.aim = min(trials.aim, PRECISION.margin * trials.allowed / accuracy.excess)
        trials.found.remove(best)
        self.missed.append((best.candidate.label, why))
        trials.again[best.candidate.name]()
        return False
