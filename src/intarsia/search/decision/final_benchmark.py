"""The paired benchmark that decides between finished artifacts, read from the store where it was run before."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from intarsia.backends import registry
from intarsia.backends.contract.failures import Cause
from intarsia.cost.keys import judging_facts, run_facts
from intarsia.cost.measure import Measurer
from intarsia.cost.records.outcomes import value_of
from intarsia.cost.records.recall import Entry, computed, recalled
from intarsia.cost.records.record import Failure, Key
from intarsia.cost.thresholds import PAIRED
from intarsia.cost.timing.paired_benchmark import BenchmarkEffort, Contender, paired_benchmark
from intarsia.cost.timing.verdict import FAR, Verdict
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.progress import Watcher
from intarsia.graph.fingerprint import fingerprint_of
from intarsia.planning.problem import Candidate, Problem
from intarsia.runtime import plan_of
from intarsia.runtime.artifact.trust import OWN
from intarsia.search.decision.builder import Builder, plan_facts
from intarsia.search.decision.contenders import tuned_ms
from intarsia.search.decision.decision import NO_BENCHMARK
from intarsia.search.thresholds import DECISION, SHARES

PAIRED_BENCHMARK = 7
"""Part of every key: raised when a paired benchmark is run or judged in another way."""


@dataclass(frozen=True, slots=True)
class FinalBenchmark:
    """Compares plans side by side, the first of each field being the one to beat.

    Attributes:
        measurer: Whose store keeps the verdicts, and whose folder holds the saved graph.
        keep: Name of a plan that stays to the end, however slow it is.
        deadline: When it should be over; a benchmark that is close takes longer.
        also_shown: Plans that are timed beside those of each field, in one set of processes, and never chosen.
        is_brief: Whether one set of processes does, as nothing is decided.
    """

    problem: Problem
    measurer: Measurer
    builder: Builder
    keep: str | None
    deadline: Deadline
    watch: Watcher
    also_shown: Sequence[Candidate] = ()
    is_brief: bool = False

    def fitting(self, field: Sequence[Candidate]) -> Sequence[Candidate]:
        """As many of the field as there is time for, the first in any case.

        Plans that are only shown do not count: `run` leaves them out where time is short.

        The least promising are left out first: other settings of the best engine, then other engines alone, then mixes,
        the slowest first.
        """
        time = self.measurer.time
        if time.is_endless:
            return field

        def rank(plan: Candidate) -> tuple[bool, bool, bool, float]:
            is_alone = _is_single(plan)
            return plan.name != self.keep, is_alone and plan.label == field[0].label, is_alone, tuned_ms(plan)

        ranked = sorted(field[1:], key=rank)
        chosen = [*field[:1], *ranked]
        while len(chosen) > 1:
            fitting = [each for each in field if each in chosen]
            if self.measurer.store.get(self._entry(fitting, 0).key, "paired_benchmark") is not None:
                return fitting
            sets = 1 if _has_far(fitting) else PAIRED.settled_sets
            if time.may_benchmark({**_question(fitting), "sets": sets}, self._seconds(fitting, sets)):
                return fitting
            if len(chosen) == DECISION.fewest:
                break
            chosen.pop()
        return [each for each in field if each in chosen]

    def run(self, field: Sequence[Candidate], *, again: bool = False) -> Verdict:
        """The verdict on a field, from the store if there is one; with ``again`` a void one is not enough.

        Plans that are only shown are left out where there is no time for them as well.
        """
        if not field:
            return NO_BENCHMARK
        entry, stored = self._stored(field)
        if stored is not None and (decides(stored) or not again):
            self.measurer.cached += 1
            return stored
        question = _question([*field, *self.also_shown], again=stored is not None)
        # Its rounds end with the time, so that there is time for the fewest does.
        needed_s = self._seconds([*field, *self.also_shown], 1, rounds_s=0.0)
        if not self.measurer.time.may_benchmark(question, needed_s):
            return replace(self, also_shown=()).run(field, again=again) if self.also_shown else NO_BENCHMARK
        with self.measurer.machine():
            compared = partial(self._compared, field)
            found = computed(self.measurer, entry, compared, is_kept=lambda each: not each.has_transient_failure)
        if found is None:
            return NO_BENCHMARK
        for candidate in field:
            if candidate.name in found.failed:
                stage, reason = found.failed[candidate.name]
                failure = Failure(stage=stage, reason=reason, cause=found.causes[candidate.name])
                self.measurer.noted(candidate.partitions, failure)
        return found

    def _compared(self, field: Sequence[Candidate]) -> Verdict | None:
        """Build the artifacts and compare them; ``None`` where the time ended before anything was found."""
        contenders: list[Contender] = []
        failed: dict[str, tuple[str, str]] = {}
        causes: dict[str, Cause] = {}
        compile_s: dict[str, float] = {}
        for candidate in (*field, *self.also_shown):
            built = self.builder.build(candidate)
            if isinstance(built, Failure):
                failed[candidate.name] = (built.stage, built.reason)
                causes[candidate.name] = built.cause
            else:
                plan = plan_of(self.problem.graph, candidate.partitions, candidate.settings)
                count = candidate.settings.instances if self._is_under_load else None
                contenders.append(
                    Contender(name=candidate.name, path=built.path, plan=plan, trust=OWN, instances=count)
                )
                compile_s[candidate.name] = built.compile_s
        self.measurer.measured += 1
        time, seed = self.measurer.time, self.problem.settings.seed
        end = self.deadline if time.is_endless else self.deadline.part(time.left_to_benchmark)
        found = paired_benchmark(
            self.measurer.folder,
            contenders,
            self._effort(field),
            seed,
            self.watch,
            self.keep,
            end,
            [plan.name for plan in self.also_shown],
        )
        if not found.rounds_ms and not failed and not found.failed:
            return None
        return replace(found, failed={**failed, **found.failed}, causes={**causes, **found.causes}, compile_s=compile_s)

    def _stored(self, field: Sequence[Candidate]) -> tuple[Entry[Verdict], Verdict | None]:
        """The first verdict in the store that decides, else the last one; and where the next one is kept."""
        attempt, found = 0, None
        while (kept := recalled(self.measurer, self._entry(field, attempt))) is not None:
            found = kept
            if decides(found):
                break
            attempt += 1
        return self._entry(field, attempt), found

    def _entry(self, field: Sequence[Candidate], attempt: int) -> Entry[Verdict]:
        graph, effort, plans = self.problem.graph, self._effort(field), (*field, *self.also_shown)
        facts: dict[str, Any] = {
            "paired_benchmark": [PAIRED_BENCHMARK, effort.processes, effort.rounds, effort.seconds],
            **({"attempt": attempt} if attempt else {}),
            **({"objective": self.problem.settings.objective} if self._is_under_load else {}),
            **({} if effort.max_memory is None else {"max_memory": effort.max_memory}),
            "keep": self.keep,
            "graph": fingerprint_of(graph),
            "plans": [plan_facts(graph, candidate) for candidate in field],
            **({"also_shown": [plan_facts(graph, plan) for plan in self.also_shown]} if self.also_shown else {}),
            **judging_facts(graph),
            **run_facts((part.target for plan in plans for part in plan.partitions), field[0].settings),
        }

        def read(stored: Mapping[str, Any]) -> Verdict:
            verdict: Verdict = value_of("paired_benchmark", stored)
            if not _is_of(verdict, plans):
                raise ValueError("it is of other plans")
            return replace(verdict, is_replayed=True)

        return Entry(kind="paired_benchmark", key=Key(facts=facts), read=read)

    @property
    def _is_under_load(self) -> bool:
        return self.problem.settings.is_for_throughput

    def _effort(self, field: Sequence[Candidate]) -> BenchmarkEffort:
        """Sets enough to show that a mix is faster; fewer where engines alone are compared, of which the fastest ships.

        One does where that is the engine that was the fastest before, too. A comparison shows each engine beside the
        others, so it takes them all. A small budget has fewer in any case.
        """
        settings = self.problem.settings
        effort = BenchmarkEffort(seconds=SHARES.benchmark_set * settings.budget_s, max_memory=settings.max_memory)
        if self.is_brief or len(field) == 1:
            return replace(effort, processes=1, repeats=0)
        is_claimed = settings.footprints or self.keep is not None or not all(map(_is_single, field))
        if is_claimed and settings.budget_s >= DECISION.full_budget_s:
            return effort
        settled = PAIRED.settled_sets if is_claimed else 1
        return replace(effort, processes=PAIRED.settled_sets, settled=settled, repeats=0, is_claimed=is_claimed)

    def _seconds(self, field: Sequence[Candidate], sets: int, rounds_s: float | None = None) -> float:
        """Seconds that so many sets take, with the artifacts that are written for them.

        ``rounds_s`` are those for the rounds of a set, where they are to be fewer than there are mostly.
        """
        several = [*field, field[0]]
        engines = [{registry.engine_of(part.target) for part in each.partitions} for each in several]
        calls_ms = [each.settings.instances * tuned_ms(each) for each in several]
        own = self.measurer.time.set_s(engines, calls_ms, self._effort(field).seconds if rounds_s is None else rounds_s)
        return self.measurer.time.writing_s(len(field)) + sets * own


def _has_far(field: Sequence[Candidate]) -> bool:
    """Whether a plan in fewer bits is so much faster than the rest that one set of processes shows it."""
    reduced = min((tuned_ms(each) for each in field if each.precisions), default=math.inf)
    exact = min((tuned_ms(each) for each in field if not each.precisions), default=math.inf)
    return reduced * FAR < exact


def decides(verdict: Verdict) -> bool:
    """Whether it need not be run again: a noisy machine may be calm the next time, a short budget stays short."""
    return not verdict.is_void or not verdict.rounds_ms or verdict.control_holds


def _is_single(plan: Candidate) -> bool:
    """Whether it is one engine alone, in fp32: it need not be shown to be faster to ship."""
    return len(plan.partitions) == 1 and not plan.precisions


def _is_of(verdict: Verdict, field: Sequence[Candidate]) -> bool:
    """Whether a verdict from a record is of these plans, whoever wrote it."""
    parts = {candidate.name: len(candidate.partitions) for candidate in field}
    if verdict.instances.keys() - parts.keys():
        return False
    if not verdict.benchmarked | verdict.failed.keys() | verdict.footprints.keys() <= parts.keys():
        return False
    return all(len(ms) == parts.get(name, len(ms)) for name, ms in verdict.profile_ms.items() if ms)


def _question(field: Sequence[Candidate], *, again: bool = False) -> Mapping[str, object]:
    return {"benchmark": [each.name for each in field], **({"again": True} if again else {})}
