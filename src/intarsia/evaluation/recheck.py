"""How fast is a finished artifact here, and does its mix still beat the best engine alone? A short contest tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from intarsia.backends import registry
from intarsia.backends.contract.failures import Cause
from intarsia.cost.records.record import Failure
from intarsia.cost.timing.statistics import Interval
from intarsia.cost.timing.verdict import Shown
from intarsia.cost.worker.progress import Watcher, unwatched
from intarsia.errors import BackendError, BackendUnavailableError, NoCoverError
from intarsia.evaluation.benchmark import benchmark
from intarsia.evaluation.instructions import is_emulated
from intarsia.runtime import Artifact
from intarsia.runtime.artifact.trust import code_of
from intarsia.search.decision.prediction import failure_error
from intarsia.target import Target

SECONDS = 6.0
"""For the rounds and the processes; with loading and building, a model of usual size is timed in ten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """What a call of a plan takes here, in milliseconds."""

    ms: Interval
    then_ms: float | None
    """What it took when it was compiled; ``None`` if it was not benchmarked."""
    single: str | None = None
    """For a plan of several parts, the engine that was the fastest one alone then; ``None`` if none was."""
    single_ms: Interval | None = None
    """What that takes here; ``None`` if it was not timed."""
    speedup: Interval | None = None
    """How many times as fast the plan is as that engine."""
    shown: Shown | None = None
    """What that shows of the plan against the engine alone; ``None`` if they were not benchmarked."""
    is_slower: bool = False
    """Whether the engine alone was shown to be faster than the plan."""
    untimed: str | None = None
    """Why the engine alone was not timed."""


def retime(artifact: Artifact, seed: int, watch: Watcher = unwatched) -> Timing | None:
    """Time a plan that answers rightly here against the engine that was the fastest one alone when it was compiled.

    A plan with open dimensions has no one time, and what runs in an emulator has none that means anything: ``None``.

    Raises:
        ArtifactError: It was built for another machine class; or that engine runs code that the caller did not allow.
        BackendError: The plan cannot be run.
    """
    report = artifact.report()
    if artifact.buckets or is_emulated(report):
        return None
    single = _best_single(report) if len(artifact.plan.steps) > 1 else ""
    untimed = None
    if single:
        artifact.check_code(*code_of(Target(single), "its report"))
    try:
        found = benchmark([artifact], [Target(single)] if single else [], SECONDS, seed, watch)
    except (BackendError, BackendUnavailableError, NoCoverError) as error:  # of the engine that is built for it
        if not single:
            raise
        untimed = str(error)
        found = benchmark([artifact], [], SECONDS, seed, watch)
    name, verdict = found.names[-1], found.verdict
    if name in verdict.failed:
        stage, reason = verdict.failed[name]
        failure = Failure(stage=stage, reason=reason, cause=verdict.causes.get(name, Cause.ENGINE))
        raise failure_error(artifact.plan.partitions[0], failure)
    is_known = report["latency_ms"] and report.get("objective") != "throughput"  # a call under load is another figure
    then_ms = report["latency_ms"]["median"] if is_known else None
    timing = Timing(ms=verdict.latency(name), then_ms=then_ms, single=single or None, untimed=untimed)
    if single in verdict.failed:
        return replace(timing, untimed=verdict.failed[single][1])
    if single not in verdict.benchmarked:
        return timing
    shown = verdict.compared(name, single)
    return replace(
        timing,
        single_ms=verdict.latency(single),
        speedup=verdict.speedup(name, single),
        shown=shown,
        is_slower=shown is Shown.SLOWER,
    )


def _best_single(report: Mapping[str, Any]) -> str:
    """The engine that was the fastest one alone, with its options; an empty text if none was.

    A nested configuration is none: what is inside of it was found by a search, and is not there again.
    """
    ran = [single for single in report["singles"] if single.get("latency_ms") is not None]
    ran = [single for single in ran if Target(str(single["tuned"])).kind.name != registry.NESTED]
    named = [single for single in ran if single["target"] == report.get("best_single")]
    best = min(
        named or ran, key=lambda single: (not single.get("benchmarked", True), single["latency_ms"]), default=None
    )
    return "" if best is None else str(best["tuned"])
