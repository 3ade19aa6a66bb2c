"""The final decision: which of the plans that the search found ships."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from intarsia.cost.measure import Measurer
from intarsia.cost.timing.verdict import Verdict
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.progress import Watcher
from intarsia.errors import MismatchError
from intarsia.graph.reference.rounding import rounds
from intarsia.planning.problem import Candidate, Problem
from intarsia.search.decision.builder import Builder
from intarsia.search.decision.choice import (
    Choice,
    check_last,
    check_memory,
    choose,
    fastest,
    stage_fault,
)
from intarsia.search.decision.conclusion import Conclusion
from intarsia.search.decision.contenders import side_by_side
from intarsia.search.decision.decision import NO_BENCHMARK, Decision, Judge
from intarsia.search.decision.final_benchmark import FinalBenchmark, decides
from intarsia.search.decision.latency_limit import WithinLimit, likely_within, unknown, within_limit
from intarsia.search.decision.uncompared import decide_uncompared
from intarsia.search.precision.reduced_precision import NO_REDUCED_PRECISION, ReducedPrecisionPlans
from intarsia.search.precision.validation_set import Accuracy
from intarsia.target.cores import memory_bytes


def decide(
    problem: Problem,
    measurer: Measurer,
    singles: Sequence[Candidate],
    mixes: Sequence[Candidate],
    wanted: Candidate | None,
    deadline: Deadline,
    watch: Watcher,
    reduced: ReducedPrecisionPlans = NO_REDUCED_PRECISION,
    judge: Judge = lambda _: None,
    also_shown: Sequence[Candidate] = (),
) -> Decision:
    """Build the finalists, compare them in a paired benchmark, and choose.

    A mix ships only if the interval of its speed-up lies above 1 and beyond that of the A/A control; else the best
    single engine does, as it is simpler. Verdicts in the store are used again, except that a void one is run again.

    Args:
        measurer: Whose store keeps the paired benchmark, and whose folder holds the saved graph.
        mixes: Mixed plans, fastest first.
        wanted: The plan that ships in any case, because the user asked for it or there is no other.
        deadline: When the decision should have been made; a close one takes longer.
        judge: Returns the error of the plan that won, where one is allowed; with too large a one it does not ship.
        also_shown: Plans that are benchmarked beside the others, and do not ship.

    Raises:
        CompileError, LoadError, ExecutionError, MismatchError: The plan that has to ship failed.
        MemoryLimitError: It needs more memory than it may, or every plan does.
        LatencyLimitError: Under load it takes longer to answer than it may, or every plan does.
    """
    builder = Builder(measurer, watch)
    settings = problem.settings
    limit = problem.settings.max_memory
    keep = wanted.name if wanted else None
    final = FinalBenchmark(problem, measurer, builder, keep, deadline, watch, also_shown)
    mixed = [wanted] if wanted else mixes

    def compared(*, again: bool) -> WithinLimit:
        def compare_all(*several: Sequence[Candidate]) -> Verdict:
            before: list[Sequence[Candidate]] = []

            def compare(field: Sequence[Candidate]) -> Verdict:
                before.append(field if before else final.fitting(field))
                return final.run(before[-1], again=again)

            alone, mixes, less = several
            return side_by_side(alone, mixes, compare, less)

        return within_limit(singles, mixed, reduced.candidates, settings.max_latency_ms, compare_all)

    found = compared(again=False)
    is_claimed = bool(mixed or reduced.candidates)
    if is_claimed and found.verdict.is_replayed and not decides(found.verdict) and not deadline.is_over():
        anew = compared(again=True)
        found = found if anew.verdict is NO_BENCHMARK else anew
    verdict = found.verdict
    if verdict is NO_BENCHMARK:
        alone = likely_within(singles, settings.max_latency_ms)
        decision = decide_uncompared(problem, measurer, builder, alone, wanted, reduced, judge)
        return decision if settings.max_latency_ms is None else replace(decision, reason=unknown(decision.reason))
    found.check([wanted] if wanted else [*singles, *mixes, *reduced.candidates], settings.max_latency_ms)
    singles = found.kept(singles)
    best_single = fastest(singles, verdict)
    if wanted is not None:
        check_memory([wanted.name], verdict, limit)
        choice, accuracy = _asked_for(problem, measurer, singles, wanted, judge)
    else:
        alternatives = found.kept([*reduced.candidates, *mixes])
        usable = memory_bytes()
        settle = partial(choose, alternatives, best_single, verdict, limit, singles=singles, usable_bytes=usable)
        choice, accuracy = _settled(problem, measurer, singles, reduced, settle, judge)
    chosen = choice.plan
    artifact = builder.checked(chosen)
    error, allowed = verdict.errors.get(chosen.name), verdict.allowed.get(chosen.name)
    if artifact is None or chosen.name not in verdict.rounds_ms:
        artifact, opened = builder.opened(chosen)
        check_last(chosen.name, opened.memory.peak, limit)
        error, allowed = opened.error, opened.allowed
    return Decision(
        chosen=chosen,
        artifact=artifact,
        best_single=best_single,
        verdict=verdict,
        error=error,
        allowed=allowed,
        reason=found.reason(choice.reason, settings.max_latency_ms, has_single=best_single is not None),
        conclusion=choice.conclusion,
        accuracy=accuracy,
        reduced=reduced,
    )


def _asked_for(
    problem: Problem, measurer: Measurer, singles: Sequence[Candidate], wanted: Candidate, judge: Judge
) -> tuple[Choice, Accuracy | None]:
    """The plan that ships whatever the paired benchmark says, if it answers rightly."""
    if (fault := stage_fault(problem, measurer, singles, wanted)) is not None:
        raise MismatchError(f"{wanted.label} answers wrongly: {fault}")
    accuracy = judge(wanted)
    if accuracy is not None and not accuracy.holds:
        raise MismatchError(accuracy.miss(wanted.label))
    reason = "the only plan that covers the model" if not singles else "the plan that was asked for"
    return Choice(plan=wanted, conclusion=Conclusion.GIVEN, reason=reason), accuracy


def _settled(
    problem: Problem,
    measurer: Measurer,
    singles: Sequence[Candidate],
    reduced: ReducedPrecisionPlans,
    choose_without: Callable[[Mapping[str, str]], Choice],
    judge: Judge,
) -> tuple[Choice, Accuracy | None]:
    """The plan that ships: the fastest that answers rightly and exactly enough."""
    barred: dict[str, str] = {}
    while True:
        choice = choose_without(barred)
        plan = choice.plan
        if (fault := stage_fault(problem, measurer, singles, plan)) is not None:
            barred[plan.name] = f"the best mix answers wrongly: {fault}"
            continue
        accuracy = judge(plan)
        if accuracy is None or (accuracy.has_room if plan in reduced.candidates else accuracy.holds):
            return choice, accuracy
        if plan in reduced.candidates:
            barred[plan.name] = accuracy.miss(plan.label)
            continue
        if not rounds(problem.graph):
            raise MismatchError(accuracy.miss(plan.label))
        # Engines differ by so much on their own: it answers as rightly as the one that it is compared with.
        error = max(accuracy.worst.values())
        differs = f"it differs by {error:.2g} from another right engine, as this model rounds inside"
        return replace(choice, reason=f"{choice.reason}; on validation inputs {differs}"), accuracy
