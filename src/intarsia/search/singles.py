"""Every engine alone, each tuned alike: its options that matter, times its spin policies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from intarsia.backends import registry
from intarsia.config.settings import RunSettings, Spin
from intarsia.cost.deadline import NO_END, Deadline
from intarsia.cost.measure import Measurer
from intarsia.cost.progress import Progress, Watcher
from intarsia.cost.record import Failure, Outcome
from intarsia.cost.sampling import Effort
from intarsia.partition.capability import refusal_text
from intarsia.search.first_look import FirstLook
from intarsia.search.problem import Candidate, Problem
from intarsia.search.sharing import shared_out, total_work
from intarsia.target import Target

EFFORT = Effort(seconds=0.4, min_runs=5, max_runs=60)
HOPELESS = 3.0
"""A first look that is this many times slower than the best so far ends the measurement: it cannot win."""
OUT_OF_REACH = 1.5
"""Options that are this many times slower than others of their engine are not tried with its other spin policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Single:
    """The whole model on one engine.

    Attributes:
        target: The target as the user gave it.
        outcome: What the best of its settings costs, or why none works.
        candidates: A plan for each of its settings that works, the fastest first.
    """

    target: Target
    outcome: Outcome
    candidates: tuple[Candidate, ...] = ()

    @property
    def tuned(self) -> Target:
        """The target with the options it did best with."""
        return self.candidates[0].partitions[0].target if self.candidates else self.target


def tune_singles(
    problem: Problem, measurer: Measurer, watch: Watcher, deadline: Deadline = NO_END
) -> tuple[Single, ...]:
    """Measure each engine on the whole model; an engine that does not take all of it is a failure at ``capability``.

    Those that compile slowly come last, and what a first look speaks against is not measured; see `first_look`.
    """
    best_ms = math.inf
    look = FirstLook(problem=problem, measurer=measurer, deadline=deadline)
    singles: list[Single] = []
    count = len(problem.targets)
    for number, target in enumerate(sorted(problem.targets, key=look.wants)):
        known_ms = best_ms if best_ms < math.inf else None
        watch(Progress(stage="engines", done=number, total=count, best_ms=known_ms, note=str(target)))
        against = look.verdict(target, _best(singles)) if look.wants(target) else None
        if against is None:
            single = _tune(problem, measurer, target, HOPELESS * best_ms)
        else:
            single = Single(target=target, outcome=against)
        best_ms = min(best_ms, single.outcome.cost_ms)
        singles.append(single)
    watch(Progress(stage="engines", done=count, total=count, best_ms=best_ms if best_ms < math.inf else None))
    return tuple(singles)


def _best(singles: Iterable[Single]) -> Target | None:
    working = [single for single in singles if single.candidates]
    return min(working, key=lambda single: single.outcome.cost_ms).tuned if working else None


def _tune(problem: Problem, measurer: Measurer, target: Target, hopeless_ms: float) -> Single:
    refused = problem.refused(target)
    if refused:
        reason = refusal_text(refused, len(problem.graph.nodes))
        return Single(target=target, outcome=Failure(stage="capability", reason=reason))
    found: list[tuple[Outcome, Candidate]] = []
    behind: set[Target] = set()
    for variant, settings in _settings(problem, target):
        if variant in behind:
            continue
        effort = replace(EFFORT, hopeless_ms=hopeless_ms if hopeless_ms < math.inf else None)
        pieces = problem.whole(variant)
        # The whole model is one piece but for a device plan that parts it.
        only = pieces[0] if len(pieces) == 1 else None
        outcome = (
            measurer.cost(only, settings, effort=effort) if only else measurer.cost_of_plan(pieces, settings, effort)
        )
        hopeless_ms = min(hopeless_ms, HOPELESS * outcome.cost_ms)
        if outcome.cost_ms > OUT_OF_REACH * min((known.cost_ms for known, _ in found), default=math.inf):
            behind.add(variant)
        costs = shared_out(outcome.cost_ms, [total_work(problem.graph, piece.nodes) for piece in pieces])
        found.append(
            (
                outcome,
                Candidate(
                    name=f"{variant}, spin {settings.spin.value}",
                    label=str(target),
                    partitions=pieces,
                    settings=settings,
                    predicted_ms=costs,
                ),
            )
        )
    found.sort(key=lambda pair: pair[0].cost_ms)
    working = tuple(candidate for outcome, candidate in found if not isinstance(outcome, Failure))
    return Single(target=target, outcome=found[0][0], candidates=working)


def _settings(problem: Problem, target: Target) -> Iterator[tuple[Target, RunSettings]]:
    backend = registry.of(target)
    policies = (Spin.FREE, Spin.CALL) if backend.traits.spins else (Spin.CALL,)
    for variant in backend.variants(target):
        for spin in policies:
            yield variant, RunSettings(threads=problem.threads, spin=spin)
