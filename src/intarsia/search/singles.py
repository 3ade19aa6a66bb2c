"""Every engine alone, each tuned alike: its options that matter, times its spin policies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from intarsia.backends import registry
from intarsia.config.settings import RunSettings, Spin
from intarsia.cost.deadline import NO_END, Deadline
from intarsia.cost.measure import Measurer
from intarsia.cost.progress import Progress, Watcher
from intarsia.cost.record import Failure, Outcome
from intarsia.cost.sampling import Effort
from intarsia.cost.stage_check import StageCheck
from intarsia.graph.stages import has_stages
from intarsia.search.first_look import FirstLook
from intarsia.search.problem import Candidate, Problem
from intarsia.search.sharing import shared_out, total_work
from intarsia.target import Target

if TYPE_CHECKING:
    from intarsia.partition import Partition

EFFORT = Effort(seconds=0.4, min_runs=5, max_runs=60)
HOPELESS = 3.0
"""A first look that is this many times slower than the best so far ends the measurement: it cannot win."""
TOLERATED = 2.0
"""Where no engine could be shown to be right: those ship whose error is within so many times the smallest."""
OUT_OF_REACH = 1.5
"""Options that are this many times slower than others of their engine are not tried with its other spin policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Single:
    """The whole model on one engine.

    Attributes:
        target: The target as the user gave it.
        outcome: What the best of its settings costs, or why none works.
        candidates: A plan for each of its settings that works, the fastest first.
        stages: Whether each rounding stage of the model rounds rightly on it; ``None`` where there is none to check.
    """

    target: Target
    outcome: Outcome
    candidates: tuple[Candidate, ...] = ()
    stages: StageCheck | None = None

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


def tune_unverified(
    problem: Problem, measurer: Measurer, singles: Sequence[Single], watch: Watcher
) -> tuple[Single, ...]:
    """The same engines, where those that only failed because they answer wrongly are measured all the same.

    Of these, those stay as failures whose error is more than twice the smallest.
    """
    found = []
    for single in singles:
        if not answers_wrongly(single):
            found.append(single)
            continue
        watch(Progress(stage="engines", note=f"{single.target}, unverified"))
        found.append(_tune(problem, measurer, single.target, math.inf, verified=False))
    errors = [single.outcome.error for single in found if not isinstance(single.outcome, Failure)]
    known = [error for error in errors if error is not None]
    most = TOLERATED * min(known, default=math.inf)
    return tuple(
        before if not isinstance(now.outcome, Failure) and (now.outcome.error or 0.0) > most else now
        for before, now in zip(singles, found, strict=True)
    )


def answers_wrongly(single: Single) -> bool:
    """Whether an engine runs the whole model, and was refused for what it answers alone."""
    return isinstance(single.outcome, Failure) and single.outcome.stage == "verify"


def _tune(problem: Problem, measurer: Measurer, target: Target, hopeless_ms: float, *, verified: bool = True) -> Single:
    refused = problem.refused(target)
    if refused:
        node, reason = next(iter(refused.items()))
        more = f" (and {len(refused) - 1} more nodes)" if len(refused) > 1 else ""
        return Single(target=target, outcome=Failure(stage="capability", reason=f"{node}: {reason}{more}"))
    found: list[tuple[Outcome, Candidate]] = []
    behind: set[Target] = set()
    for variant, stated in _settings(problem, target):
        if variant in behind:
            continue
        effort = replace(EFFORT, hopeless_ms=hopeless_ms if hopeless_ms < math.inf else None)
        pieces = problem.whole(variant)
        settings = stated if verified else replace(stated, verified=False)
        outcome = _cost(measurer, pieces, settings, effort)
        if problem.settings.max_error is not None and isinstance(outcome, Failure) and outcome.stage == "verify":
            # What the user allows at the outputs may be more than what rounding explains inside.
            settings = replace(settings, max_error=problem.settings.max_error)
            outcome = _cost(measurer, pieces, settings, effort)
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
    working = [(outcome, candidate) for outcome, candidate in found if not isinstance(outcome, Failure)]
    single = Single(target=target, outcome=found[0][0], candidates=tuple(candidate for _, candidate in working))
    return _with_right_stages(problem, measurer, single, working) if working and verified else single


def _cost(measurer: Measurer, pieces: tuple[Partition, ...], settings: RunSettings, effort: Effort) -> Outcome:
    """The whole model is one piece but for a device plan that parts it."""
    if len(pieces) == 1:
        return measurer.cost(pieces[0], settings, effort=effort)
    return measurer.cost_of_plan(pieces, settings, effort)


def _with_right_stages(
    problem: Problem, measurer: Measurer, single: Single, working: Sequence[tuple[Outcome, Candidate]]
) -> Single:
    """An engine whose best settings round rightly at each stage of the model; those that do not are left out.

    What the user allows an error at the outputs, nobody holds to its stages.
    """
    if not has_stages(problem.graph):
        return single
    left, fault = list(working), None
    while left:
        outcome, best = left[0]
        if best.settings.max_error is not None:
            break
        found = measurer.stages(best.partitions, best.settings)
        if found.fault is None:
            candidates = tuple(candidate for _, candidate in left)
            return replace(single, outcome=outcome, candidates=candidates, stages=found)
        fault = fault or found
        left = [(cost, each) for cost, each in left if each.partitions != best.partitions]
    if left or fault is None:
        return single
    return Single(target=single.target, outcome=Failure(stage="verify", reason=str(fault.fault)), stages=fault)


def _settings(problem: Problem, target: Target) -> Iterator[tuple[Target, RunSettings]]:
    backend = registry.of(target)
    policies = (Spin.FREE, Spin.CALL) if backend.traits.spins else (Spin.CALL,)
    for variant in backend.variants(target):
        for spin in policies:
            yield variant, RunSettings(threads=problem.threads, spin=spin)
