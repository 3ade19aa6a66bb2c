"""Which plans take part in the paired benchmark that decides."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from intarsia.cost.timing.verdict import Verdict
from intarsia.planning.problem import Candidate
from intarsia.search.decision.choice import fastest
from intarsia.search.decision.decision import NO_BENCHMARK
from intarsia.search.thresholds import DECISION


def finalists(singles: Sequence[Candidate], mixes: Sequence[Candidate]) -> list[Candidate]:
    """The best engines alone, fastest first, then the best mixes.

    Of the best engine several settings take part, of each other only its best.
    """
    if not singles:
        return [*mixes[: DECISION.mixes]]
    best, *others = best_of_each(singles)
    alternatives = [each for each in others if tuned_ms(each) <= DECISION.engines_behind * tuned_ms(best)]
    alternatives = alternatives[: DECISION.other_engines]
    own = [s for s in singles if s.label == best.label and tuned_ms(s) <= DECISION.settings_behind * tuned_ms(best)]
    own = sorted(own, key=tuned_ms)[: DECISION.settings]
    return [*sorted([*own, *alternatives], key=tuned_ms), *mixes[: DECISION.mixes]]


def best_of_each(singles: Sequence[Candidate]) -> list[Candidate]:
    """Each engine with its best settings, the best engine first."""
    found: dict[str, Candidate] = {}
    for single in sorted(singles, key=tuned_ms):
        found.setdefault(single.label, single)
    return list(found.values())


def tuned_ms(single: Candidate) -> float:
    """What a plan took when it was tuned, a call by itself or a request under load; 0 where that is not known."""
    return single.between_ms or single.total_ms or 0.0


def side_by_side(
    singles: Sequence[Candidate],
    mixes: Sequence[Candidate],
    compare: Callable[[Sequence[Candidate]], Verdict],
    reduced: Sequence[Candidate] = (),
) -> Verdict:
    """Compare the finalists, and once more with each engine outside them whose figure is better than the best single's.

    Figures of tuning are of other moments, when the machine was faster or slower by what the finalists show; with that
    allowed for, no engine ships while another one's is lower. Where the finalists failed or were too big, the next
    engines take part. Each benchmark has at least one engine more, so this ends.
    """
    field = _with_reduced(finalists(singles, mixes), reduced)
    verdict = compare(field)
    known: set[str] = set()
    while verdict is not NO_BENCHMARK:
        known |= {each.label for each in field}
        best = fastest(singles, verdict)
        beat_ms = math.inf if best is None else verdict.expected_ms(best.name) / _slowdown(field, verdict)
        others = best_of_each([each for each in singles if each.label not in known])
        late = [each for each in others if tuned_ms(each) < beat_ms][: DECISION.other_engines]
        if not late:
            break
        again = [each for each in field if each.name in verdict.benchmarked]
        field = [*([best] if best else []), *late, *(each for each in again if each is not best)]
        before, verdict = verdict, compare(field)
        if verdict is NO_BENCHMARK:
            return before
        verdict = replace(
            verdict,
            failed={**before.failed, **verdict.failed},
            causes={**before.causes, **verdict.causes},
            footprints={**before.footprints, **verdict.footprints},
            compile_s={**before.compile_s, **verdict.compile_s},
        )
    return verdict


def _with_reduced(exact: Sequence[Candidate], reduced: Sequence[Candidate]) -> list[Candidate]:
    """Those in fp32 and those in fewer bits, without whoever will not be the fastest.

    The first one, which is to be beaten, stays. So does one in other precisions that is faster than it, as the fastest
    may turn out to be too inexact. Under load, where each plan runs in its own way, all stay.
    """
    if not exact or not reduced or any(plan.between_ms for plan in (*exact, *reduced)):
        return [*exact, *reduced]
    best_ms = min(map(tuned_ms, reduced))
    left = [plan for plan in exact[1:] if tuned_ms(plan) <= DECISION.engines_behind * best_ms]
    near: list[Candidate] = []
    for plan in sorted(reduced, key=tuned_ms):
        is_other = plan.precisions not in {each.precisions for each in near}
        gain = tuned_ms(exact[0]) / tuned_ms(plan) if tuned_ms(plan) else math.inf
        is_near = tuned_ms(plan) <= DECISION.reduced_behind * best_ms and gain > 1.0
        if not near or is_near or (is_other and gain >= DECISION.engines_behind):
            near.append(plan)
    return [*exact[:1], *left, *(plan for plan in reduced if plan in near)]


def _slowdown(field: Sequence[Candidate], verdict: Verdict) -> float:
    """How many times as long as when they were tuned all plans of a benchmark took at least; 1 where it had but one."""
    known = [plan for plan in field if plan.name in verdict.benchmarked and tuned_ms(plan)]
    return min(verdict.expected_ms(plan.name) / tuned_ms(plan) for plan in known) if len(known) > 1 else 1.0
