"""Who else could have run a part, and what that would have cost, from figures made by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.backends.contract.failures import Cause
from intarsia.config import RunSettings
from intarsia.cost.records.record import Failure
from intarsia.partitioning import Capability, Partition
from intarsia.planning.problem import Candidate
from intarsia.search.collage.collage import CollageResult
from intarsia.search.collage.edge_costs import Known
from intarsia.search.single.alternatives import AlternativeCosts, Alternatives
from intarsia.search.single.single_engine import Single
from intarsia.target import Target
from tests.unit.search.fakes import chain_problem, measured

ORT, MNN, NCNN, ODD = Target("onnxruntime"), Target("mnn"), Target("ncnn"), Target("openvino")
TUNED = Target("onnxruntime -optimization-level=all")
SHARES = MappingProxyType(
    {
        TUNED: (1.0, 1.0, 4.0, 4.0, 1.0, 1.0),
        MNN: (2.0, 2.0, 1.5, 1.5, 2.0, 2.0),
        NCNN: (3.0, 3.0, 3.0, math.inf, 3.0, 3.0),
    }
)
KNOWN = (
    Known(start=0, end=2, target=TUNED, after=None, ms=2.0),
    Known(start=2, end=4, target=MNN, after=None, ms=3.0),
    Known(start=2, end=4, target=MNN, after=TUNED, ms=3.5),
    Known(start=4, end=6, target=TUNED, after=None, ms=2.0),
    Known(start=4, end=6, target=TUNED, after=MNN, ms=2.25),
    Known(start=3, end=4, target=NCNN, after=None, ms=math.inf),
)
PROBLEM = replace(
    chain_problem(6, [ORT, MNN, NCNN, ODD]),
    capabilities={ORT: Capability(refusals={}), MNN: Capability(refusals={})}
    | {NCNN: Capability(refusals={"n5": "no n5"}), ODD: Capability(refusals={})},
)


def single(target: Target, tuned: Target, ms: float) -> Single:
    parts = (Partition(target=tuned, nodes=tuple(f"n{number}" for number in range(6))),)
    settings = RunSettings(threads=2)
    plan = Candidate(name=str(tuned), label=str(target), partitions=parts, settings=settings, predicted_ms=(ms,))
    return Single(target=target, outcome=measured(ms), candidates=(plan,))


SINGLES = (
    single(ORT, TUNED, 12.0),
    single(MNN, MNN, 11.0),
    Single(target=NCNN, outcome=Failure(stage="capability", reason="no n5 (n5)", cause=Cause.NOT_ASKED)),
    Single(target=ODD, outcome=Failure(stage="crash", reason="SIGSEGV", cause=Cause.ENGINE)),
)


def found(
    known: Sequence[Known] = KNOWN, shares: Mapping[Target, tuple[float, ...]] = SHARES, *, is_finished: bool = True
) -> CollageResult:
    return CollageResult(mixes=(), segments=6, rounds=1, is_finished=is_finished, known=tuple(known), shares=shares)


def parts(*spans: tuple[Target, int, int]) -> list[Partition]:
    return [
        Partition(target=target, nodes=tuple(f"n{number}" for number in range(start, end)))
        for target, start, end in spans
    ]


MIX = parts((TUNED, 0, 2), (MNN, 2, 4), (TUNED, 4, 6))


def plan(*partitions: Partition, embed: bool = False) -> Candidate:
    settings, costs = RunSettings(threads=2, embed=embed), (2.0, 3.5, 2.25)[: len(partitions)]
    return Candidate(name="collage", label="collage", partitions=partitions, settings=settings, predicted_ms=costs)


def of_partitions(collage: CollageResult | None = None) -> tuple[Alternatives, ...]:
    return AlternativeCosts(PROBLEM, SINGLES, collage or found()).of_partitions(plan(*MIX))


def test_the_cost_of_a_switch_is_what_the_part_takes_beyond_itself_alone() -> None:
    assert [alternatives.transition_ms for alternatives in of_partitions()] == [None, 0.5, 0.25]


def test_alternatives_come_with_their_cost_here_and_in_the_plan() -> None:
    (alternative,) = of_partitions()[1].runners_up
    assert (alternative.target, alternative.ms, alternative.is_measured) == (TUNED, 8.0, False)
    # All on one engine is the whole model, which was measured: 12.0 against 2.0 + 3.5 + 2.25.
    assert alternative.plan_ms == pytest.approx(12.0 - 7.75)


def test_an_alternative_beside_its_like_pays_no_switch_into_it() -> None:
    alternatives = {alternative.target: alternative for alternative in of_partitions()[2].runners_up}
    assert (alternatives[MNN].ms, alternatives[MNN].is_measured) == (4.0, False)
    # Segments 2 … 5 on one engine, behind the first part: no second transition.
    assert alternatives[MNN].plan_ms == pytest.approx((2.0 + 7.0 + 0.5) - 7.75)


def test_the_cheapest_alternative_comes_first() -> None:
    assert [alternative.target for alternative in of_partitions()[0].runners_up] == [MNN, NCNN]


def test_an_engine_without_a_figure_has_a_reason() -> None:
    first, middle, last = (alternatives.not_chosen for alternatives in of_partitions())
    assert first == {ODD: "failed on the whole model at crash: SIGSEGV"}
    assert middle[NCNN] == "failed on it"
    assert last[NCNN] == "refused: no n5 (n5)"


def test_what_was_not_measured_says_whether_the_time_ended() -> None:
    nothing = found((), {}, is_finished=False)
    assert of_partitions(nothing)[1].not_chosen[ORT] == "not measured: the time ended before"
    assert of_partitions(replace(nothing, is_finished=True))[1].not_chosen[ORT] == "not measured"
    unsearched = AlternativeCosts(PROBLEM, SINGLES, None).of_partitions(plan(*MIX))
    assert unsearched[1].not_chosen[ORT] == "not measured: parts were not searched for"
    assert (unsearched[1].transition_ms, unsearched[1].runners_up) == (None, ())


def test_inside_one_session_neither_switches_nor_other_plans_have_figures() -> None:
    for alternatives in AlternativeCosts(PROBLEM, SINGLES, found()).of_partitions(plan(*MIX, embed=True)):
        assert alternatives.transition_ms is None
        assert {alternative.plan_ms for alternative in alternatives.runners_up} == {None}


def test_a_part_that_is_no_run_of_segments_has_reasons_but_no_figures() -> None:
    odd = [Partition(target=MNN, nodes=("n0", "n2", "n5")), Partition(target=TUNED, nodes=("n1", "n3", "n4"))]
    first, second = AlternativeCosts(PROBLEM, SINGLES, found()).of_partitions(plan(*odd))
    assert (first.runners_up, second.runners_up) == ((), ())
    assert first.not_chosen[NCNN] == "refused: no n5 (n5)"


def test_openings_are_where_another_engine_is_faster_with_the_switches_to_pay() -> None:
    opportunity, less = AlternativeCosts(PROBLEM, SINGLES, found()).opportunities(TUNED)
    assert (less.target, less.start, less.end, less.gain_ms) == (NCNN, 2, 3, 1.0)
    assert (opportunity.target, opportunity.start, opportunity.end, opportunity.transitions) == (MNN, 2, 4, 2)
    assert (opportunity.gain_ms, opportunity.transition_ms) == (8.0 - 3.0, 0.5 + 0.25)
    assert opportunity.net_ms == 4.25


def test_an_opening_at_an_end_takes_one_switch_and_one_without_known_switches_says_so() -> None:
    shares = {TUNED: (4.0, 1.0, 1.0, 1.0, 1.0, 1.0), MNN: (1.0, *(2.0,) * 5)}
    (opportunity,) = AlternativeCosts(PROBLEM, SINGLES, found((), shares)).opportunities(TUNED)
    assert (opportunity.start, opportunity.end, opportunity.transitions, opportunity.transition_ms) == (0, 1, 1, None)


def test_the_segments_that_the_time_left_out_are_told_for_each_engine_that_takes_them() -> None:
    shares = {TUNED: (1.0, 1.0, 1.0, math.inf, math.inf, math.inf), MNN: (1.0,) * 6}
    assert AlternativeCosts(PROBLEM, SINGLES, found((), shares, is_finished=False)).unmeasured() == {ORT: (3, 4, 5)}
    assert AlternativeCosts(PROBLEM, SINGLES, found((), shares)).unmeasured() == {}


def test_options_that_an_engine_was_measured_with_are_that_engine_and_the_closest_one_stated() -> None:
    low, precise = Target("mnn -precision=low"), Target("mnn -precision=low -threads=1")
    problem = replace(
        PROBLEM, targets=(ORT, MNN, low), capabilities={t: Capability(refusals={}) for t in (ORT, MNN, low)}
    )
    singles = (single(ORT, TUNED, 12.0), single(MNN, MNN, 11.0), single(low, low, 10.0))
    known = (Known(start=0, end=2, target=precise, after=None, ms=0.5),)
    first, *_ = AlternativeCosts(problem, singles, found(known)).of_partitions(plan(*MIX))
    assert [(alternative.target, alternative.ms) for alternative in first.runners_up] == [(precise, 0.5), (MNN, 4.0)]
    assert first.not_chosen == {}


@given(st.lists(st.floats(0.125, 100), min_size=12, max_size=12), st.integers(1, 5))
def test_an_opening_is_a_gain_and_its_figures_add_up(costs: list[float], cut: int) -> None:
    shares = {TUNED: tuple(costs[:6]), MNN: tuple(costs[6:])}
    transition = Known(start=cut, end=6, target=MNN, after=TUNED, ms=sum(costs[6 + cut :]) + 1.5)
    alternatives = AlternativeCosts(PROBLEM, SINGLES, found((transition,), shares))
    for opportunity in alternatives.opportunities(TUNED):
        segments = range(opportunity.start, opportunity.end)
        assert opportunity.gain_ms == pytest.approx(sum(costs[a] - costs[6 + a] for a in segments))
        assert opportunity.gain_ms >= 0.005 * sum(costs[:6])
        assert opportunity.transition_ms == pytest.approx(1.5 * opportunity.transitions)
        assert all(costs[segment] > costs[6 + segment] for segment in segments)
