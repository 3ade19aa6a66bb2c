"""The decision where there was no time to compare anything side by side."""

from __future__ import annotations

from collections.abc import Sequence

from intarsia.backends import registry
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Measurement
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
            return _decision(problem, measurer, builder, singles, plan, wanted, reduced, judge)
        except (BackendError, MismatchError, MemoryLimitError):
            if number == len(plans):
                raise
    raise AssertionError("there is a plan")


def _decision(
    problem: Problem,
    measurer: Measurer,
    builder: Builder,
    singles: Sequence[Candidate],
    plan: Candidate,
    wanted: Candidate | None,
    reduced: ReducedPrecisionPlans,
    judge: Judge,
) -> Decision:
    limit, reason = problem.settings.max_memory, UNCOMPARED
    if (fault := stage_fault(problem, measurer, singles, plan)) is not None:
        raise MismatchError(f"{plan.label} answers wrongly: {fault}")
    known = _as_measured(measurer, plan) if limit is None else None
    if known is not None and not measurer.time.may_benchmark({"opened": plan.name}, _open_s(measurer, plan)):
        artifact, error, allowed = builder.written(plan), known.error, known.allowed
        reason += f", nor to open {plan.label} anew: its answers were checked where it was measured"
    else:
        artifact, opened = builder.opened(plan)
        check_last(plan.name, opened.memory.peak, limit)
        error, allowed = opened.error, opened.allowed
    return Decision(
        chosen=plan,
        artifact=artifact,
        best_single=None if wanted else plan,
        verdict=NO_BENCHMARK,
        error=error,
        allowed=allowed,
        reason=reason,
        conclusion=Conclusion.GIVEN if wanted else Conclusion.NO_TIME,
        accuracy=judge(plan),
        reduced=reduced,
    )


def _as_measured(measurer: Measurer, plan: Candidate) -> Measurement | None:
    """What is known of a plan of one part from measuring it, if its answers were checked."""
    if len(plan.partitions) > 1:
        return None
    known = measurer.cost(plan.partitions[0], plan.settings)
    return known if isinstance(known, Measurement) and known.error is not None else None


def _open_s(measurer: Measurer, plan: Candidate) -> float:
    """Seconds in which a fresh process opens a plan's artifact."""
    return measurer.time.process_s + measurer.time.open_s({registry.engine_of(part.target) for part in plan.partitions})
