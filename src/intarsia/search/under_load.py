"""How many instances of a plan, each on how many threads, answer the most requests a second.

Each engine is tuned on the threads of each way to divide them, and measured with all its instances at work. The search
for mixes goes on with the threads of the best way, and its mixes are measured in every way. The paired benchmark, under
load too, decides what ships.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from intarsia.config.settings import RunSettings
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Failure
from intarsia.cost.worker.progress import Progress, Watcher
from intarsia.planning.problem import Candidate, Problem
from intarsia.planning.request import Compilation
from intarsia.search.collage.collage import CollageResult, Mix
from intarsia.search.decision.contenders import tuned_ms
from intarsia.search.precision.reduced_precision import ReducedPrecisionPlans
from intarsia.search.single.single_engine import Single
from intarsia.search.thresholds import LOAD

Tune = Callable[[Problem, bool], Sequence[Single]]
"""Measures every engine alone, with the threads of a problem; one of them in any case, where that is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How the threads are divided among instances."""

    instances: int
    threads: int

    def __str__(self) -> str:
        return f"{self.instances} x {self.threads}"


def ways(threads: int) -> tuple[Way, ...]:
    """Every way in which all threads are at work, the one with one instance first."""
    counts = (count for count in range(1, threads + 1) if threads % count == 0)
    return tuple(Way(instances=count, threads=threads // count) for count in counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Engines:
    """What came of the engines alone.

    Attributes:
        singles: Each engine, its candidates in every way in which they were measured, the most requests first.
        tuned: Each engine as it was tuned on the threads of the best way, by itself.
        best: That way.
    """

    singles: tuple[Single, ...]
    tuned: tuple[Single, ...]
    best: Way

    def narrowed(self, job: Compilation) -> Compilation:
        """The compilation with the threads of one instance, for what looks for mixes."""
        threads = self.best.threads
        problem, run = replace(job.problem, threads=threads), replace(job.run, threads=threads)
        return replace(job, problem=problem, run=run)


class Loads:
    """Measures plans under load, each way once; what cannot win any more is given up after its warm-up."""

    def __init__(self, job: Compilation, measurer: Measurer, watch: Watcher) -> None:
        self._problem = job.problem
        self._measurer = measurer
        self._watch = watch
        self._best_ms = math.inf
        stated = job.run.instances
        self.ways = ways(job.problem.threads) if stated == 1 else (Way(instances=stated, threads=job.run.threads),)

    def engines(self, tune: Tune) -> Engines:
        """Every engine alone, in every way."""
        tuned: dict[Way, tuple[Single, ...]] = {}
        for way in self.ways:
            has_plan = any(single.candidates for singles in tuned.values() for single in singles)
            tuned[way] = tuple(tune(replace(self._problem, threads=way.threads), not has_plan))
        due = [(way, each) for way, singles in tuned.items() for single in singles for each in _worth(single)]
        found: dict[str, list[tuple[Candidate, Way]]] = {}
        failed: dict[str, Failure] = {}
        for way, candidate in sorted(due, key=lambda pair: tuned_ms(pair[1]) / pair[0].instances):
            loaded = self._loaded(candidate, way)
            if isinstance(loaded, Failure):
                failed.setdefault(candidate.label, loaded)
            else:
                found.setdefault(candidate.label, []).append((loaded, way))
        known = [pair for several in found.values() for pair in several]
        best = min(known, key=lambda pair: tuned_ms(pair[0]))[1] if known else self.ways[0]
        ordered = [sorted(singles, key=lambda each: str(each.target)) for singles in tuned.values()]
        singles = tuple(_merged(several, found, failed) for several in zip(*ordered, strict=True))
        return Engines(singles=singles, tuned=tuned[best], best=best)

    def mixes(self, collage: CollageResult | None) -> CollageResult | None:
        """What was found, its most promising mixes in every way, the most requests first."""
        if collage is None:
            return None
        mixes = [
            Mix(candidate=each, measured_ms=each.settings.instances * tuned_ms(each))
            for mix in collage.mixes[: LOAD.mixes]
            for each in self.candidates([mix.candidate])
        ]
        return replace(collage, mixes=tuple(sorted(mixes, key=lambda mix: tuned_ms(mix.candidate))))

    def candidates(self, plans: Iterable[Candidate]) -> list[Candidate]:
        """The plans in every way in which they work, the most requests first."""
        several = (self._loaded(_on(plan, way), way) for plan in plans for way in self.ways)
        return sorted((each for each in several if not isinstance(each, Failure)), key=tuned_ms)

    def reduced(self, plans: ReducedPrecisionPlans) -> ReducedPrecisionPlans:
        """Plans in reduced precision, each in the way in which it answers the most requests."""
        found = [
            replace(each, candidate=best) for each in plans.found for best in self.candidates([each.candidate])[:1]
        ]
        kept = {each.candidate.label for each in found}
        failed = [each.candidate.label for each in plans.found if each.candidate.label not in kept]
        dropped = (*plans.dropped, *((label, "it does not run under load") for label in failed))
        return replace(plans, found=tuple(found), dropped=dropped)

    def given(self, make: Callable[[Sequence[RunSettings]], Candidate], stated: Sequence[RunSettings]) -> Candidate:
        """A plan that ships in any case, in the way in which it answers the most requests.

        Args:
            make: Returns the plan in the fastest of several settings.
            stated: The settings that are left open.
        """
        plans = [make([_divided(settings, way) for settings in stated]) for way in self.ways]
        loaded = [self._loaded(plan, way) for plan, way in zip(plans, self.ways, strict=True)]
        known = [each for each in loaded if not isinstance(each, Failure)]
        return min(known, key=tuned_ms, default=_named(plans[0], self.ways[0]))

    def _loaded(self, plan: Candidate, way: Way) -> Candidate | Failure:
        """The plan with what a request takes of it; of one instance that was timed by itself that is known."""
        named = _named(plan, way)
        if way.instances == 1 and len(plan.partitions) == 1 and plan.total_ms is not None:
            self._best_ms = min(self._best_ms, plan.total_ms)
            return replace(named, between_ms=plan.total_ms)
        hopeless = LOAD.hopeless * self._best_ms if self._best_ms < math.inf else None
        effort = replace(LOAD.effort, hopeless_ms=hopeless)
        outcome = self._measurer.cost_under_load(plan.partitions, named.settings, effort)
        if isinstance(outcome, Failure):
            return outcome
        self._best_ms = min(self._best_ms, outcome.cost_ms)
        self._watch(Progress(stage="load", best_ms=self._best_ms, note=named.name))
        return replace(named, between_ms=outcome.cost_ms)


def _named(plan: Candidate, way: Way) -> Candidate:
    return replace(plan, name=f"{plan.name}, {way}", settings=replace(plan.settings, instances=way.instances))


def _divided(settings: RunSettings, way: Way) -> RunSettings:
    return replace(settings, threads=way.threads, instances=1)


def _on(plan: Candidate, way: Way) -> Candidate:
    """The plan on the threads of one instance; what its parts take there is as it was predicted, where it was."""
    if plan.settings.threads == way.threads:
        return plan
    unknown: tuple[None, ...] = (None,) * len(plan.partitions)
    return replace(plan, settings=_divided(plan.settings, way), predicted_ms=unknown)


def _worth(single: Single) -> Sequence[Candidate]:
    """The settings of an engine that may be its best under load: those that come near its best by itself."""
    ranked = sorted(single.candidates, key=tuned_ms)
    near = [each for each in ranked if tuned_ms(each) <= LOAD.settings_behind * tuned_ms(ranked[0])]
    return near[: LOAD.settings]


def _merged(
    several: Sequence[Single], found: Mapping[str, Sequence[tuple[Candidate, Way]]], failed: Mapping[str, Failure]
) -> Single:
    """One engine of what it came to in each way."""
    name = str(several[0].target)
    loaded = sorted((candidate for candidate, _ in found.get(name, ())), key=tuned_ms)
    working = [single for single in several if single.candidates]
    if not working:
        return several[0]
    if not loaded:
        return Single(target=several[0].target, outcome=failed[name])
    of_best = next(each for each in working if each.candidates[0].settings.threads == loaded[0].settings.threads)
    return replace(of_best, candidates=tuple(loaded))
