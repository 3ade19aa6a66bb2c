"""Engines at their default settings: how fast they are beside the chosen plan, in which precision, with which error.

Some engines compute in less than fp32, or less exactly, where nobody sets an option. Intarsia compiles them in fp32, so
whoever knows such an engine as it comes has to see both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter

from intarsia.backends import registry
from intarsia.config.settings import RunSettings, Spin
from intarsia.cost.keys import run_facts
from intarsia.cost.measure import Measurer
from intarsia.cost.records.recall import Entry, computed, recalled
from intarsia.cost.records.record import Failure, Key
from intarsia.cost.timing.statistics import Interval
from intarsia.cost.timing.verdict import Shown, Verdict
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.progress import Progress, Watcher
from intarsia.graph.fingerprint import content_hash
from intarsia.planning.problem import Candidate, Problem
from intarsia.runtime.artifact.machine import this_machine
from intarsia.search.decision.builder import Builder, plan_facts
from intarsia.search.decision.decision import Decision
from intarsia.search.decision.final_benchmark import FinalBenchmark
from intarsia.search.precision.validation_set import Accuracy, Samples, Validation
from intarsia.search.single.single_engine import Single
from intarsia.search.thresholds import DECISION, PRECISION
from intarsia.target import Target
from intarsia.target.reduced_precision import reduced_type

DEFAULT_SETTINGS = 2
"""Part of every key: raised when what is recorded changes."""
NO_TIME = "there was no time to measure it"


@dataclass(frozen=True, slots=True, kw_only=True)
class AtDefaults:
    """An engine at its default settings, where these are not exact in fp32.

    Attributes:
        engine: The target in the engine set.
        target: The target with the options that the engine has by default.
        type: The element type in which it computes by default, if that is less than fp32.
        gain: How many times as fast as the chosen plan it was; ``None`` if it was not benchmarked.
        shown: What the benchmark shows of it against the chosen plan.
        error: ‖y-r‖₂ / ‖r‖₂ against the plan in fp32, of the worst output over ``inputs`` inputs; ``None`` if unknown.
        reason: Why a figure is missing; empty if none is.
    """

    engine: str
    target: str
    type: str | None
    gain: Interval | None = None
    shown: Shown = Shown.NOTHING
    error: float | None = None
    inputs: int = 0
    reason: str = ""


def defaults_beside(
    problem: Problem, singles: Sequence[Single], reduced: Sequence[Candidate] = ()
) -> tuple[Candidate, ...]:
    """The engines at their default settings that can be benchmarked beside the plans of the decision.

    Those that compute in less than fp32 and are none of the plans in ``reduced`` precision; none where time or memory
    is short, or where plans differ in the instances that are at work.
    """
    settings = problem.settings
    is_short = settings.budget_s < DECISION.full_budget_s or settings.max_memory is not None
    if is_short or settings.is_for_throughput or settings.partition != "collage":
        return ()
    known = [part.target for plan in reduced for part in plan.partitions]
    several = (target for _, target in _due(problem, singles, known) if reduced_type(target) is not None)
    return tuple(_candidate(problem, target, problem.run()) for target in several)


def measure_defaults(
    problem: Problem,
    measurer: Measurer,
    singles: Sequence[Single],
    decision: Decision,
    deadline: Deadline,
    watch: Watcher,
) -> tuple[AtDefaults, ...]:
    """Measure each engine whose default settings are less exact than those that the search may choose.

    An engine whose defaults answered rightly was one of the contenders, and is left out, as is one in whose reduced
    precision the chosen plan computes. Unless engines are compared, only those count that compute in less than fp32.
    Those that were benchmarked beside the plans of the decision are not benchmarked again.
    """
    if decision.is_interrupted or problem.settings.partition != "collage":
        return ()
    due = _due(problem, singles, [part.target for part in decision.chosen.partitions])
    plans = {
        str(engine): _candidate(problem, target, decision.chosen.settings)
        for engine, target in due
        if problem.settings.footprints or reduced_type(target) is not None
    }
    if not plans:
        return ()
    watch(Progress(stage="default settings", note=", ".join(plan.label for plan in plans.values())))
    verdict = decision.verdict
    known = verdict.benchmarked | verdict.failed.keys()
    if decision.chosen.name not in verdict.benchmarked or not {plan.name for plan in plans.values()} <= known:
        builder = Builder(measurer, watch, prefix="default")
        final = FinalBenchmark(problem, measurer, builder, None, deadline, watch, is_brief=True)
        verdict = final.run([decision.chosen, *plans.values()])
    samples = Samples(problem.graph, measurer.folder, problem.settings.seed)
    return tuple(_judged(problem, measurer, samples, decision, verdict, each, plan) for each, plan in plans.items())


def _due(problem: Problem, singles: Sequence[Single], known: Collection[Target]) -> Iterator[tuple[Target, Target]]:
    """Each engine's target, with what it is by default, where that is none of the contenders, and not ``known``."""
    isa = frozenset(this_machine().isa)
    for single in singles:
        if problem.refused(single.target):
            continue
        target = registry.of(single.target).at_defaults(single.target, isa)
        exact = {part.target for candidate in single.candidates for part in candidate.partitions}
        if target not in {single.target, *exact, *known}:
            yield single.target, target


def _candidate(problem: Problem, target: Target, chosen: RunSettings) -> Candidate:
    """The whole model on it, on the threads and instances that ship; compared with the reference, and never refused."""
    spin = Spin.FREE if registry.of(target).traits.spins else Spin.CALL
    partitions = problem.whole(target)
    return Candidate(
        name=f"{target}, default settings",
        label=str(target),
        partitions=partitions,
        settings=replace(problem.run(spin), threads=chosen.threads, instances=chosen.instances, verified=False),
        predicted_ms=(None,) * len(partitions),
    )


def _judged(
    problem: Problem,
    measurer: Measurer,
    samples: Samples,
    decision: Decision,
    verdict: Verdict,
    engine: str,
    plan: Candidate,
) -> AtDefaults:
    """What the benchmark and the validation inputs say of one engine."""
    row = AtDefaults(engine=engine, target=plan.label, type=reduced_type(plan.partitions[0].target), reason=NO_TIME)
    if plan.name in verdict.failed:
        stage, reason = verdict.failed[plan.name]
        return replace(row, reason=f"it failed at {stage}: {reason}")
    if plan.name not in verdict.benchmarked:
        return row
    chosen = decision.chosen.name
    shown = verdict.compared(plan.name, chosen, far_counts=True)
    row = replace(row, gain=verdict.speedup(plan.name, chosen), shown=shown, reason="")
    accuracy = _accuracy(problem, measurer, samples, decision, plan)
    if accuracy is None:
        return replace(row, reason="there was no time to find its error")
    if isinstance(accuracy, Failure):
        return replace(row, reason=f"its error is unknown: {accuracy.reason}")
    return replace(row, error=max(accuracy.worst.values(), default=0.0), inputs=accuracy.inputs)


def _accuracy(
    problem: Problem, measurer: Measurer, samples: Samples, decision: Decision, plan: Candidate
) -> Accuracy | Failure | None:
    """The error of a plan against the chosen one, or against the best engine alone where that is not in fp32.

    ``None`` if there is no time for it.
    """
    exact = decision.best_single if decision.chosen.precisions and decision.best_single else decision.chosen
    # Where engines are compared, the error is that by which `--max-error` would judge them.
    is_compared = problem.settings.footprints
    counts = (*([PRECISION.validation] if is_compared else []), PRECISION.validation_least)
    facts: Mapping[str, Any] = {
        "default_settings": [DEFAULT_SETTINGS, counts[0]],
        "graph": content_hash(problem.graph),
        "seed": problem.settings.seed,
        "plans": [plan_facts(problem.graph, each) for each in (plan, exact)],
        **run_facts(
            (leaf.target for each in (plan, exact) for part in each.partitions for leaf in part.leaves), plan.settings
        ),
    }
    read = TypeAdapter(Accuracy).validate_python
    entry: Entry[Accuracy] = Entry(kind="accuracy", key=Key(facts=facts), read=read)
    if (known := recalled(measurer, entry)) is not None:
        return known
    engines = [{registry.engine_of(part.target) for part in each.partitions} for each in (plan, exact)]
    loading_s = measurer.time.process_s + sum(map(measurer.time.whole_s, engines))
    input_s = 2 * ((exact.total_ms or 0.0) + PRECISION.input_ms) / 1e3
    asked = (({"error of": plan.name, "inputs": count}, loading_s + count * input_s, count) for count in counts)
    count = next((count for question, seconds, count in asked if measurer.time.may_benchmark(question, seconds)), 0)
    if not count:
        return None
    found = Validation(measurer, samples, exact).measured(plan, 0.0, count)
    if isinstance(found, Failure):
        return found
    return computed(measurer, entry, lambda: found, is_kept=lambda each: each.inputs == counts[0])
