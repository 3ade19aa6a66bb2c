"""What ships after a duel: a mix that was shown to be faster and is not much bigger, else the best single engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from intarsia.config.settings import MIX_MEMORY
from intarsia.cost.duel import MEMORY_STAGE
from intarsia.cost.footprint import megabytes
from intarsia.cost.record import Failure
from intarsia.cost.statistics import Interval
from intarsia.cost.verdict import Verdict
from intarsia.errors import MemoryLimitError
from intarsia.search.predict import failure_error
from intarsia.search.problem import Candidate


def fastest(candidates: Sequence[Candidate], verdict: Verdict) -> Candidate | None:
    """The one that ran best of those that ran all rounds."""
    standing = [candidate for candidate in candidates if candidate.name in verdict.rounds_ms]
    return min(standing, key=lambda candidate: verdict.expected_ms(candidate.name), default=None)


def choose(
    mixes: Sequence[Candidate], best_single: Candidate | None, verdict: Verdict, max_memory: int | None = None
) -> tuple[Candidate, str]:
    """The plan that ships, and one sentence of reason.

    Args:
        mixes: Mixed plans.
        best_single: The best plan with one engine that fits, if any does.
        verdict: What the duel came to; what is over the limit failed there.
        max_memory: The limit, where the user stated one: a mix may then need all of it.

    Raises:
        MemoryLimitError: No plan gets by with the memory that it may have.
        CompileError, LoadError, ExecutionError, MismatchError: No plan ran.
    """
    standing = [mix for mix in mixes if mix.name in verdict.rounds_ms]
    if best_single is None:
        return _without_singles(mixes, verdict, max_memory)
    if not standing:
        return best_single, _no_mix(mixes, best_single, verdict)
    speedups = {mix.name: verdict.speedup(mix.name, best_single.name) for mix in standing}
    ranked = sorted(standing, key=lambda mix: -speedups[mix.name].median)
    shown = [mix for mix in ranked if verdict.is_faster(mix.name, best_single.name)]
    lean = [m for m in shown if max_memory is not None or _memory_ratio(m, best_single, verdict) <= MIX_MEMORY]
    best = (lean or shown or ranked)[0]
    told = _told(speedups[best.name])
    if lean:
        return best, f"{_kind(best)} is {told}"
    if shown:
        peaks = " against ".join(megabytes(verdict.footprints[plan.name].peak_bytes) for plan in (best, best_single))
        ratio = _memory_ratio(best, best_single, verdict)
        return best_single, (
            f"the best mix is {told}, but needs {ratio:.1f} times the memory ({peaks}); --max-memory would allow it"
        )
    if verdict.is_void:
        return best_single, "the machine was too noisy to show that a mix is faster"
    return best_single, f"the best mix is {told}: no gain beyond the noise"


def _kind(plan: Candidate) -> str:
    return f"with {' and '.join(plan.precisions)} it" if plan.precisions else "the mix"


def check_memory(names: Iterable[str], verdict: Verdict, max_memory: int | None) -> None:
    """Whether it was for their memory that none of these plans raced.

    Raises:
        MemoryLimitError: Naming the plan that needs least, and how much.
    """
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
    """Whether the plan that is to ship keeps the limit in the last process that checks it, too.

    Raises:
        MemoryLimitError: It does not, though it did while it raced.
    """
    if max_memory is not None and peak_bytes > max_memory:
        raise MemoryLimitError(
            f"{name} takes {megabytes(peak_bytes)} at its peak, now more and now less than {megabytes(max_memory)}; "
            "raise --max-memory, or lower it for another plan"
        )


def _without_singles(mixes: Sequence[Candidate], verdict: Verdict, max_memory: int | None) -> tuple[Candidate, str]:
    check_memory((*verdict.rounds_ms, *verdict.failed), verdict, max_memory)
    best = fastest(mixes, verdict)
    if best is None:
        stage, why = next(iter(verdict.failed.values()), ("run", "nothing ran"))
        raise failure_error(mixes[0].partitions[0], Failure(stage=stage, reason=why))
    if any(stage == MEMORY_STAGE for stage, _ in verdict.failed.values()):
        return best, "no engine alone gets by with so little memory"
    return best, "no engine alone can run the whole model"


def _no_mix(mixes: Sequence[Candidate], best_single: Candidate, verdict: Verdict) -> str:
    """Why none ran all rounds."""
    if not mixes:
        return "no mix of engines promised to be faster"
    beaten = [verdict.speedup(mix.name, best_single.name) for mix in mixes if mix.name in verdict.left_ms]
    if beaten:
        gain = max(beaten, key=lambda each: each.median)
        return f"the best mix is {_told(gain)}: clearly slower"
    if any(verdict.failed.get(mix.name, ("", ""))[0] == MEMORY_STAGE for mix in mixes):
        return "every mix needs more memory than it may, or failed"
    return "every mix failed"


def _told(gain: Interval) -> str:
    return f"{gain.median:.2f} times as fast ({gain.low:.2f} to {gain.high:.2f})"


def _memory_ratio(mix: Candidate, single: Candidate, verdict: Verdict) -> float:
    """How many times the peak memory of the single engine the mix needs."""
    return verdict.footprints[mix.name].peak_bytes / max(1, verdict.footprints[single.name].peak_bytes)
