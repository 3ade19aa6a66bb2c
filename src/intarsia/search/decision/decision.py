"""The final decision: finished artifacts of the finalists and of every single engine that is close, in a paired
benchmark.

A mix ships only if the interval of its speed-up lies above 1 and beyond that of the control. Inside the noise the
single engine ships: it is simpler, and nothing was shown to be faster. Which single engine is best is decided side by
side too: figures of tuning are of other moments, so whoever has a better one than the winner of the paired benchmark is
let in, and there is another. Duels in the store are replayed; where the last one is void, it decided nothing, and is
fought again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from pydantic import TypeAdapter

from intarsia.backends import registry
from intarsia.cost.measure import Measurer, judging_facts, run_facts
from intarsia.cost.records.record import Failure, Key, Measurement
from intarsia.cost.records.store import Store
from intarsia.cost.thresholds import DURATIONS, PAIRED
from intarsia.cost.timing.paired_benchmark import BenchmarkEffort, Contender, paired_benchmark
from intarsia.cost.timing.statistics import Interval
from intarsia.cost.timing.verdict import Verdict
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.progress import Watcher
from intarsia.errors import BackendError, MemoryLimitError, MismatchError
from intarsia.graph import Graph
from intarsia.graph.fingerprint import fingerprint_of
from intarsia.graph.reference.rounding import rounds
from intarsia.graph.reference.stages import has_stages
from intarsia.planning.problem import Candidate, Problem
from intarsia.runtime import plan_of
from intarsia.runtime.artifact.trust import OWN
from intarsia.search.decision.builder import Builder, plan_facts
from intarsia.search.decision.choice import Choice, check_last, check_memory, choose, fastest
from intarsia.search.decision.conclusion import Conclusion
from intarsia.search.precision.reduced_precision import NO_REDUCED_PRECISION, ReducedPrecisionPlans
from intarsia.search.precision.validation_set import Accuracy
from intarsia.search.thresholds import DECISION, SHARES

PAIRED_BENCHMARK = 3
"""Part of every key: raised when a paired benchmark is fought or told in another way."""
_VERDICT = TypeAdapter(Verdict)
NO_BENCHMARK = Verdict(rounds_ms={}, set_sizes=(), profile_ms={}, errors={}, failed={}, is_void=False)
"""Where there was no time to compare anything side by side."""
UNRACED = "not compared side by side: there was no time"
Judge = Callable[[Candidate], Accuracy | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What ships, and what it was measured against.

    Attributes:
        chosen: The plan that ships.
        artifact: Its file, still in the work folder.
        best_single: The fastest plan with one engine; ``None`` if no engine can run the model alone.
        verdict: The paired benchmark's figures.
        error: Largest max|a-b| / max|b| of the shipped artifact's outputs against the reference; ``None`` without one.
        reason: One sentence, or one on mixes and one on reduced precision.
        conclusion: What that is said of.
        accuracy: Error of each output on inputs that decided nothing, where the user allowed one.
        rough: What was tried in less than fp32.
        allowed: What the output with that error was allowed.
        is_interrupted: Whether it was made early, of what was measured until then and without a paired benchmark.
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


def finalists(singles: Sequence[Candidate], mixes: Sequence[Candidate]) -> list[Candidate]:
    """The best engines alone, fastest first, then the best mixes.

    Of the best engine several settings take part, of each other only its best.
    """
    if not singles:
        return [*mixes[: DECISION.mixes]]
    best, *others = _best_of_each(singles)
    alternatives = [each for each in others if _tuned_ms(each) <= DECISION.engines_behind * _tuned_ms(best)]
    alternatives = alternatives[: DECISION.other_engines]
    own = [s for s in singles if s.label == best.label and _tuned_ms(s) <= DECISION.settings_behind * _tuned_ms(best)]
    own = sorted(own, key=_tuned_ms)[: DECISION.singles - len(alternatives)]
    return [*sorted([*own, *alternatives], key=_tuned_ms), *mixes[: DECISION.mixes]]


def _best_of_each(singles: Sequence[Candidate]) -> list[Candidate]:
    """Each engine with its best settings, the best engine first."""
    found: dict[str, Candidate] = {}
    for single in sorted(singles, key=_tuned_ms):
        found.setdefault(single.label, single)
    return list(found.values())


def _tuned_ms(single: Candidate) -> float:
    return single.total_ms or 0.0


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
) -> Decision:
    """Build the finalists, benchmark them, and choose.

    Args:
        problem: What is being planned. measurer: Whose store keeps the paired benchmark, and whose folder holds the
        saved graph. singles: Plans with one engine. mixes: Mixed plans, fastest first. wanted: The plan that ships
        whatever the paired benchmark says, because the user asked for it or there is no other. deadline: When it should
        have been made; one that is close takes longer. watch: Told of each step. rough: Plans in less than fp32. judge:
        Tells the error of the plan that won, where one is allowed; with too large a one it does not ship.

    Raises:
        CompileError, LoadError, ExecutionError, MismatchError: The plan that has to ship failed.
        MemoryLimitError: It needs more memory than it may, or every plan does.
    """
    builder = Builder(measurer, watch)
    limit = problem.settings.max_memory
    alternatives = [*reduced.candidates, *mixes]

    benchmarked: list[Sequence[Candidate]] = []

    def benchmark(field: Sequence[Candidate], *, again: bool = False) -> Verdict:
        keep = wanted.name if wanted else None
        several = field if benchmarked else _that_fit(problem, measurer, field, keep)
        benchmarked.append(several)
        return _verdict(problem, measurer, builder, several, keep, deadline, watch, again=again)

    mixed = [wanted] if wanted else mixes
    verdict = side_by_side(singles, mixed, benchmark, reduced.candidates)
    if verdict.is_replayed and not _decides(verdict) and not deadline.is_over():
        benchmarked.clear()
        anew = side_by_side(singles, mixed, partial(benchmark, again=True), reduced.candidates)
        verdict = verdict if anew is NO_BENCHMARK else anew
    if verdict is NO_BENCHMARK:
        return _unraced(problem, measurer, singles, wanted, watch, reduced, judge)
    best_single = fastest(singles, verdict)
    if wanted is not None:
        check_memory([wanted.name], verdict, limit)
        choice, accuracy = _asked_for(problem, measurer, singles, wanted, judge)
    else:
        settle = partial(choose, alternatives, best_single, verdict, limit, singles=singles)
        choice, accuracy = _settled(problem, measurer, singles, reduced, settle, judge)
    chosen = choice.plan
    artifact, error, allowed = (
        builder.checked(chosen),
        verdict.errors.get(chosen.name),
        verdict.allowed.get(chosen.name),
    )
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
        reason=choice.reason,
        conclusion=choice.conclusion,
        accuracy=accuracy,
        reduced=reduced,
    )


def _asked_for(
    problem: Problem, measurer: Measurer, singles: Sequence[Candidate], wanted: Candidate, judge: Judge
) -> tuple[Choice, Accuracy | None]:
    """The plan that ships whatever the benchmark says, if it answers rightly."""
    if (fault := _stage_fault(problem, measurer, singles, wanted)) is not None:
        raise MismatchError(f"{wanted.label} answers wrongly: {fault}")
    accuracy = judge(wanted)
    if accuracy is not None and not accuracy.holds:
        raise MismatchError(_too_inexact(wanted, accuracy))
    told = "the only plan that covers the model" if not singles else "the plan that was asked for"
    return Choice(plan=wanted, conclusion=Conclusion.GIVEN, reason=told), accuracy


def _settled(
    problem: Problem,
    measurer: Measurer,
    singles: Sequence[Candidate],
    reduced: ReducedPrecisionPlans,
    choose_without: Callable[[Mapping[str, str]], Choice],
    judge: Judge,
) -> tuple[Choice, Accuracy | None]:
    """The plan that ships: what wins the benchmark, less what turns out to answer wrongly or not exactly enough."""
    barred: dict[str, str] = {}
    while True:
        choice = choose_without(barred)
        plan = choice.plan
        if (fault := _stage_fault(problem, measurer, singles, plan)) is not None:
            barred[plan.name] = f"the best mix answers wrongly: {fault}"
            continue
        accuracy = judge(plan)
        if accuracy is None or accuracy.holds:
            return choice, accuracy
        if plan in reduced.candidates:
            barred[plan.name] = _too_inexact(plan, accuracy)
            continue
        if not rounds(problem.graph):
            raise MismatchError(_too_inexact(plan, accuracy))
        # Engines differ by so much on their own: it answers as rightly as the one that it is compared with.
        error = max(accuracy.worst.values())
        differs = (
            f"on validation inputs it differs by {error:.2g} from another right engine, as this model rounds inside"
        )
        return replace(choice, reason=f"{choice.reason}; {differs}"), accuracy


def _too_inexact(plan: Candidate, accuracy: Accuracy) -> str:
    error = max(accuracy.worst.values())
    return f"{plan.label} has an error of {error:.2g} on validation inputs; {accuracy.max_error:g} is allowed"


def _stage_fault(problem: Problem, measurer: Measurer, singles: Sequence[Candidate], plan: Candidate) -> str | None:
    """Which stage of the model a plan rounds wrongly at; that of engines alone is known already."""
    settings = plan.settings
    if plan in singles or not settings.verified or settings.max_error is not None or not has_stages(problem.graph):
        return None
    alike = replace(settings, embed=False, parallel=False, pipeline=None)
    return measurer.stages(plan.partitions, alike).fault


def side_by_side(
    singles: Sequence[Candidate],
    mixes: Sequence[Candidate],
    benchmark: Callable[[Sequence[Candidate]], Verdict],
    reduced: Sequence[Candidate] = (),
) -> Verdict:
    """Benchmark the finalists, then again with whoever else has a better figure than the best single engine.

    So no engine ships on a figure of its own moment while another one's is lower, and where the finalists failed or
    were too big, the next engines have their turn. Each benchmark has at least one engine more, so this ends.
    """
    field = [*finalists(singles, mixes), *reduced]
    verdict = benchmark(field)
    known: set[str] = set()
    while True:
        known |= {each.label for each in field}
        best = fastest(singles, verdict)
        beat_ms = math.inf if best is None else verdict.expected_ms(best.name)
        others = _best_of_each([each for each in singles if each.label not in known])
        late = [each for each in others if _tuned_ms(each) < beat_ms][: DECISION.other_engines]
        if not late:
            return verdict
        again = [each for each in field if each.name in verdict.benchmarked]
        field = [*([best] if best else []), *late, *(each for each in again if each is not best)]
        before, verdict = verdict, benchmark(field)
        if verdict is NO_BENCHMARK:
            return before
        verdict = replace(
            verdict,
            failed={**before.failed, **verdict.failed},
            causes={**before.causes, **verdict.causes},
            footprints={**before.footprints, **verdict.footprints},
            compile_s={**before.compile_s, **verdict.compile_s},
        )


def _verdict(
    problem: Problem,
    measurer: Measurer,
    builder: Builder,
    field: Sequence[Candidate],
    keep: str | None,
    deadline: Deadline,
    watch: Watcher,
    *,
    again: bool,
) -> Verdict:
    """The paired benchmark of the field, from the store if it was fought before; ``again`` if it was void.

    The first of the field is the one to beat.
    """
    effort = replace(_effort(problem.settings.budget_s), max_memory=problem.settings.max_memory)
    key, stored = _kept(measurer.store, field, partial(_paired_benchmark_key, problem.graph, field, keep, effort))
    if stored is not None and (_decides(stored) or not again):
        measurer.cached += 1
        return stored
    question = _question(field, again=stored is not None)
    if not field or not measurer.time.may_benchmark(question, _benchmark_s(problem, measurer, field, 1)):
        return NO_BENCHMARK
    with measurer.machine():
        contenders = []
        failed, causes = {}, {}
        compile_s = {}
        for candidate in field:
            built = builder.build(candidate)
            if isinstance(built, Failure):
                failed[candidate.name] = (built.stage, built.reason)
                causes[candidate.name] = built.cause
            else:
                plan = plan_of(problem.graph, candidate.partitions, candidate.settings)
                contenders.append(Contender(name=candidate.name, path=built.path, plan=plan, trust=OWN))
                compile_s[candidate.name] = built.compile_s
        measurer.measured += 1
        end = deadline if measurer.time.is_endless else deadline.part(measurer.time.left_to_benchmark)
        verdict = paired_benchmark(measurer.folder, contenders, effort, problem.settings.seed, watch, keep, end)
        if not verdict.rounds_ms and not failed and not verdict.failed:
            return NO_BENCHMARK
    causes |= verdict.causes
    verdict = replace(verdict, failed={**failed, **verdict.failed}, causes=causes, compile_s=compile_s)
    if not verdict.has_transient_failure:
        measurer.store.put("paired_benchmark", key, asdict(verdict), measurer.provenance)
    for candidate in field:
        if candidate.name in verdict.failed:
            stage, reason = verdict.failed[candidate.name]
            measurer.noted(candidate.partitions, Failure(stage=stage, reason=reason, cause=causes[candidate.name]))
    return verdict


def _kept(store: Store, field: Sequence[Candidate], key_of: Callable[[int], Key]) -> tuple[Key, Verdict | None]:
    """The first paired benchmark in the store that decides, else the last one; and the key of a next one."""
    attempt, found = 0, None
    while (stored := store.get(key_of(attempt), "paired_benchmark")) is not None:
        told = _VERDICT.validate_python(stored)
        if not _is_of(told, field):
            store.discard(key_of(attempt), "it is of other plans")
            break
        found = replace(told, is_replayed=True)
        if _decides(found):
            break
        attempt += 1
    return key_of(attempt), found


def _is_of(verdict: Verdict, field: Sequence[Candidate]) -> bool:
    """Whether a verdict from a record is of these plans, whoever wrote it."""
    parts = {candidate.name: len(candidate.partitions) for candidate in field}
    if not verdict.benchmarked | verdict.failed.keys() | verdict.footprints.keys() <= parts.keys():
        return False
    return all(len(ms) == parts.get(name, len(ms)) for name, ms in verdict.profile_ms.items() if ms)


def _decides(verdict: Verdict) -> bool:
    """Not if the machine was too noisy; but one that time cut short, or where nobody ran, would end alike again."""
    return not verdict.is_void or not verdict.rounds_ms or verdict.control_holds


def _that_fit(
    problem: Problem, measurer: Measurer, field: Sequence[Candidate], keep: str | None
) -> Sequence[Candidate]:
    """As many of the field as there is time for, the first in any case.

    Those go first that are the least promising: engines alone that are not the best one, then mixes, the slowest first.
    """
    if measurer.time.is_endless:
        return field
    effort = replace(_effort(problem.settings.budget_s), max_memory=problem.settings.max_memory)
    single = {each.name for each in field if len(each.partitions) == 1 and not each.precisions}
    ranked = sorted(field[1:], key=lambda each: (each.name != keep, each.name in single, _tuned_ms(each)))
    chosen = [*field[:1], *ranked]
    while len(chosen) > 1:
        fitting = [each for each in field if each in chosen]
        if (
            measurer.store.get(_paired_benchmark_key(problem.graph, fitting, keep, effort, 0), "paired_benchmark")
            is not None
        ):
            return fitting
        question = {**_question(fitting), "sets": PAIRED.settled_sets}
        if measurer.time.may_benchmark(question, _benchmark_s(problem, measurer, fitting, PAIRED.settled_sets)):
            return fitting
        if len(chosen) == DECISION.fewest:
            break
        chosen.pop()
    return [each for each in field if each in chosen]


def _question(field: Sequence[Candidate], *, again: bool = False) -> Mapping[str, object]:
    return {"benchmark": [each.name for each in field], **({"again": True} if again else {})}


def _benchmark_s(problem: Problem, measurer: Measurer, field: Sequence[Candidate], sets: int) -> float:
    """Seconds that so many sets of a benchmark take, with the artifacts that are written for it."""
    several = [*field, field[0]]
    engines = [{registry.engine_of(part.target) for part in each.partitions} for each in several]
    own = measurer.time.set_s(
        engines, [_tuned_ms(each) for each in several], _effort(problem.settings.budget_s).seconds
    )
    return DURATIONS.write_s * len(field) + sets * own


def _unraced(
    problem: Problem,
    measurer: Measurer,
    singles: Sequence[Candidate],
    wanted: Candidate | None,
    watch: Watcher,
    reduced: ReducedPrecisionPlans,
    judge: Judge,
) -> Decision:
    """What ships where there was no time to compare: the plan that was asked for, or the best engine as measured alone.

    Raises:
        CompileError, LoadError, ExecutionError, MismatchError: No plan can be built, loaded and run, or is right.
        MemoryLimitError: Every plan needs more memory than it may.
    """
    builder = Builder(measurer, watch)
    plans = [wanted] if wanted else sorted(singles, key=_tuned_ms)
    for number, plan in enumerate(plans, start=1):
        try:
            return _unraced_plan(problem, measurer, builder, singles, plan, wanted, reduced, judge)
        except (BackendError, MismatchError, MemoryLimitError):
            if number == len(plans):
                raise
    raise AssertionError("there is a plan")


def _unraced_plan(
    problem: Problem,
    measurer: Measurer,
    builder: Builder,
    singles: Sequence[Candidate],
    plan: Candidate,
    wanted: Candidate | None,
    reduced: ReducedPrecisionPlans,
    judge: Judge,
) -> Decision:
    limit, reason = problem.settings.max_memory, UNRACED
    if (fault := _stage_fault(problem, measurer, singles, plan)) is not None:
        raise MismatchError(f"{plan.label} answers wrongly: {fault}")
    known = _as_measured(measurer, plan) if limit is None else None
    if known is not None and not measurer.time.may_benchmark({"opened": plan.name}, _opportunity_s(measurer, plan)):
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


def _opportunity_s(measurer: Measurer, plan: Candidate) -> float:
    """Seconds in which a fresh process opens a plan's artifact."""
    return measurer.time.process_s + measurer.time.open_s({registry.engine_of(part.target) for part in plan.partitions})


def _effort(budget_s: float) -> BenchmarkEffort:
    seconds = SHARES.benchmark_set * budget_s
    return (
        BenchmarkEffort(seconds=seconds)
        if budget_s >= DECISION.full_budget_s
        else BenchmarkEffort(seconds=seconds, processes=2, repeats=0)
    )


def _paired_benchmark_key(
    graph: Graph, field: Sequence[Candidate], keep: str | None, effort: BenchmarkEffort, attempt: int
) -> Key:
    return Key(
        facts={
            "paired_benchmark": [PAIRED_BENCHMARK, effort.processes, effort.rounds, effort.seconds],
            **({"attempt": attempt} if attempt else {}),
            **({} if effort.max_memory is None else {"max_memory": effort.max_memory}),
            "keep": keep,
            "graph": fingerprint_of(graph),
            "plans": [plan_facts(graph, candidate) for candidate in field],
            **judging_facts(graph),
            **run_facts((partition.target for c in field for partition in c.partitions), field[0].settings),
        }
    )
