"""Which engines are measured at their default settings, and what is kept of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from intarsia.config import RunSettings
from intarsia.cost.measure import Measurer
from intarsia.cost.records.store import Store
from intarsia.cost.timing.statistics import Interval
from intarsia.cost.timing.timetable import Timetable
from intarsia.cost.timing.verdict import CONTROL_NAME, Shown, Verdict
from intarsia.cost.worker.deadline import NO_END
from intarsia.cost.worker.progress import unwatched
from intarsia.planning.problem import Candidate
from intarsia.search import default_settings as module
from intarsia.search.decision.decision import NO_BENCHMARK, Decision
from intarsia.search.default_settings import AtDefaults, defaults_beside, measure_defaults
from intarsia.search.precision.validation_set import Accuracy
from intarsia.search.single.single_engine import Single
from intarsia.target import Target
from tests.unit.search.fakes import chain_problem, measured

OPENVINO, MNN, ORT = Target("openvino"), Target("mnn"), Target("onnxruntime")
IN_BF16 = OPENVINO.with_options({"inference-precision": "bf16"})
PROBLEM = chain_problem(2, [ORT, OPENVINO, MNN])
BF16 = frozenset({"avx2", "avx512_bf16"})


def plan(target: Target) -> Candidate:
    return Candidate(
        name=str(target),
        label=str(target),
        partitions=PROBLEM.whole(target),
        settings=RunSettings(threads=2),
        predicted_ms=(1.0,),
    )


SINGLES = tuple(Single(target=each, outcome=measured(1.0), candidates=(plan(each),)) for each in (ORT, OPENVINO, MNN))
CHOSEN = plan(ORT)


def decision(**changes: Any) -> Decision:
    known = {"chosen": CHOSEN, "best_single": CHOSEN, "is_interrupted": False, "verdict": NO_BENCHMARK}
    return cast("Decision", SimpleNamespace(**known | changes))


def verdict(names: Sequence[str], **changes: Any) -> Verdict:
    """The first took 2 ms, the others 1 ms."""
    rounds = {name: (2.0 if number == 0 else 1.0,) * 20 for number, name in enumerate(names)}
    found = Verdict(
        rounds_ms={**rounds, CONTROL_NAME: (2.0,) * 20},
        set_sizes=(10, 10),
        profile_ms={},
        errors={},
        failed={},
        is_void=False,
    )
    return replace(found, **changes)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The plans that were benchmarked; their error is always 0.5 %, and the processor computes in bf16."""
    fields: list[list[str]] = []

    class Final:
        def __init__(self, *_: object, is_brief: bool) -> None: ...

        def run(self, field: Sequence[Candidate]) -> Verdict:
            fields.append([each.name for each in field])
            return verdict(fields[-1])

    accuracy = Accuracy(max_error=0.0, inputs=8, worst={"y": 0.005}, mean={"y": 0.001})

    monkeypatch.setattr(module, "FinalBenchmark", Final)
    monkeypatch.setattr(module, "Validation", lambda *_: SimpleNamespace(measured=lambda *_: accuracy))
    monkeypatch.setattr(module, "this_machine", lambda: SimpleNamespace(isa=tuple(BF16)))
    return fields


def found(
    tmp_path: Path, singles: Sequence[Single] = SINGLES, decided: Verdict = NO_BENCHMARK, **settings: Any
) -> tuple[AtDefaults, ...]:
    problem = replace(PROBLEM, settings=replace(PROBLEM.settings, **settings))
    measurer = SimpleNamespace(store=Store(tmp_path / "s.sqlite"), measured=0, cached=0, provenance={})
    measurer.time, measurer.machine, measurer.folder = Timetable(), nullcontext, tmp_path
    known = decision(verdict=decided)
    return measure_defaults(problem, cast("Measurer", measurer), singles, known, NO_END, unwatched)


def test_an_engine_that_computes_in_bf16_by_default_is_timed_beside_the_chosen_plan(
    asked: list[list[str]], tmp_path: Path
) -> None:
    (row,) = found(tmp_path)
    assert asked == [[str(ORT), f"{IN_BF16}, default settings"]]
    assert (row.engine, row.target, row.type) == ("openvino", str(IN_BF16), "bf16")
    assert row.gain is not None
    assert row.gain.median == 2.0
    assert row.shown is Shown.FASTER
    assert (row.error, row.inputs, row.reason) == (0.005, 8, "")


def test_those_that_were_benchmarked_with_the_decision_are_not_benchmarked_again(
    asked: list[list[str]], tmp_path: Path
) -> None:
    (beside,) = defaults_beside(PROBLEM, SINGLES)
    assert beside.name == f"{IN_BF16}, default settings"
    (row,) = found(tmp_path, decided=verdict([str(ORT), beside.name]))
    assert asked == []
    assert (row.gain, row.error) == (Interval(median=2.0, low=2.0, high=2.0), 0.005)
    (row,) = found(tmp_path, decided=verdict([str(ORT)], failed={beside.name: ("load", "no")}))
    assert (asked, row.reason) == ([], "it failed at load: no")


@pytest.mark.parametrize(("control", "shown"), [(2.06, Shown.FASTER), (4.2, Shown.NOTHING)])
def test_a_void_benchmark_shows_what_no_noise_explains(
    asked: list[list[str]], tmp_path: Path, control: float, shown: Shown
) -> None:
    (beside,) = defaults_beside(PROBLEM, SINGLES)
    noisy = verdict([str(ORT), beside.name])
    noisy = replace(noisy, rounds_ms={**noisy.rounds_ms, CONTROL_NAME: (control,) * 20}, is_void=True)
    (row,) = found(tmp_path, decided=noisy)
    assert row.shown is shown


@pytest.mark.parametrize(
    "short", [{"budget_s": 10.0}, {"max_memory": 1 << 30}, {"objective": "throughput"}, {"partition": "greedy"}]
)
def test_none_is_benchmarked_with_the_decision_where_time_or_memory_is_short(
    asked: list[list[str]], short: dict[str, Any]
) -> None:
    assert defaults_beside(replace(PROBLEM, settings=replace(PROBLEM.settings, **short)), SINGLES) == ()
    assert defaults_beside(PROBLEM, SINGLES, [plan(IN_BF16)]) == ()


def test_an_error_that_was_found_is_in_the_store(
    asked: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first,) = found(tmp_path)
    monkeypatch.delattr(module, "Validation")
    assert found(tmp_path) == (first,)


def test_a_comparison_takes_those_too_that_are_less_exact_in_fp32(asked: list[list[str]], tmp_path: Path) -> None:
    rows = found(tmp_path, footprints=True)
    assert [(row.engine, row.type) for row in rows] == [("openvino", "bf16"), ("mnn", None)]


def test_defaults_that_answered_rightly_were_contenders(asked: list[list[str]], tmp_path: Path) -> None:
    right = tuple(replace(each, candidates=(*each.candidates, plan(IN_BF16))) for each in SINGLES[1:2])
    assert found(tmp_path, right) == ()
    assert asked == []


def test_options_that_the_user_stated_are_kept() -> None:
    from intarsia.backends import registry

    stated: Mapping[str, Target] = {
        "openvino": OPENVINO.with_options({"inference-precision": "f32"}),
        "mnn": MNN.with_options({"memory": "low", "precision": "high"}),
    }
    for target in stated.values():
        assert registry.of(target).at_defaults(target, BF16) == target
    assert registry.of(OPENVINO).at_defaults(OPENVINO, frozenset({"avx2"})) == OPENVINO
    assert registry.of(OPENVINO).at_defaults(OPENVINO, frozenset({"asimdhp"}))["inference-precision"] == "f16"


def test_plans_that_were_asked_for_are_compared_with_nothing(asked: list[list[str]], tmp_path: Path) -> None:
    assert found(tmp_path, partition="greedy") == ()


def test_without_time_the_reason_is_kept(
    asked: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{module.__name__}.FinalBenchmark.run", lambda *_: NO_BENCHMARK)
    (row,) = found(tmp_path)
    assert (row.gain, row.error, row.reason) == (None, None, module.NO_TIME)


def test_an_engine_that_fails_says_so(asked: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = {f"{IN_BF16}, default settings": ("load", "no")}
    monkeypatch.setattr(f"{module.__name__}.FinalBenchmark.run", lambda *_: verdict([str(ORT)], failed=failed))
    (row,) = found(tmp_path)
    assert row.reason == "it failed at load: no"
