"""The decision where there was no time to compare anything side by side, or somebody interrupted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from intarsia.backends import registry
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Measurement
from intarsia.cost.worker.progress import Watcher
from intarsia.cost.worker.protocol import Opened
from intarsia.errors import BackendError, MemoryLimitError, MismatchError
from intarsia.planning.problem import Candidate, Problem
from intarsia.search.decision.builder import Builder
from intarsia.search.decision.choice import check_last, stage_fault
from intarsia.search.decision.conclusion import Conclusion
from intarsia.search.decision.contenders import tuned_ms
from intarsia.search.decision.decision import NO_BENCHMARK, Decision, Judge
from intarsia.search.precision.reduced_precision import ReducedPrecisionPlans

UNCOMPARED = "not compared side by side: there was no time"


def decide_uncompared(
    problem: Problem,
    measurer: Measurer,
    builder: Builder,
    singles: Sequence[Candidate],
    wanted: Candidate | None,
    reduced: ReducedPrecisionPlans,
    judge: Judge,
) -> Decision:
    """The plan that was asked for, or the fastest engine alone, by what it took when it was measured.

    Raises:
        CompileError, LoadError, ExecutionError, MismatchError: No plan can be built, loaded and run, or is right.
        MemoryLimitError: Every plan needs more memory than it may.
    """
    plans = [wanted] if wanted else sorted(singles, key=tuned_ms)
    for number, plan in enumerate(plans, start=1):
        try:
            if (fault := stage_fault(problem, measurer, singles, plan)) is not None:
                raise MismatchError(f"{plan.label} answers wrongly: {fault}")
            artifact, known, reason = _checked(measurer, builder, plan, problem.settings.max_memory)
            accuracy = judge(plan)
        except (BackendError, MismatchError, MemoryLimitError):
            if number == len(plans):
                raise
            continue
        return Decision(
            chosen=plan,
            artifact=artifact,
            best_single=None if wanted else plan,
            verdict=NO_BENCHMARK,
            error=known.error,
            allowed=known.allowed,
            reason=reason,
            conclusion=Conclusion.GIVEN if wanted else Conclusion.NO_TIME,
            accuracy=accuracy,
            reduced=reduced,
        )
    raise AssertionError("there is a plan")


def decide_early(
    measurer: Measurer, singles: Sequence[Candidate], max_memory: int | None, watch: Watcher
) -> Decision | None:
    """The fastest engine alone that is right and small enough, as far as is known at an interruption."""
    builder = Builder(measurer, watch)
    for candidate in sorted(singles, key=tuned_ms):
        try:
            artifact, opened = builder.opened(candidate)
        except (BackendError, MismatchError):
            continue
        if max_memory is None or opened.memory.peak <= max_memory:
            return Decision(
                chosen=candidate,
                artifact=artifact,
                best_single=candidate,
                verdict=NO_BENCHMARK,
                error=opened.error,
                allowed=opened.allowed,
                reason="interrupted: the fastest engine alone of those measured until then",
                conclusion=Conclusion.INTERRUPTED,
                is_interrupted=True,
            )
    return None


def _checked(
    measurer: Measurer, builder: Builder, plan: Candidate, limit: int | None
) -> tuple[Path, Opened | Measurement, str]:
    """A plan's artifact, what is known of its answers, and the reason; opened anew where its memory matters."""
    known = _as_measured(measurer, plan) if limit is None else None
    if known is not None and not measurer.time.may_benchmark({"opened": plan.name}, _open_s(measurer, plan)):
        unopened = f"nor to open {plan.label} anew: its answers were checked where it was measured"
        return builder.written(plan), known, f"{UNCOMPARED}, {unopened}"
    artifact, opened = builder.opened(plan)
    check_last(plan.name, opened.memory.peak, limit)
    return artifact, opened, UNCOMPARED


def _as_measured(measurer: Measurer, plan: Candidate) -> Measurement | None:
    """What is known of a plan of one part from measuring it, if its answers were checked."""
    known = measurer.cost(plan.partitions[0], plan.settings) if len(plan.partitions) == 1 else None
    return known if isinstance(known, Measurement) and known.error is not None else None


def _open_s(measurer: Measurer, plan: Candidate) -> float:
    """Seconds in which a fresh process opens a plan's artifact."""
    return measurer.time.process_s + measurer.time.open_s({registry.engine_of(part.target) for part in plan.partitions})
