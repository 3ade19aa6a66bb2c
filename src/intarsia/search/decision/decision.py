"""The decision of a compile: the plan that ships, and what it was measured against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from intarsia.cost.timing.statistics import Interval
from intarsia.cost.timing.verdict import Verdict
from intarsia.planning.problem import Candidate
from intarsia.search.decision.conclusion import Conclusion
from intarsia.search.precision.reduced_precision import NO_REDUCED_PRECISION, ReducedPrecisionPlans
from intarsia.search.precision.validation_set import Accuracy

Judge = Callable[[Candidate], Accuracy | None]
"""Returns the error of a plan on the validation set, where the user allows one."""
NO_BENCHMARK = Verdict(rounds_ms={}, set_sizes=(), profile_ms={}, errors={}, failed={}, is_void=False)
"""The verdict where nothing was compared side by side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What ships, and what it was measured against.

    Attributes:
        artifact: Its file, still in the work folder.
        best_single: The fastest plan with one engine; ``None`` if no engine can run the model alone.
        error: Largest max|a-b| / max|b| of the shipped artifact's outputs against the reference; ``None`` without one.
        reason: One sentence, or one on mixes and one on reduced precision.
        accuracy: Error of each output on the validation set, where the user allows one.
        reduced: What was tried in reduced precision.
        allowed: What the output with that error was allowed.
        is_interrupted: Whether it was made early, from what was measured until then, without a paired benchmark.
    """

    chosen: Candidate
    artifact: Path
    best_single: Candidate | None
    verdict: Verdict
    error: float | None
    reason: str
    conclusion: Conclusion
    accuracy: Accuracy | None = None
    reduced: ReducedPrecisionPlans = NO_REDUCED_PRECISION
    allowed: float | None = None
    is_interrupted: bool = False

    @property
    def is_verified(self) -> bool:
        """Whether the plan was shown to answer rightly."""
        return self.chosen.settings.verified

    @property
    def speedup(self) -> Interval | None:
        """How many times faster than the best single engine, with its 95 % interval."""
        if self.best_single is None or not {self.best_single.name, self.chosen.name} <= self.verdict.benchmarked:
            return None
        return self.verdict.speedup(self.chosen.name, self.best_single.name)
