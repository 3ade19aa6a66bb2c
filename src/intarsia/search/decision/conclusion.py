"""What a paired benchmark came to for the plans that might have beaten the best single engine, and the sentence that
says so.

The sentence is written from the conclusion and the figures that it rests on, so the two cannot contradict each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from intarsia.config.search_settings import MIX_MEMORY, MIX_MEMORY_SHARE
from intarsia.cost.timing.footprint import megabytes
from intarsia.cost.timing.statistics import Interval
from intarsia.cost.timing.verdict import MEMORY_STAGE, Shown, Verdict, unshown
from intarsia.planning.problem import Candidate


class Conclusion(StrEnum):
    """What came of the plans that might have beaten the best single engine, or why none was held against it."""

    WON = "won"
    LOST = "lost"
    NO_DIFFERENCE = "no difference shown"
    VOID = "void"
    OVER_MEMORY = "over memory"
    OVER_ERROR = "over error"
    FAILED = "failed"
    NO_ALTERNATIVE = "no alternative"
    NO_SINGLE = "no single engine"
    NO_TIME = "no time"
    GIVEN = "given"
    INTERRUPTED = "interrupted"


_OF_BENCHMARKED = {
    Shown.FASTER: Conclusion.WON,
    Shown.SLOWER: Conclusion.LOST,
    Shown.NO_DIFFERENCE: Conclusion.NO_DIFFERENCE,
    Shown.NOTHING: Conclusion.VOID,
}
_NEARNESS = (
    *(Conclusion.WON, Conclusion.OVER_MEMORY, Conclusion.OVER_ERROR, Conclusion.NO_DIFFERENCE),
    *(Conclusion.VOID, Conclusion.LOST, Conclusion.FAILED),
)
"""Of several plans, the one that is spoken of stands first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """Plans against the best single engine.

    Attributes:
        has_limit: Whether the user stated how much memory a plan may need: a mix may then need all of it.
        usable_bytes: Memory that this process may use, by which a mix is judged where no limit was stated.
        over_error: Plans by name that may not ship for their error on validation inputs, with what is said of each.
    """

    single: Candidate
    verdict: Verdict
    has_limit: bool
    usable_bytes: int
    over_error: Mapping[str, str]

    def came_to(self, plan: Candidate) -> Conclusion:
        """What became of one plan."""
        verdict = self.verdict
        if plan.name in self.over_error:
            return Conclusion.OVER_ERROR
        if plan.name not in verdict.benchmarked:
            stage, _ = verdict.failed.get(plan.name, ("", ""))
            return Conclusion.OVER_MEMORY if stage == MEMORY_STAGE else Conclusion.FAILED
        shown = verdict.compared(plan.name, self.single.name, far_counts=bool(plan.precisions))
        found = _OF_BENCHMARKED[shown]
        if found is Conclusion.WON and not self.has_limit and self._peak_bytes(plan) > self._most_bytes:
            return Conclusion.OVER_MEMORY
        return found

    def gain(self, plan: Candidate) -> Interval:
        """How many times as fast as the single engine a benchmarked plan was."""
        return self.verdict.speedup(plan.name, self.single.name)

    def nearest(self, plans: Sequence[Candidate]) -> Candidate:
        """The one to speak of: of the benchmarked, the one that comes nearest to winning, and the fastest."""

        def rank(plan: Candidate) -> tuple[bool, int, float]:
            was_benchmarked = plan.name in self.verdict.benchmarked
            return (
                not was_benchmarked,
                _NEARNESS.index(self.came_to(plan)),
                -self.gain(plan).median if was_benchmarked else 0.0,
            )

        return min(plans, key=rank)

    def sentence(self, plans: Sequence[Candidate]) -> str:
        """One sentence on plans which are all mixes, or all in reduced precision."""
        if not plans:
            return "no mix of engines promised to be faster"
        best = self.nearest(plans)
        found = self.came_to(best)
        if best.name not in self.verdict.benchmarked:
            return self._why_not_benchmarked(best, found, is_only=len(plans) == 1)
        name = f"with {' and '.join(best.precisions)} it" if best.precisions else "the best mix"
        gain = self.gain(best)
        verb = "answers" if self.verdict.instances else "is"
        times = f"{gain.median:.2f} times {self.verdict.how} ({gain.low:.2f} to {gain.high:.2f})"
        match found:
            case Conclusion.WON:
                return f"{name if best.precisions else 'the mix'} {verb} {times}"
            case Conclusion.LOST:
                return f"{name} is slower: {times}"
            case Conclusion.OVER_MEMORY:
                needs = f"{self._memory_beside_single(best)}, where {megabytes(int(self._most_bytes))} is the limit"
                return f"{name} {verb} {times}, but needs {needs}; --max-memory would allow it"
            case Conclusion.OVER_ERROR:
                return self.over_error[best.name]
            case Conclusion.NO_DIFFERENCE:
                pair = f"{best.label} and {self.single.label}" if best.precisions else "the best mix and it"
                return f"no difference shown between {pair} ({unshown(gain, self.verdict.control, self.verdict.how)})"
            case _:
                return self._void(best, gain)

    def _why_not_benchmarked(self, plan: Candidate, found: Conclusion, *, is_only: bool) -> str:
        every = f"every {_kind(plan)}"
        if found is Conclusion.OVER_MEMORY:
            return f"{every} needs more memory than it may, or failed"
        if not is_only or plan.name not in self.verdict.failed:
            return f"{every} failed"
        stage, why = self.verdict.failed[plan.name]
        return f"the {_kind(plan)} failed at {stage}: {why}"

    def _void(self, plan: Candidate, gain: Interval) -> str:
        """Nothing is claimed; yet nobody should hope for a plan that did not even seem faster."""
        if self.verdict.control_holds:
            return f"the paired benchmark did not come to its end, so no {_kind(plan)} was shown to be faster"
        control = self.verdict.control
        itself = f"the same plan against itself: {control.low:.2f} to {control.high:.2f}"
        if gain.high <= 1.0:
            return f"no {_kind(plan)} seemed faster ({gain.low:.2f} to {gain.high:.2f}) on a noisy machine ({itself})"
        return f"the machine was too noisy to tell whether a {_kind(plan)} is faster ({itself})"

    def _memory_beside_single(self, plan: Candidate) -> str:
        ours, single = self._peak_bytes(plan), self._peak_bytes(self.single)
        return f"{ours / max(1, single):.1f} times the memory ({megabytes(ours)} against {megabytes(single)})"

    @property
    def _most_bytes(self) -> float:
        """What a plan may need that ships instead of the single engine, where no limit was stated."""
        return max(MIX_MEMORY * self._peak_bytes(self.single), MIX_MEMORY_SHARE * self.usable_bytes)

    def _peak_bytes(self, plan: Candidate) -> int:
        return self.verdict.footprints[plan.name].peak_bytes


def _kind(plan: Candidate) -> str:
    return "plan in reduced precision" if plan.precisions else "mix"
