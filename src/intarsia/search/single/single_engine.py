"""Every engine alone: the options of each that matter, times its spin policies, if it may win at all."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from intarsia.backends import registry
from intarsia.backends.contract.failures import Cause
from intarsia.config.settings import RunSettings, Spin
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Failure, Outcome
from intarsia.cost.reference.stage_check import StageCheck
from intarsia.cost.timing.sampling import Effort
from intarsia.cost.worker.deadline import NO_END, Deadline
from intarsia.cost.worker.progress import Progress, Watcher
from intarsia.graph.reference.stages import has_stages
from intarsia.partitioning.capability import refusal_text
from intarsia.planning.problem import Candidate, Problem
from intarsia.search.collage.cost_attribution import shared_out, total_work
from intarsia.search.single.prefilter import Prefilter
from intarsia.search.thresholds import SHARES, SINGLE
from intarsia.target import Target

if TYPE_CHECKING:
    from intarsia.partitioning import Partition


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
        return _target_of(self.candidates[0]) if self.candidates else self.target


def tune_singles(
    problem: Problem, measurer: Measurer, watch: Watcher, deadline: Deadline = NO_END, *, insists: bool = True
) -> tuple[Single, ...]:
    """Measure each engine on the whole model; an engine that does not take all of it is a failure at ``capability``.

    First each with its first settings, so that where time is short all are known a little; then with the others, the
    fastest first, unless an engine is far behind. Those that compile slowly come last, and what the prefilter speaks
    against is not measured; see `Prefilter`. The first engine that works is measured even if there is no time for it,
    as something has to ship; unless nobody ``insists``, since there is a plan already.
    """
    look = Prefilter(problem=problem, measurer=measurer, deadline=deadline)
    order = sorted(problem.targets, key=look.wants)
    tunings = [_Tuning(problem, measurer, target) for target in order]
    count = len(tunings)
    against: dict[Target, Failure] = {}

    def tell(stage: str, done: int, total: int, note: str = "") -> None:
        best_ms = _best_ms(tunings)
        known_ms = best_ms if best_ms < math.inf else None
        watch(Progress(stage=stage, done=done, total=total, best_ms=known_ms, note=note))

    quick = [tuning for tuning in tunings if not look.wants(tuning.target)]
    for number, tuning in enumerate(quick):
        tell("engines", number, count, str(tuning.target))
        is_needed = insists and _best_ms(tunings) == math.inf
        tuning.measure(SINGLE.hopeless * _best_ms(tunings), SHARES.single_end, is_needed=is_needed)
        if is_needed and _best_ms(tunings) < math.inf and not math.isinf(deadline.seconds):
            measurer.time.announce(f"one engine needs {measurer.time.whole_s():.0f} s to compile and check this model")
    _tune_further(problem, quick, tell)
    for number, tuning in enumerate(tunings[len(quick) :], start=len(quick)):
        tell("engines", number, count, str(tuning.target))
        measured = (each for each in tunings[:number] if each.target not in against)
        found = look.verdict(tuning.target, _best(each.single() for each in measured))
        if found is not None:
            against[tuning.target] = found
            continue
        while tuning.left:
            tuning.measure(
                SINGLE.hopeless * _best_ms(tunings),
                SHARES.single_end,
                is_needed=insists and _best_ms(tunings) == math.inf,
            )
    tell("engines", count, count)
    return tuple(
        Single(target=tuning.target, outcome=against[tuning.target]) if tuning.target in against else tuning.checked()
        for tuning in tunings
    )


def _tune_further(problem: Problem, tunings: Sequence[_Tuning], tell: Callable[[str, int, int, str], None]) -> None:
    """Measure with the other settings of each engine: of one that is far behind only where engines are compared.

    Where an error is allowed, of the best one alone: what a smaller type gains is far more. An engine in reach of the
    best that has no others gets a second look.
    """
    tunes_all = _tunes_all(problem)
    behind = SINGLE.settings_behind if problem.settings.max_error is None else 1.0

    def is_worth_it(tuning: _Tuning) -> bool:
        is_near = tuning.best_ms <= behind * _best_ms(tunings) or math.isinf(tuning.best_ms)
        return bool(tuning.left) and (tunes_all or is_near)

    def is_in_reach(tuning: _Tuning) -> bool:
        return _best_ms(tunings) < tuning.best_ms <= SINGLE.looked_at_again * _best_ms(tunings)

    for tuning in tunings:
        if is_in_reach(tuning) and not is_worth_it(tuning):
            tell("engines", len(tunings), len(tunings), f"{tuning.target}, again")
            tuning.look_again(SHARES.settings_end)
    by_speed = sorted(filter(is_worth_it, tunings), key=lambda each: each.best_ms)
    total = sum(len(tuning.left) for tuning in by_speed)
    for tuning in by_speed:
        while is_worth_it(tuning):
            tell("settings", total - sum(len(each.left) for each in by_speed), total, str(tuning.target))
            tuning.measure(SINGLE.hopeless * _best_ms(tunings), SHARES.settings_end)


def _tunes_all(problem: Problem) -> bool:
    return problem.settings.footprints or not problem.settings.prune


def _best_ms(tunings: Iterable[_Tuning]) -> float:
    """What the fastest of the engines takes so far; infinite if none worked."""
    return min((tuning.best_ms for tuning in tunings), default=math.inf)


def first_settings(problem: Problem, measurer: Measurer) -> tuple[RunSettings, ...]:
    """Those with which engines will be measured first: processes with them can be started ahead. None for records."""
    takers = (target for target in problem.targets if not problem.refused(target))
    firsts = (next(iter(_settings(problem, target))) for target in takers)
    unknown = (settings for target, settings in firsts if not measurer.knows(problem.whole(target), settings))
    return tuple(dict.fromkeys(unknown))


def profiles(
    problem: Problem, measurer: Measurer, wholes: Mapping[Target, Outcome], settings: RunSettings
) -> Mapping[Target, Mapping[str, float]]:
    """Milliseconds of each node by id, for the targets that run the whole model and whose engine tells."""
    wholly = {target: problem.whole(target) for target, outcome in wholes.items() if not isinstance(outcome, Failure)}
    times = {each: measurer.node_times(parts[0], settings) for each, parts in wholly.items() if len(parts) == 1}
    return {target: known for target, known in times.items() if known}


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
        if not isinstance(single.outcome, Failure) or single.outcome.stage != "verify":
            found.append(single)
            continue
        watch(Progress(stage="engines", note=f"{single.target}, unverified"))
        tuning = _Tuning(problem, measurer, single.target, verified=False)
        while tuning.left:
            tuning.measure(math.inf, SHARES.settings_end, is_needed=tuning.best_ms == math.inf)
        found.append(tuning.single())
    errors = [single.outcome.error for single in found if not isinstance(single.outcome, Failure)]
    known = [error for error in errors if error is not None]
    most = SINGLE.wrong_error * min(known, default=math.inf)
    return tuple(
        before if not isinstance(now.outcome, Failure) and (now.outcome.error or 0.0) > most else now
        for before, now in zip(singles, found, strict=True)
    )


class _Tuning:
    """One engine: what was measured with which of its settings, and which are ``left``."""

    def __init__(self, problem: Problem, measurer: Measurer, target: Target, *, verified: bool = True) -> None:
        self.target = target
        self._verified = verified
        self._problem = problem
        self._measurer = measurer
        self._found: list[tuple[Outcome, Candidate]] = []
        self._behind: set[Target] = set()
        refused = problem.refused(target)
        self.left = [] if refused else list(_settings(problem, target))
        reason = refusal_text(refused, len(problem.graph.nodes)) if refused else ""
        self._refusal = Failure(stage="capability", reason=reason, cause=Cause.NOT_ASKED) if refused else None

    @property
    def best_ms(self) -> float:
        """What the best settings cost; infinite if none worked."""
        return min((outcome.cost_ms for outcome, _ in self._found), default=math.inf)

    def measure(self, hopeless_ms: float, until: float, *, is_needed: bool = False) -> None:
        """Measure with the next settings, if there are some."""
        if not self.left:
            return
        variant, stated = self.left.pop(0)
        settings = stated if self._verified else replace(stated, verified=False)
        most_ms = hopeless_ms if hopeless_ms < math.inf else None
        effort = replace(SINGLE.effort, until=until, is_needed=is_needed, hopeless_ms=most_ms)
        partitions = self._problem.whole(variant)
        outcome = _cost(self._measurer, partitions, settings, effort)
        allowed = self._problem.settings.max_error
        if allowed is not None and isinstance(outcome, Failure) and outcome.stage == "verify":
            # What the user allows at the outputs may be more than what rounding explains inside.
            settings = replace(settings, max_error=allowed)
            outcome = _cost(self._measurer, partitions, settings, effort)
        if outcome.cost_ms > SINGLE.options_behind * self.best_ms:
            self._behind.add(variant)
        self.left = [(target, spin) for target, spin in self.left if target not in self._behind]
        plan = Candidate(
            name=f"{variant}, spin {settings.spin.value}",
            label=str(self.target),
            partitions=partitions,
            settings=settings,
            predicted_ms=self._by_partition(outcome, partitions),
        )
        self._found.append((outcome, plan))
        self._settle_spin(variant)

    def _settle_spin(self, variant: Target) -> None:
        """Once one variant ran with every spin policy, the others run with its best alone.

        A comparison, which shows each engine at its best, tries them all.
        """
        spins = {plan.settings.spin: outcome.cost_ms for outcome, plan in self._found if _target_of(plan) == variant}
        best = min(spins, key=spins.__getitem__)
        if len(spins) > 1 and spins[best] < math.inf and not _tunes_all(self._problem):
            self.left = [(target, run) for target, run in self.left if target == variant or run.spin is best]

    def look_again(self, until: float) -> None:
        """Measure once more with the only settings that were measured; the faster figure counts."""
        ((outcome, plan),) = self._found
        again = _cost(self._measurer, plan.partitions, plan.settings, replace(SINGLE.effort, until=until, look=2))
        if again.cost_ms < outcome.cost_ms:
            self._found = [(again, replace(plan, predicted_ms=self._by_partition(again, plan.partitions)))]

    def _by_partition(self, outcome: Outcome, partitions: Sequence[Partition]) -> tuple[float, ...]:
        """Milliseconds of each partition: its share of the whole, by its work."""
        return shared_out(outcome.cost_ms, [total_work(self._problem.graph, each.nodes) for each in partitions])

    def single(self) -> Single:
        """What is known of the engine."""
        if self._refusal is not None:
            return Single(target=self.target, outcome=self._refusal)
        found, working = self._ranked()
        return Single(target=self.target, outcome=found[0][0], candidates=tuple(plan for _, plan in working))

    def checked(self) -> Single:
        """What is known of the engine, less the settings with which it rounds wrongly."""
        single = self.single()
        if not single.candidates or not self._verified:
            return single
        return _with_right_stages(self._problem, self._measurer, single, self._ranked()[1])

    def _ranked(self) -> tuple[list[tuple[Outcome, Candidate]], list[tuple[Outcome, Candidate]]]:
        """All that was measured, the fastest first, and of these what works."""
        found = sorted(self._found, key=lambda pair: pair[0].cost_ms)
        return found, [pair for pair in found if not isinstance(pair[0], Failure)]


def _target_of(plan: Candidate) -> Target:
    return plan.partitions[0].target


def _cost(measurer: Measurer, partitions: tuple[Partition, ...], settings: RunSettings, effort: Effort) -> Outcome:
    """The whole model is one partition but for a device plan that parts it."""
    if len(partitions) == 1:
        return measurer.cost(partitions[0], settings, effort=effort)
    return measurer.cost_of_plan(partitions, settings, effort)


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
    wrong = Failure(stage="verify", reason=str(fault.fault), cause=Cause.ENGINE)
    return Single(target=single.target, outcome=wrong, stages=fault)


def _settings(problem: Problem, target: Target) -> Iterator[tuple[Target, RunSettings]]:
    backend = registry.of(target)
    policies = (Spin.FREE, Spin.CALL) if backend.traits.spins else (Spin.CALL,)
    for variant in backend.variants(target):
        for spin in policies:
            yield variant, problem.run(spin)
