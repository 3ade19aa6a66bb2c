"""How threads are divided among instances: every way is measured, and the one that answers most is gone on with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.backends.contract.failures import Cause
from intarsia.config import RunSettings
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Failure, Outcome
from intarsia.cost.timing.sampling import Effort
from intarsia.cost.worker.progress import unwatched
from intarsia.partitioning import Partition
from intarsia.planning.problem import Candidate, Problem
from intarsia.planning.request import Compilation
from intarsia.search.collage.collage import CollageResult, Mix
from intarsia.search.decision.contenders import tuned_ms
from intarsia.search.precision.reduced_precision import ReducedPrecisionPlans
from intarsia.search.precision.trials import ReducedPrecision
from intarsia.search.single.single_engine import Single
from intarsia.search.under_load import Loads, Way, ways
from intarsia.target import Target
from tests.unit.search.fakes import chain_problem, measured

ORT, MNN = Target("onnxruntime"), Target("mnn")
Between = Callable[[str, RunSettings], float]


class FakeMeasurer:
    """Under load plans take what they are said to; what takes forever fails."""

    def __init__(self, between: Between) -> None:
        self.asked: list[tuple[str, int, int]] = []
        self._between = between

    def cost_under_load(self, partitions: Sequence[Partition], settings: RunSettings, effort: Effort) -> Outcome:
        name = "+".join(str(partition.target) for partition in partitions)
        self.asked.append((name, settings.instances, settings.threads))
        ms = self._between(name, settings)
        return measured(ms) if ms < math.inf else Failure(stage="run", reason="on purpose", cause=Cause.ENGINE)


def loads(measurer: FakeMeasurer, threads: int = 2, instances: int = 1) -> Loads:
    problem = replace(chain_problem(2, [ORT, MNN]), threads=threads)
    job = SimpleNamespace(problem=problem, run=RunSettings(threads=threads, instances=instances))
    return Loads(cast("Compilation", job), cast("Measurer", measurer), unwatched)


def single(problem: Problem, target: Target, ms: float) -> Single:
    plan = Candidate(
        name=f"{target}, spin call",
        label=str(target),
        partitions=problem.whole(target),
        settings=problem.run(),
        predicted_ms=(ms,),
    )
    return Single(target=target, outcome=measured(ms), candidates=(plan,))


def mix(threads: int = 1) -> Candidate:
    parts = (Partition(target=ORT, nodes=("n0",)), Partition(target=MNN, nodes=("n1",)))
    return Candidate(
        name="collage",
        label="collage",
        partitions=parts,
        settings=RunSettings(threads=threads),
        predicted_ms=(3.0, 4.0),
    )


@given(st.integers(1, 96))
def test_every_way_has_all_threads_at_work(threads: int) -> None:
    found = ways(threads)
    assert all(way.instances * way.threads == threads for way in found)
    assert len(set(found)) == len(found)
    assert {Way(instances=1, threads=threads), Way(instances=threads, threads=1)} <= set(found)


@given(st.lists(st.floats(1.0, 100.0), min_size=4, max_size=4), st.lists(st.floats(1.0, 100.0), min_size=2, max_size=2))
def test_the_best_way_is_that_of_the_plan_that_answers_most(alone: list[float], between: list[float]) -> None:
    """Of two engines on two threads; a single instance answers as it was timed by itself."""
    times = {(ORT, 2): alone[0], (ORT, 1): alone[1], (MNN, 2): alone[2], (MNN, 1): alone[3]}
    under_load = {str(ORT): between[0], str(MNN): between[1]}
    measurer = FakeMeasurer(lambda name, _: under_load[name])
    found = loads(measurer).engines(
        lambda problem, _: [single(problem, each, times[each, problem.threads]) for each in (ORT, MNN)]
    )
    most = min(alone[0], alone[2], *between)
    candidates = [candidate for each in found.singles for candidate in each.candidates]
    assert min(map(tuned_ms, candidates)) == most
    for each in found.singles:
        assert [*map(tuned_ms, each.candidates)] == sorted(map(tuned_ms, each.candidates))
        assert {(c.settings.instances, c.settings.threads) for c in each.candidates} == {(1, 2), (2, 1)}
    assert most in ((alone[0], alone[2]) if found.best.instances == 1 else between)
    assert {single.candidates[0].settings.threads for single in found.tuned} == {found.best.threads}
    assert all(single.candidates[0].settings.instances == 1 for single in found.tuned)
    assert len({candidate.name for candidate in candidates}) == len(candidates)


def test_what_fails_under_load_is_left_with_one_instance() -> None:
    found = loads(FakeMeasurer(lambda name, _: math.inf if name == "mnn" else 3.0)).engines(
        lambda problem, _: [single(problem, each, 5.0) for each in (ORT, MNN)]
    )
    by_target = {each.target: each for each in found.singles}
    assert [str(c.settings.instances) for c in by_target[MNN].candidates] == ["1"]
    assert [c.settings.instances for c in by_target[ORT].candidates] == [2, 1]


def test_an_engine_that_never_worked_says_why() -> None:
    failure = Failure(stage="capability", reason="no GRU", cause=Cause.NOT_ASKED)
    found = loads(FakeMeasurer(lambda *_: 3.0)).engines(
        lambda problem, _: [single(problem, ORT, 5.0), Single(target=MNN, outcome=failure)]
    )
    assert next(each for each in found.singles if each.target == MNN).outcome is failure


def test_mixes_are_measured_in_every_way_and_the_best_stands_first() -> None:
    measurer = FakeMeasurer(lambda _, settings: 4.0 if settings.instances == 1 else 2.5)
    collage = CollageResult(mixes=(Mix(candidate=mix(), measured_ms=7.0),), segments=2, rounds=1, is_finished=True)
    found = loads(measurer).mixes(collage)
    assert found is not None
    plans = [each.candidate for each in found.mixes]
    assert [(plan.name, plan.between_ms) for plan in plans] == [("collage, 2 x 1", 2.5), ("collage, 1 x 2", 4.0)]
    assert [each.measured_ms for each in found.mixes] == [5.0, 4.0]
    # What its parts take was predicted for one thread, and is not known for two.
    assert [plan.predicted_ms for plan in plans] == [(3.0, 4.0), (None, None)]
    assert loads(measurer).mixes(None) is None


def test_of_a_plan_in_reduced_precision_the_best_way_takes_part() -> None:
    plans = ReducedPrecisionPlans(found=(ReducedPrecision(candidate=mix(), error=0.01),))
    (best,) = loads(FakeMeasurer(lambda _, settings: 1.0 * settings.threads)).reduced(plans).found
    assert (best.candidate.settings.instances, best.candidate.settings.threads, best.error) == (2, 1, 0.01)
    none = loads(FakeMeasurer(lambda *_: math.inf)).reduced(plans)
    assert (none.found, none.dropped) == ((), (("collage", "it does not run under load"),))


@pytest.mark.parametrize(("between", "best"), [((4.0, 2.5), (2, 1)), ((2.5, 4.0), (1, 2)), ((math.inf, 9.0), (2, 1))])
def test_a_plan_that_was_asked_for_is_driven_in_its_best_way(between: tuple[float, float], best: Any) -> None:
    measurer = FakeMeasurer(lambda _, settings: between[settings.instances - 1])
    made = loads(measurer).given(lambda several: mix(several[0].threads), [RunSettings(threads=2)])
    assert (made.settings.instances, made.settings.threads) == best


def test_a_plan_file_that_says_how_many_instances_is_obeyed() -> None:
    measurer = FakeMeasurer(lambda *_: 2.0)
    loaded = loads(measurer, threads=1, instances=3)
    assert [str(way) for way in loaded.ways] == ["3 x 1"]
    made = loaded.given(lambda several: mix(several[0].threads), [RunSettings(threads=1, instances=3)])
    assert (made.settings.instances, made.name) == (3, "collage, 3 x 1")


def test_only_where_there_is_no_plan_yet_one_is_tuned_in_any_case() -> None:
    insisted: list[tuple[int, bool]] = []

    def tune(problem: Problem, insists: bool) -> list[Single]:
        insisted.append((problem.threads, insists))
        return [single(problem, each, 5.0) for each in (ORT, MNN)]

    loads(FakeMeasurer(lambda *_: 3.0), threads=4).engines(tune)
    assert insisted == [(4, True), (2, False), (1, False)]
