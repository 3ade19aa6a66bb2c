"""The whole search: every engine alone, the mixes, and what ships; an interruption is a deadline that ends now."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from intarsia.backends import registry
from intarsia.cost.measure import Measurer
from intarsia.cost.records.recall import computed, recalled
from intarsia.cost.records.record import Failure
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.progress import Progress, Watcher, unwatched
from intarsia.errors import MismatchError
from intarsia.planning.bodies import RUNS_BODIES
from intarsia.planning.problem import Candidate, Problem
from intarsia.planning.request import Compilation
from intarsia.search.collage.collage import CollageResult, CollageSearch
from intarsia.search.collage.run_modes import given_candidate
from intarsia.search.collage.search_cache import search_entry
from intarsia.search.decision.contenders import finalists
from intarsia.search.decision.decide import decide
from intarsia.search.decision.decision import Decision
from intarsia.search.decision.uncompared import decide_early
from intarsia.search.default_settings import defaults_beside
from intarsia.search.kernels.kernel_choice import with_chosen_kernels
from intarsia.search.precision.accuracy_budget import AccuracyBudget
from intarsia.search.precision.early_lead import leads_in_less
from intarsia.search.precision.reduced_precision import NO_REDUCED_PRECISION
from intarsia.search.single.pruning import left_out
from intarsia.search.single.single_engine import Single, tune_singles, tune_unverified
from intarsia.search.streams import stream_of
from intarsia.search.thresholds import DECISION, SHARES
from intarsia.search.under_load import Loads

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What came of it.

    Attributes:
        singles: Every engine alone, with the plans that took part in the decision.
        tuned: The same as the search for mixes knew them: under load other plans take part.
        collage: What the search for mixes came to; ``None`` if there was none.
    """

    singles: Sequence[Single]
    tuned: Sequence[Single]
    collage: CollageResult | None
    decision: Decision


def search(job: Compilation, measurer: Measurer, deadline: Deadline, progress: Watcher) -> Found:
    """Measure and decide. Interrupted, the best engine so far ships.

    Raises:
        KeyboardInterrupt: Interrupted before any plan was known to be right, or again, or where a plan was asked for.
        BackendError: The plan that was asked for failed, or no engine can run the model.
        MismatchError: The plan that was asked for answers wrongly; or nothing could be shown to be right, and the
            settings are strict.
        MemoryLimitError: Every plan needs more memory than it may.
    """
    try:
        try:
            return _searched(job, measurer, deadline, progress)
        except MismatchError as error:
            if job.problem.settings.insists:
                raise
            log.info("nothing is right: %s", error)
            return _unverified(job, measurer, error, deadline, progress)
    except KeyboardInterrupt:
        progress(Progress(stage="interrupted", note="writing the best so far; Ctrl-C again ends at once"))
        measurer.stop()
        is_asked_for = job.problem.settings.partition in ("greedy", "manual")
        singles = tune_singles(job.problem, measurer, unwatched)
        limit = job.problem.settings.max_memory
        decision = None if is_asked_for else decide_early(measurer, _plans(singles), limit, unwatched)
        if decision is None:
            raise
        return Found(singles=singles, tuned=singles, collage=None, decision=decision)


def _searched(job: Compilation, measurer: Measurer, deadline: Deadline, progress: Watcher) -> Found:
    if job.problem.settings.is_for_throughput:
        return _searched_under_load(job, measurer, deadline, progress)
    start_s = deadline.spent
    singles = tune_singles(job.problem, measurer, progress, deadline)
    settles_for_less = leads_in_less(job.problem, measurer, _plans(singles))
    if not settles_for_less:
        singles = with_chosen_kernels(job.problem, measurer, singles, progress)
    if job.problem.settings.footprints:
        measurer.time.last_s = _footprints_s(measurer, singles, deadline)
    engines_s = deadline.spent - start_s
    collage = None if settles_for_less else _collage(job, measurer, singles, deadline, progress, engines_s)
    plans = _filled(measurer, _plans(singles))
    mixes = _filled(measurer, [*_near(job.problem, collage, singles), *_divided_inside(singles)])
    wanted = _wanted(job, measurer, has_plans=bool(plans or mixes))
    stream = stream_of(job, measurer, finalists(plans, mixes), wanted, deadline, progress)
    accuracy_budget = AccuracyBudget(job.problem, measurer, plans, mixes, progress)
    wanted, judge = stream.candidate, accuracy_budget.judge
    reduced = accuracy_budget.plans() if wanted is None else NO_REDUCED_PRECISION
    also_shown = defaults_beside(job.problem, singles, reduced.candidates)
    decision = decide(job.problem, measurer, plans, mixes, wanted, deadline, progress, reduced, judge, also_shown)
    reasons = (decision.reason, stream.reason, reduced.reason)
    (chosen,) = _filled(measurer, [decision.chosen])
    decision = replace(decision, chosen=chosen, reason="; ".join(filter(None, reasons)))
    return Found(singles=singles, tuned=singles, collage=collage, decision=decision)


def _searched_under_load(job: Compilation, measurer: Measurer, deadline: Deadline, progress: Watcher) -> Found:
    loads = Loads(job, measurer, progress)
    start_s = deadline.spent

    def tuned(problem: Problem, insists: bool) -> tuple[Single, ...]:
        singles = tune_singles(problem, measurer, progress, deadline, insists=insists)
        return with_chosen_kernels(problem, measurer, singles, progress)

    engines = loads.engines(tuned)
    if job.problem.settings.footprints:
        measurer.time.last_s = _footprints_s(measurer, engines.singles, deadline)
    narrow = engines.narrowed(job)
    found = _collage(narrow, measurer, engines.tuned, deadline, progress, deadline.spent - start_s)
    exact = [mix.candidate for mix in found.mixes] if found else []
    accuracy_budget = AccuracyBudget(narrow.problem, measurer, _plans(engines.tuned), exact, progress)
    plans, collage = _plans(engines.singles), loads.mixes(found)
    mixes = [mix.candidate for mix in collage.mixes] if collage else []
    stated = _stated(job, has_plans=bool(plans or mixes))
    wanted = (
        None
        if stated is None
        else loads.given(lambda ways: given_candidate(stated, job.given, ways, measurer), job.ways)
    )
    reduced = loads.reduced(accuracy_budget.plans()) if wanted is None else NO_REDUCED_PRECISION
    decision = decide(job.problem, measurer, plans, mixes, wanted, deadline, progress, reduced, accuracy_budget.judge)
    reasons = (decision.reason, reduced.reason)
    decision = replace(decision, reason="; ".join(filter(None, reasons)))
    return Found(singles=engines.singles, tuned=engines.tuned, collage=collage, decision=decision)


def _unverified(
    job: Compilation, measurer: Measurer, why: MismatchError, deadline: Deadline, progress: Watcher
) -> Found:
    """The best of the engines that run the model, though none could be shown to answer rightly."""
    before = tune_singles(job.problem, measurer, unwatched)

    def tune(problem: Problem, insists: bool) -> tuple[Single, ...]:
        known = tune_singles(problem, measurer, unwatched, insists=insists)
        return tune_unverified(problem, measurer, known, progress)

    loads = Loads(job, measurer, progress) if job.problem.settings.is_for_throughput else None
    singles = tune(job.problem, True) if loads is None else loads.engines(tune).singles
    plans = [replace(plan, settings=replace(plan.settings, verified=False)) for plan in _plans(singles)]
    ways = [replace(way, verified=False) for way in job.ways]
    wanted = None if plans else given_candidate("greedy", job.given, ways, measurer)
    stream = stream_of(job, measurer, finalists(plans, []), wanted, deadline, progress)
    decision = decide(job.problem, measurer, plans, [], stream.candidate, deadline, progress)
    reasons = {str(each.target): each.outcome.reason for each in before if isinstance(each.outcome, Failure)}
    unshown = "no engine could be shown to answer rightly, so the best one ships unverified"
    reason = f"{unshown}: {reasons.get(decision.chosen.label, why)}; --strict refuses it"
    return Found(singles=singles, tuned=singles, collage=None, decision=replace(decision, reason=reason))


def _collage(
    job: Compilation,
    measurer: Measurer,
    singles: Sequence[Single],
    deadline: Deadline,
    progress: Watcher,
    engines_s: float,
) -> CollageResult | None:
    """The search for mixes, unless the store knows what it came to; measuring the engines took ``engines_s``."""
    if job.problem.settings.partition != "collage" or len(job.problem.targets) < 2 or len(job.problem.segments) < 2:
        return None
    out = left_out(job.problem, singles)
    contenders = [single for single in singles if single.target not in out]
    if len(contenders) < 2:
        return None
    tuned = {single.tuned: job.problem.capabilities[single.target] for single in contenders}
    wholes = {single.tuned: single.outcome for single in contenders}
    entry = search_entry(job.problem, tuple(tuned), job.run)
    known = recalled(measurer, entry)
    search_s = _search_s(job.problem, measurer, deadline, engines_s)
    if known is not None or _is_too_large(job.problem, measurer, singles, search_s):
        return known

    def searched() -> CollageResult:
        measurer.time.kept_s = _benchmark_s(measurer, singles)
        mixes = CollageSearch(job.problem, measurer, tuned, wholes, progress)
        result = mixes.run(deadline.part(search_s))
        measurer.time.kept_s = 0.0
        return result

    return computed(measurer, entry, searched, is_kept=lambda _: measurer.may_conclude)


def _near(problem: Problem, collage: CollageResult | None, singles: Sequence[Single]) -> list[Candidate]:
    """The mixes that were not much slower as wholes than the best engine."""
    if collage is None:
        return []
    best_ms = min((single.outcome.cost_ms for single in singles), default=math.inf)
    most_ms = DECISION.mixes_behind * best_ms if problem.settings.prune else math.inf
    return [mix.candidate for mix in collage.mixes if mix.measured_ms <= most_ms]


def _footprints_s(measurer: Measurer, singles: Sequence[Single], deadline: Deadline) -> float:
    """Seconds for loading each engine once more, but no more than its share."""
    engines = [registry.engine_of(single.target) for single in singles if single.candidates]
    needed = sum(measurer.time.process_s + measurer.time.whole_s([engine]) for engine in engines)
    return min(needed, SHARES.footprints_most * deadline.seconds)


def _benchmark_s(measurer: Measurer, singles: Sequence[Single]) -> float:
    """Seconds that a benchmark between the best engine and a mix needs."""
    best = min(singles, key=lambda single: single.outcome.cost_ms)
    engine = registry.engine_of(best.target)
    ms = min(best.outcome.cost_ms, DECISION.kept_ms)
    several = DECISION.kept_contenders
    return DECISION.kept_sets * measurer.time.set_s([{engine}] * several, [ms] * several)


def _search_s(problem: Problem, measurer: Measurer, deadline: Deadline, engines_s: float) -> float:
    """Seconds for the search of mixes: its share, but no more than is left beside the decision.

    It takes no longer than the engines alone took, as a user waits: where a mix wins, the first ones that are built do.
    Where an error is allowed, it is short, as fewer bits gain more than mixes do.
    """
    own = max(SHARES.mixes_end * deadline.seconds - deadline.spent, SHARES.mixes_least * deadline.seconds)
    if measurer.time.is_endless:
        return own
    if problem.settings.prune:
        by_engines_s = SHARES.mixes_of_engines * engines_s if problem.settings.max_error is None else 0.0
        minutes = max(1.0, problem.settings.budget_s / 60)
        own = min(own, minutes * max(by_engines_s, SHARES.mixes_fewest_s))
    return min(own, SHARES.mixes_latest * deadline.seconds - deadline.spent, measurer.time.left)


def _is_too_large(problem: Problem, measurer: Measurer, singles: Sequence[Single], search_s: float) -> bool:
    """Whether a model is so large that mixes would take the time in which fewer bits, which gain more, are tried."""
    if problem.settings.max_error is None or not problem.settings.prune or measurer.time.is_endless:
        return False
    best = min(singles, key=lambda single: single.outcome.cost_ms)
    wholes_s = SHARES.mixes_wholes * measurer.time.whole_s([registry.engine_of(best.target)])
    return not measurer.time.granted({"mixes": str(best.target)}, fits=wholes_s <= search_s)


def _wanted(job: Compilation, measurer: Measurer, *, has_plans: bool) -> Candidate | None:
    """The plan that ships without a search: the one asked for, or the only one there is."""
    stated = _stated(job, has_plans=has_plans)
    return None if stated is None else given_candidate(stated, job.given, job.ways, measurer)


def _stated(job: Compilation, *, has_plans: bool) -> str | None:
    """How the plan divides the model that ships without a search; ``None`` where one is searched for."""
    stated = job.problem.settings.partition
    if stated in ("greedy", "manual"):
        return stated
    return None if has_plans else "greedy"


def _filled(measurer: Measurer, plans: Sequence[Candidate]) -> list[Candidate]:
    """The plans with the inside of each partition on a nested configuration."""
    return [replace(plan, partitions=measurer.filled(plan.partitions, plan.settings)) for plan in plans]


def _plans(singles: Sequence[Single]) -> list[Candidate]:
    return [candidate for single in singles if single.target != RUNS_BODIES for candidate in single.candidates]


def _divided_inside(singles: Sequence[Single]) -> list[Candidate]:
    """Plans of one step that is control flow over several engines: mixes, whatever they look like from outside."""
    return [candidate for single in singles if single.target == RUNS_BODIES for candidate in single.candidates]
