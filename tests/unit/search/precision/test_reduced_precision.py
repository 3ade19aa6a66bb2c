"""Which plans are tried in less than fp32, and that what misses the error on validation inputs does not ship."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from intarsia.config import RunSettings
from intarsia.cost.timing.footprint import Footprint
from intarsia.cost.timing.memory import Memory
from intarsia.cost.timing.timetable import Timetable
from intarsia.cost.timing.verdict import CONTROL_NAME, Verdict
from intarsia.cost.worker.deadline import NO_END
from intarsia.cost.worker.progress import unwatched
from intarsia.errors import MismatchError
from intarsia.partitioning import Partition
from intarsia.planning.problem import Candidate
from intarsia.search.decision import decide as module
from intarsia.search.decision.final_benchmark import FinalBenchmark
from intarsia.search.precision import reduced_precision as reduced_module
from intarsia.search.precision.reduced_precision import (
    ReducedPrecisionPlans,
    ReducedPrecisionSearch,
    starting_points,
)
from intarsia.search.precision.trials import ReducedPrecision
from intarsia.search.precision.validation_set import Accuracy
from intarsia.search.thresholds import PRECISION
from intarsia.target import Target
from tests.unit.search.fakes import chain_problem, measured


def plan(label: str, ms: float, *, embed: bool = False, name: str = "") -> Candidate:
    return Candidate(
        name=name or label,
        label=label,
        partitions=(Partition(target=Target("onnxruntime"), nodes=("n0",)),),
        settings=RunSettings(threads=2, embed=embed),
        predicted_ms=(ms,),
    )


def test_each_engine_within_reach_is_tried_at_its_best_and_one_mix() -> None:
    far = plan("far", 9.0 * PRECISION.engines_behind + 1)
    singles = [plan("b", 12.0), plan("a", 10.0), plan("a", 9.0, name="best a"), far]
    mixes = [plan("inside", 5.0, embed=True), plan("mix", 6.0), plan("other mix", 7.0)]
    assert [each.name for each in starting_points(singles, mixes)] == ["best a", "b", "mix"]


@pytest.mark.parametrize(
    ("error", "has_failed", "kept"),
    [
        (0.0095, False, ["whole", "part"]),
        (0.0098, False, ["whole", "part"]),
        (0.0119, False, ["whole", "part"]),
        (0.0119, True, ["part"]),
        (0.0121, False, ["part"]),
    ],
)
def test_a_whole_plan_is_tried_up_to_somewhat_more_than_the_error_and_a_part_where_it_misses_that(
    monkeypatch: pytest.MonkeyPatch, error: float, has_failed: bool, kept: list[str]
) -> None:
    problem = chain_problem(2, [Target("openvino")])
    problem = replace(problem, settings=replace(problem.settings, max_error=0.01))
    measurer = SimpleNamespace(knows=lambda *_: False)
    search = ReducedPrecisionSearch(problem, cast("Any", measurer), cast("Any", None), unwatched, lambda _: None)
    whole = ReducedPrecision(candidate=plan("whole", 5.0), error=error)
    part = ReducedPrecision(candidate=plan("part", 6.0), error=0.009)
    monkeypatch.setattr(reduced_module, "in_reduced_types", lambda graph, partitions: [partitions])
    monkeypatch.setattr(search.trials, "error", lambda partitions, settings: error)
    monkeypatch.setattr(search.trials, "has_failed", lambda partitions, settings: has_failed)
    monkeypatch.setattr(search.trials, "reduced", lambda each, partitions: whole)
    monkeypatch.setattr(search, "_cut", lambda each, partitions, found, choosers: part)
    search._try_types(plan("openvino", 10.0), cast("Any", None))
    assert [each.candidate.label for each in search.trials.found] == kept[:1]
    search.trials.again[kept[0]]()
    assert [each.candidate.label for each in search.trials.found] == kept


@pytest.mark.parametrize(("ms", "found_ms", "is_tried"), [(10.9, 0, True), (11.1, 0, False), (9.0, 7.1, False)])
def test_a_type_that_is_known_to_be_slower_than_other_plans_is_not_tried(
    monkeypatch: pytest.MonkeyPatch, ms: float, found_ms: float, *, is_tried: bool
) -> None:
    problem = chain_problem(2, [Target("openvino")])
    problem = replace(problem, settings=replace(problem.settings, max_error=0.01))
    measurer = SimpleNamespace(knows=lambda *_: True, cost_of_plan=lambda *_: measured(ms))
    search = ReducedPrecisionSearch(problem, cast("Any", measurer), cast("Any", None), unwatched, lambda _: None)
    if found_ms:
        search.trials.found.append(ReducedPrecision(candidate=plan("found", found_ms), error=0.0))
    whole = ReducedPrecision(candidate=plan("whole", 5.0), error=0.001)
    monkeypatch.setattr(reduced_module, "in_reduced_types", lambda graph, partitions: [partitions])
    monkeypatch.setattr(search.trials, "error", lambda partitions, settings: 0.001)
    monkeypatch.setattr(search.trials, "reduced", lambda each, partitions: whole)
    search._try_types(plan("openvino", 10.0), cast("Any", None))
    assert (whole in search.trials.found) is is_tried
    assert bool(search.trials.dropped) is not is_tried


def decided(monkeypatch: pytest.MonkeyPatch, errors: dict[str, float], wanted: Candidate | None = None) -> Any:
    """A decision among a single engine and two plans in less than fp32, with the error of each."""
    single, fast, faster = plan("single", 10.0), plan("fast", 5.0), plan("faster", 4.0)
    rounds = {"single": (10.0,) * 30, "fast": (5.0,) * 30, "faster": (4.0,) * 30, CONTROL_NAME: (10.0,) * 30}
    small = Footprint(cold_s=(0.5,), memory=(Memory(peak=2, steady=1),))
    verdict = Verdict(
        rounds_ms=rounds,
        set_sizes=(10, 10, 10),
        profile_ms={},
        errors={},
        failed={},
        is_void=False,
        footprints=dict.fromkeys(rounds, small),
    )
    built = SimpleNamespace(
        checked=lambda _: None,
        opened=lambda chosen: (Path(chosen.name), SimpleNamespace(error=0.0, allowed=1e-3, memory=small.memory[0])),
    )
    monkeypatch.setattr(module, "Builder", lambda *_: built)
    monkeypatch.setattr(FinalBenchmark, "run", lambda *_, again: verdict)

    def judge(chosen: Candidate) -> Accuracy:
        worst = {"y": errors.get(chosen.name, 0.0)}
        return Accuracy(max_error=0.01, inputs=32, worst=worst, mean=worst)

    reduced = ReducedPrecisionPlans(
        found=(ReducedPrecision(candidate=faster, error=0.0), ReducedPrecision(candidate=fast, error=0.0))
    )
    measurer: Any = SimpleNamespace(time=Timetable())
    problem = chain_problem(1, [Target("reference")])
    return module.decide(problem, measurer, [single], [], wanted, NO_END, unwatched, reduced, judge)


@pytest.mark.parametrize(
    ("errors", "ships"),
    [
        ({}, "faster"),
        ({"faster": 0.0093}, "faster"),
        ({"faster": 0.0095}, "fast"),
        ({"faster": 0.011}, "fast"),
        ({"faster": 0.011, "fast": 0.02}, "single"),
    ],
)
def test_what_is_off_by_too_much_on_unseen_inputs_does_not_ship(
    monkeypatch: pytest.MonkeyPatch, errors: dict[str, float], ships: str
) -> None:
    found = decided(monkeypatch, errors)
    assert found.chosen.name == ships
    assert found.accuracy.holds
    if ships == "single":
        assert found.reason == "faster has an error of 0.011 on validation inputs; 0.01 is allowed"


def test_a_plan_that_was_asked_for_is_held_to_its_error_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MismatchError, match=r"fast has an error of 0.02 on validation inputs; 0.01 is allowed"):
        decided(monkeypatch, {"fast": 0.02}, wanted=plan("fast", 5.0))
