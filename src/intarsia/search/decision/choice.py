"""What ships after a paired benchmark: a mix shown to be faster and not much bigger, else the best single engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from intarsia.backends.contract.failures import Cause
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Failure
from intarsia.cost.timing.footprint import megabytes
from intarsia.cost.timing.verdict import MEMORY_STAGE, Verdict
from intarsia.errors import MemoryLimitError
from intarsia.graph.reference.stages import has_stages
from intarsia.planning.problem import Candidate, Problem
from intarsia.search.decision.conclusion import Benchmark, Conclusion
from intarsia.search.decision.prediction import failure_error


def fastest(candidates: Sequence[Candidate], verdict: Verdict) -> Candidate | None:
    """The one that ran best of those that ran all rounds."""
    timed = [candidate for candidate in candidates if candidate.name in verdict.rounds_ms]
    return min(timed, key=lambda candidate: verdict.expected_ms(candidate.name), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What ships.

    Attributes:
        conclusion: That an alternative won, or what came of the mixes.
        reason: One sentence on the mixes, and one on plans in reduced precision where there are some.
    """

    plan: Candidate
    conclusion: Conclusion
    reason: str


def choose(
    alternatives: Sequence[Candidate],
    best_single: Candidate | None,
    verdict: Verdict,
    max_memory: int | None = None,
    over_error: Mapping[str, str] = MappingProxyType({}),
    singles: Sequence[Candidate] = (),
    usable_bytes: int = 0,
) -> Choice:
    """The plan that ships, and why.

    Args:
        alternatives: Mixed plans, and plans in reduced precision.
        best_single: The best plan with one engine that fits, if any does.
        verdict: What the paired benchmark came to; what is over the limit failed there.
        max_memory: The limit, where the user stated one: a mix may then need all of it.
        over_error: Alternatives by name that may not ship for their error on validation inputs, with what is said of
            each.
        singles: Plans with one engine, benchmarked or failed.
        usable_bytes: Memory that this process may use; a mix may need a share of it where no limit was stated.

    Raises:
        MemoryLimitError: No plan gets by with the memory that it may have.
        CompileError, LoadError, ExecutionError, MismatchError: No plan ran.
    """
    if best_single is None:
        allowed = [alternative for alternative in alternatives if alternative.name not in over_error]
        plan, reason = _without_singles(allowed, (*singles, *alternatives), verdict, max_memory)
        return Choice(plan=plan, conclusion=Conclusion.NO_SINGLE, reason=reason)
    benchmark = Benchmark(
        single=best_single,
        verdict=verdict,
        has_limit=max_memory is not None,
        usable_bytes=usable_bytes,
        over_error=over_error,
    )
    mixes = [alternative for alternative in alternatives if not alternative.precisions]
    reduced = [alternative for alternative in alternatives if alternative.precisions]
    on_mixes, on_reduced = benchmark.sentence(mixes), [benchmark.sentence(reduced)] if reduced else []
    winners = [alternative for alternative in alternatives if benchmark.came_to(alternative) is Conclusion.WON]
    if not winners:
        conclusion = benchmark.came_to(benchmark.nearest(mixes)) if mixes else Conclusion.NO_ALTERNATIVE
        return Choice(plan=best_single, conclusion=conclusion, reason="; ".join((on_mixes, *on_reduced)))
    best = max(winners, key=lambda alternative: benchmark.gain(alternative).median)
    reasons = [benchmark.sentence([best]), *([] if best.precisions else on_reduced)]
    return Choice(plan=best, conclusion=Conclusion.WON, reason="; ".join(reasons))


def check_memory(names: Iterable[str], verdict: Verdict, max_memory: int | None) -> None:
    """Raise a `MemoryLimitError`, naming the plan that needs least, if for memory none of these was benchmarked."""
    several = tuple(names)
    too_big = [name for name in several if verdict.failed.get(name, ("", ""))[0] == MEMORY_STAGE]
    if max_memory is None or not too_big or any(name in verdict.rounds_ms for name in several):
        return
    peaks = {name: verdict.footprints[name].peak_bytes for name in too_big}
    least = min(peaks, key=peaks.__getitem__)
    raise MemoryLimitError(
        f"no plan gets by with {megabytes(max_memory)}: the one that needs least, {least}, takes "
        f"{megabytes(peaks[least])} at its peak; raise --max-memory to that"
    )


def check_last(name: str, peak_bytes: int, max_memory: int | None) -> None:
    """Raise a `MemoryLimitError` if the plan that is to ship is over the limit in the last process that checks it."""
    if max_memory is not None and peak_bytes > max_memory:
        raise MemoryLimitError(
            f"{name} takes {megabytes(peak_bytes)} at its peak, now more and now less than {megabytes(max_memory)}; "
            "raise --max-memory, or lower it for another plan"
        )


def _without_singles(
    mixes: Sequence[Candidate], plans: Sequence[Candidate], verdict: Verdict, max_memory: int | None
) -> tuple[Candidate, str]:
    check_memory((*verdict.rounds_ms, *verdict.failed), verdict, max_memory)
    best = fastest(mixes, verdict)
    if best is None:
        failed = next((plan for plan in plans if plan.name in verdict.failed), plans[0])
        stage, why = verdict.failed.get(failed.name, ("run", "nothing ran"))
        cause = verdict.causes.get(failed.name, Cause.ENGINE)
        raise failure_error(failed.partitions[0], Failure(stage=stage, reason=why, cause=cause))
    if any(stage == MEMORY_STAGE for stage, _ in verdict.failed.values()):
        return best, "no engine alone gets by with so little memory"
    return best, "no engine alone can run the whole model"


def stage_fault(problem: Problem, measurer: Measurer, singles: Sequence[Candidate], plan: Candidate) -> str | None:
    """The first stage of the model that a plan rounds wrongly; ``None`` also for a single engine, which was checked."""
    settings = plan.settings
    if plan in singles or not settings.verified or settings.max_error is not None or not has_stages(problem.graph):
        return None
    alike = replace(settings, embed=False, parallel=False, pipeline=None, instances=1)
    return measurer.stages(plan.partitions, alike).fault
