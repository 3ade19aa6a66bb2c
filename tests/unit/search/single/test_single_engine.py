"""Each engine alone: one partition, or as many as its devices make it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from intarsia.backends.contract.failures import Cause
from intarsia.config import RunSettings
from intarsia.cost.records.record import Failure, Outcome
from intarsia.cost.reference.stage_check import StageCheck
from intarsia.cost.worker.progress import unwatched
from intarsia.partitioning import Capability, Partition
from intarsia.planning.problem import Problem
from intarsia.search.single import single_engine as module
from intarsia.search.single.single_engine import tune_singles, tune_unverified
from intarsia.target import Target
from tests.unit.search.fakes import FakeMeasurer, chain_problem, measured

REFERENCE = Target("reference")
PLACES = {"n0": "a", "n1": "b", "n2": "b", "n3": "a"}


def test_without_devices_the_whole_model_is_one_partition() -> None:
    fake = FakeMeasurer({REFERENCE: (1.0, 2.0, 3.0, 4.0)})
    (single,) = tune_singles(chain_problem(4, [REFERENCE]), fake.as_measurer(), unwatched)
    (candidate,) = single.candidates
    assert candidate.partitions == (Partition(target=REFERENCE, nodes=("n0", "n1", "n2", "n3")),)
    assert (candidate.predicted_ms, fake.asked) == ((10.0,), [("reference", 4)])


def test_no_partition_of_one_engine_spans_two_devices() -> None:
    fake = FakeMeasurer({REFERENCE: (1.0, 2.0, 3.0, 4.0)}, transition_ms=1.0)
    problem = replace(chain_problem(4, [REFERENCE]), places=PLACES)
    (single,) = tune_singles(problem, fake.as_measurer(), unwatched)
    (candidate,) = single.candidates
    assert [partition.nodes for partition in candidate.partitions] == [("n0",), ("n1", "n2"), ("n3",)]
    assert candidate.total_ms == single.outcome.cost_ms == 12.0
    assert single.tuned == REFERENCE


def test_an_engine_that_a_device_plan_keeps_away_is_no_single() -> None:
    refused = {REFERENCE: Capability(refusals={"n1": "the device plan puts it elsewhere"})}
    problem = replace(chain_problem(2, [REFERENCE]), capabilities=refused)
    fake = FakeMeasurer({REFERENCE: (1.0, 2.0)})
    (single,) = tune_singles(problem, fake.as_measurer(), unwatched)
    assert (single.candidates, fake.measured) == ((), 0)
    assert "the device plan puts it elsewhere" in str(single.outcome)


def settings_tried(problem: Problem, fake: FakeMeasurer) -> Counter[str]:
    tune_singles(problem, fake.as_measurer(), unwatched)
    return Counter(engine for engine, _ in fake.asked)


def test_an_engine_far_behind_keeps_its_first_settings_unless_engines_are_compared() -> None:
    near, far = Target("ncnn -winograd=true"), Target("onnxruntime -optimization-level=all")
    problem = chain_problem(1, [near, far])
    costs = {near: (1.0,), far: (2.0,)}
    assert settings_tried(problem, FakeMeasurer(costs)) == {"ncnn": 2, "onnxruntime": 1}
    assert settings_tried(problem, FakeMeasurer({near: (1.0,), far: (1.1,)})) == {"ncnn": 2, "onnxruntime": 2}
    for settings in (replace(problem.settings, footprints=True), replace(problem.settings, prune=False)):
        other = replace(problem, settings=settings)
        assert settings_tried(other, FakeMeasurer(costs)) == {"ncnn": 2, "onnxruntime": 2}


def test_further_options_run_with_the_best_spin_policy_alone_unless_engines_are_compared() -> None:
    problem = chain_problem(1, [Target("onnxruntime")])
    costs = {Target(f"onnxruntime -optimization-level={level}"): (1.0,) for level in ("all", "extended")}
    assert settings_tried(problem, FakeMeasurer(costs)) == {"onnxruntime": 3}
    compared = replace(problem, settings=replace(problem.settings, footprints=True))
    assert settings_tried(compared, FakeMeasurer(costs)) == {"onnxruntime": 4}


def test_an_engine_in_reach_without_other_settings_is_looked_at_again() -> None:
    near, slow_once, far = NCNN, OPENVINO, Target("mnn -memory=high")
    looks: list[tuple[str, int]] = []

    class Noisy(FakeMeasurer):
        def cost(self, partition: Partition, settings: RunSettings, after: Any = None, effort: Any = None) -> Outcome:
            looks.append((partition.target.kind.name, effort.look))
            outcome = super().cost(partition, settings, after, effort)
            is_late = partition.target == slow_once and effort.look == 2
            return measured(0.9) if is_late else outcome

    fake = Noisy({near: (1.0,), slow_once: (1.25,), far: (2.0,)})
    _, openvino, _ = tune_singles(chain_problem(1, [near, slow_once, far]), fake.as_measurer(), unwatched)
    assert looks == [("ncnn", 1), ("openvino", 1), ("mnn", 1), ("openvino", 2), ("ncnn", 1)]
    assert (openvino.outcome.cost_ms, openvino.candidates[0].total_ms) == (0.9, 0.9)


def test_an_engine_whose_first_settings_fail_gets_its_others() -> None:
    near, far = Target("ncnn -winograd=true"), Target("onnxruntime -optimization-level=all")
    fake = FakeMeasurer({near: (1.0,), far: (1.5,)}, failing={far: "load"})
    assert settings_tried(chain_problem(1, [near, far]), fake) == {"ncnn": 2, "onnxruntime": 2}


NCNN, MNN, OPENVINO = (Target(name) for name in ("ncnn -winograd=true", "winograd", "openvino"))
"""Each with one setting worth timing."""


@pytest.fixture
def _staged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "has_stages", lambda _: True)


@pytest.mark.usefixtures("_staged")
def test_an_engine_that_rounds_wrongly_at_a_stage_is_refused() -> None:
    checks = {NCNN: StageCheck(stages=3, fault="Q rounds wrongly"), REFERENCE: StageCheck(stages=3)}
    fake = FakeMeasurer({NCNN: (1.0,), REFERENCE: (2.0,)}, stages=checks)
    wrong, right = tune_singles(chain_problem(1, [NCNN, REFERENCE]), fake.as_measurer(), unwatched)
    assert wrong.outcome == Failure(stage="verify", reason="Q rounds wrongly", cause=Cause.ENGINE)
    assert (wrong.candidates, wrong.stages) == ((), checks[NCNN])
    assert (len(right.candidates), right.stages) == (1, checks[REFERENCE])


@pytest.mark.usefixtures("_staged")
def test_settings_that_round_wrongly_leave_the_others_of_their_engine() -> None:
    target = Target("onnxruntime")
    levels = {level: target.with_options({"optimization-level": level}) for level in ("all", "extended")}
    costs = {levels["all"]: (1.0,), levels["extended"]: (1.2,)}
    checks = {levels["all"]: StageCheck(stages=1, fault="wrong"), levels["extended"]: StageCheck(stages=1)}
    (single,) = tune_singles(chain_problem(1, [target]), FakeMeasurer(costs, stages=checks).as_measurer(), unwatched)
    assert {candidate.partitions[0].target for candidate in single.candidates} == {levels["extended"]}
    assert single.outcome.cost_ms == 1.2


@pytest.mark.usefixtures("_staged")
def test_a_stage_that_cannot_be_asked_for_refuses_nobody() -> None:
    skipped = StageCheck(stages=0, skipped="it does not run with its stages exposed")
    fake = FakeMeasurer({NCNN: (1.0,)}, stages={NCNN: skipped})
    (single,) = tune_singles(chain_problem(1, [NCNN]), fake.as_measurer(), unwatched)
    assert (bool(single.candidates), single.stages) == (True, skipped)


def test_where_nothing_is_right_the_least_wrong_are_measured_all_the_same() -> None:
    problem = chain_problem(1, [NCNN, MNN, OPENVINO, REFERENCE])
    costs = {NCNN: (3.0,), MNN: (1.0,), OPENVINO: (2.0,), REFERENCE: (1.0,)}
    failing = {NCNN: "verify", MNN: "verify", OPENVINO: "verify", REFERENCE: "crash"}
    errors = {NCNN: 0.01, MNN: 0.3, OPENVINO: 0.019}
    fake = FakeMeasurer(costs, failing=failing, errors=errors)
    before = tune_singles(problem, fake.as_measurer(), unwatched)
    assert not any(single.candidates for single in before)
    after = tune_unverified(problem, fake.as_measurer(), before, unwatched)
    working = {single.target: single for single in after if single.candidates}
    assert set(working) == {NCNN, OPENVINO}
    assert not any(candidate.settings.verified for single in working.values() for candidate in single.candidates)
    failures = {single.target: single.outcome for single in after if not single.candidates}
    assert failures[MNN] == Failure(stage="verify", reason="on purpose", cause=Cause.ENGINE)
    assert failures[REFERENCE] == Failure(stage="crash", reason="on purpose", cause=Cause.ENGINE)


def test_an_error_that_is_allowed_at_the_outputs_lets_an_engine_pass() -> None:
    problem = chain_problem(1, [NCNN, MNN])
    problem = replace(problem, settings=replace(problem.settings, max_error=0.05))
    fake = FakeMeasurer(
        {NCNN: (3.0,), MNN: (1.0,)}, failing={NCNN: "verify", MNN: "verify"}, errors={NCNN: 0.01, MNN: 0.3}
    )
    passed, refused = tune_singles(problem, fake.as_measurer(), unwatched)
    assert {candidate.settings.max_error for candidate in passed.candidates} == {0.05}
    assert all(candidate.settings.verified for candidate in passed.candidates)
    assert refused.candidates == ()
