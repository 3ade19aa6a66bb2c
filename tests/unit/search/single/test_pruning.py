"""Who is left out of the search for a mix, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from intarsia.backends.contract.failures import Cause
from intarsia.cost.records.record import Failure, Measurement
from intarsia.cost.reference.stage_check import StageCheck
from intarsia.search.single.prefilter import STAGE
from intarsia.search.single.pruning import left_out
from intarsia.search.single.single_engine import Single
from intarsia.search.thresholds import SINGLE
from intarsia.target import Target
from tests.unit.search.fakes import chain_problem

NAMES = ("onnxruntime", "openvino", "mnn", "winograd")
PROBLEM = chain_problem(2, [Target(name) for name in NAMES])


def single(name: str, ms: float | None) -> Single:
    if ms is None:
        return Single(target=Target(name), outcome=Failure(stage="capability", reason="no GRU", cause=Cause.NOT_ASKED))
    return Single(target=Target(name), outcome=Measurement(samples_ms=(ms,), compile_s=0.0, load_s=0.0, error=None))


def found(*, prune: bool = True, **times: float | None) -> dict[str, str]:
    problem = replace(PROBLEM, settings=replace(PROBLEM.settings, prune=prune))
    several = [single(name, ms) for name, ms in times.items()]
    return {str(target): reason for target, reason in left_out(problem, several).items()}


def test_an_engine_far_behind_takes_no_part() -> None:
    assert found(openvino=10.0, mnn=SINGLE.pruning_behind * 10.0) == {}
    (reason,) = found(openvino=10.0, mnn=21.0).values()
    assert reason == "left out of the search: the whole model takes 2.1 times as long"


def test_one_whose_profiler_tells_where_its_time_goes_stays() -> None:
    assert found(openvino=10.0, winograd=50.0) == {}


@pytest.mark.parametrize(("winograd", "is_left_out"), [(9.0, True), (10.0, True), (11.0, False), (None, False)])
def test_an_engine_makes_way_for_the_one_that_adds_to_it(winograd: float | None, is_left_out: bool) -> None:
    reasons = found(onnxruntime=10.0, openvino=10.0, winograd=winograd)
    assert list(reasons) == (["onnxruntime"] if is_left_out else [])


def test_of_an_engine_that_does_not_take_the_whole_model_nothing_is_known() -> None:
    assert found(openvino=10.0, mnn=None) == {}


def test_what_a_first_look_speaks_against_takes_no_part() -> None:
    looked = Single(
        target=Target("mnn"), outcome=Failure(stage=STAGE, reason="takes 4.0 times as long", cause=Cause.ENGINE)
    )
    assert left_out(PROBLEM, [single("openvino", 10.0), looked]) == {
        Target("mnn"): "left out of the search: takes 4.0 times as long"
    }


def test_without_pruning_all_take_part() -> None:
    assert found(prune=False, onnxruntime=10.0, winograd=5.0, mnn=100.0) == {}


def test_one_that_rounds_wrongly_takes_no_part_even_where_nothing_is_pruned() -> None:
    problem = replace(PROBLEM, settings=replace(PROBLEM.settings, prune=False))
    check = StageCheck(stages=2, fault="QuantizeLinear q rounds wrongly")
    wrong = replace(
        single("mnn", None), outcome=Failure(stage="verify", reason="wrong", cause=Cause.ENGINE), stages=check
    )
    assert left_out(problem, [wrong, single("openvino", 1.0)]) == {
        Target("mnn"): "left out of the search: QuantizeLinear q rounds wrongly"
    }
