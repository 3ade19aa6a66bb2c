"""Memory and cold start of the engines that were not benchmarked, so that a comparison shows them for all."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import partial

from intarsia.backends import registry
from intarsia.cost.keys import run_facts
from intarsia.cost.measure import Measurer
from intarsia.cost.records.recall import Entry, computed, recalled
from intarsia.cost.records.record import Failure, Key
from intarsia.cost.timing.footprint import Footprint
from intarsia.cost.worker.progress import Progress, Watcher
from intarsia.errors import BackendError, MismatchError
from intarsia.graph.fingerprint import fingerprint_of
from intarsia.planning.problem import Candidate, Problem
from intarsia.search.decision.builder import Builder, plan_facts
from intarsia.search.single.single_engine import Single

FOOTPRINTS = 1
"""Part of every key: raised when what is recorded changes."""


def measure_footprints(
    problem: Problem, measurer: Measurer, singles: Sequence[Single], known: Collection[str], watch: Watcher
) -> dict[str, Footprint]:
    """Load each engine once with its best settings, in a fresh process that has the machine to itself.

    By the name of the plan; nothing of one that fails at this, or that there is no time for.

    Args:
        singles: Every engine. Left out are those that failed, and those that were given up after the prefilter.
        known: Plans whose footprint is known; their engines are left out too.
    """
    measurer.time.last_s = 0.0
    builder = Builder(measurer, watch, prefix="footprint")
    found: dict[str, Footprint] = {}
    due = [single.candidates[0] for single in singles if _is_due(single, known)]
    for number, candidate in enumerate(due):
        watch(Progress(stage="footprint", done=number, total=len(due), note=candidate.label))
        entry: Entry[Footprint] = Entry(kind="footprint", key=_key(problem, candidate))
        weighed = recalled(measurer, entry)
        question = {"footprint": candidate.name}
        engines = {registry.engine_of(partition.target) for partition in candidate.partitions}
        expected_s = measurer.time.process_s + measurer.time.whole_s(engines)
        if weighed is None and measurer.time.may_benchmark(question, expected_s):
            with suppress(BackendError, MismatchError):
                weighed = computed(measurer, entry, partial(_weighed, builder, candidate), alone=True)
        if weighed is not None:
            found[candidate.name] = weighed
    return found


def held_against(chosen: Candidate, singles: Sequence[Single]) -> tuple[Single, ...]:
    """The engine alone whose memory is told beside that of a plan with kernels of our own, which need much of it.

    Of our engine alone it is the one that it is made of; of a mix, the fastest that is not ours.
    """
    hosts = {registry.of(partition.target).extends for partition in chosen.partitions} - {None}
    if not hosts:
        return ()
    if len({partition.target for partition in chosen.partitions}) == 1:
        return tuple(single for single in singles if registry.engine_of(single.target) in hosts)
    plain = [single for single in singles if single.candidates and registry.of(single.target).extends is None]
    return tuple(sorted(plain, key=lambda single: single.outcome.cost_ms)[:1])


def _is_due(single: Single, known: Collection[str]) -> bool:
    if isinstance(single.outcome, Failure) or not single.outcome.is_complete:
        return False
    return not any(candidate.name in known for candidate in single.candidates)


def _weighed(builder: Builder, candidate: Candidate) -> Footprint:
    builder.build(candidate)  # first, so that opening it has the machine to itself
    _, opened = builder.opened(candidate)
    return Footprint(cold_s=(opened.cold_s,), memory=(opened.memory,))


def _key(problem: Problem, candidate: Candidate) -> Key:
    return Key(
        facts={
            "footprint": FOOTPRINTS,
            "graph": fingerprint_of(problem.graph),
            "plan": plan_facts(problem.graph, candidate),
            **run_facts((partition.target for partition in candidate.partitions), candidate.settings),
        }
    )
