"""The latency that the user allows under load: which plans keep to it, and what is said where none does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from intarsia.cost.timing.verdict import Verdict
from intarsia.errors import LatencyLimitError
from intarsia.planning.problem import Candidate
from intarsia.search.decision.contenders import finalists, tuned_ms
from intarsia.search.decision.decision import NO_BENCHMARK
from intarsia.wording import counted

Compare = Callable[[Sequence[Candidate], Sequence[Candidate], Sequence[Candidate]], Verdict]
"""Compares plans of one engine, mixes, and plans in reduced precision side by side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WithinLimit:
    """What came of comparing the plans that keep to the limit.

    Attributes:
        late: The 99th percentile of each plan that does not, by its name.
    """

    verdict: Verdict
    late: Mapping[str, float] = field(default_factory=dict)

    def kept(self, plans: Iterable[Candidate]) -> list[Candidate]:
        """Those of the plans that were not too late."""
        return [plan for plan in plans if plan.name not in self.late]

    def check(self, plans: Iterable[Candidate], limit_ms: float | None) -> None:
        """Raise a `LatencyLimitError` that names the plan which comes nearest, if none of these keeps to the limit."""
        if limit_ms is None or not self.late:
            return
        if any(plan.name in self.verdict.rounds_ms for plan in self.kept(plans)):
            return
        least = min(self.late, key=self.late.__getitem__)
        raise LatencyLimitError(
            f"no plan answers 99 of 100 calls within {limit_ms:g} ms under load: the one that comes nearest, {least}, "
            f"takes {self.late[least]:.3g} ms; raise --max-latency to that"
        )

    def reason(self, choice: str, limit_ms: float | None, *, has_single: bool) -> str:
        """Why a plan ships: what the comparison says, and how many plans were dropped."""
        if not self.late or limit_ms is None:
            return choice
        choice = choice if has_single else "no engine alone answers in time"
        least = min(self.late, key=self.late.__getitem__)
        return (
            f"{choice}; {counted(len(self.late), 'plan')} dropped, as 99 of 100 calls take more than {limit_ms:g} ms "
            f"(the nearest, {least}: {self.late[least]:.3g} ms)"
        )


def within_limit(
    singles: Sequence[Candidate],
    mixes: Sequence[Candidate],
    reduced: Sequence[Candidate],
    limit_ms: float | None,
    compare: Compare,
) -> WithinLimit:
    """Compare, and again without what was too late while others then take part: each time there are fewer plans."""
    found = WithinLimit(verdict=compare(singles, mixes, reduced))
    while limit_ms is not None:
        late = {**found.late, **too_late(found.verdict, limit_ms)}
        if late.keys() == found.late.keys():
            break
        found = WithinLimit(verdict=found.verdict, late=late)
        left = [found.kept(plans) for plans in (singles, mixes, reduced)]
        known = found.verdict.benchmarked | found.verdict.failed.keys()
        if all(plan.name in known for plan in (*finalists(left[0], left[1]), *left[2])):
            break
        anew = compare(*left)
        if anew is NO_BENCHMARK:
            break
        found = WithinLimit(verdict=anew, late=late)
    return found


def likely_within(plans: Sequence[Candidate], limit_ms: float | None) -> Sequence[Candidate]:
    """The plans whose calls keep to the limit on average, by what was measured of each alone; all if none does."""
    if limit_ms is None:
        return plans
    return [plan for plan in plans if plan.settings.instances * tuned_ms(plan) <= limit_ms] or plans


def unknown(reason: str) -> str:
    """Why a plan ships of which nobody knows its slowest calls."""
    return f"{reason}, so that it is not known whether 99 of 100 calls keep to --max-latency"


def too_late(verdict: Verdict, limit_ms: float) -> dict[str, float]:
    """The 99th percentile of each plan whose calls take longer; of too few calls the slowest counts."""
    slowest = {name: tail.p99_ms for name, tail in verdict.tails.items()}
    return {name: ms for name, ms in slowest.items() if ms is not None and ms > limit_ms}
