"""Without a stated error nothing but fp32 is looked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from intarsia.config.precision import Precision, Scheme
from intarsia.cost.timing.timetable import Timetable
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.progress import unwatched
from intarsia.planning.problem import Candidate
from intarsia.search.precision.accuracy_budget import AccuracyBudget
from intarsia.search.precision.reduced_precision import ReducedPrecisionPlans
from intarsia.search.precision.trials import ReducedPrecision
from intarsia.search.thresholds import PRECISION
from intarsia.target import Target
from tests.unit.graph.quantise.networks import loaded, residual
from tests.unit.search.fakes import MemoryStore, chain_problem

TARGET = Target("reference")


class Telling:
    """Answers 1 for plans in fp32, and a little more or less for others; nothing else may be asked of it."""

    def __init__(self, folder: Path, off: float) -> None:
        self.folder = folder
        self.graph = SimpleNamespace(outputs=("y", "z"))
        self.store = MemoryStore(folder)
        self.measured = self.cached = 0
        self.may_conclude = True
        self.time = Timetable()
        self.provenance: dict[str, Any] = {}
        self._off = off
        self.asked = 0

    def answers(self, partitions: Any, settings: Any, inputs: Any) -> list[tuple[np.ndarray, ...]]:
        self.asked += 1
        off = self._off if settings.max_error else 0.0
        return [(np.full(4, 1.0 + off), np.full(2, 1.0)) for _ in inputs]


def accuracy_budget(folder: Path, max_error: float | None, off: float = 0.0) -> tuple[AccuracyBudget, Candidate]:
    return _accuracy_budget(Telling(folder, off), max_error)


def _accuracy_budget(telling: Any, max_error: float | None) -> tuple[AccuracyBudget, Candidate]:
    problem = chain_problem(2, [TARGET])
    problem = replace(problem, settings=replace(problem.settings, max_error=max_error), graph=loaded(residual()))
    plan = Candidate(
        name="single",
        label="single",
        partitions=problem.whole(TARGET),
        settings=_run(problem.threads),
        predicted_ms=(1.0,),
    )
    return AccuracyBudget(problem, telling, [plan], [], unwatched), plan


def _run(threads: int) -> Any:
    from intarsia.config import RunSettings

    return RunSettings(threads=threads)


def test_by_default_nothing_in_less_than_fp32_is_even_proposed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "intarsia.search.precision.accuracy_budget.ReducedPrecisionSearch", None
    )  # whoever looks for one fails
    nothing, plan = accuracy_budget(tmp_path, None)
    assert nothing.plans() == ReducedPrecisionPlans()
    assert nothing.judge(plan) is None
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("off", "holds", "has_room"), [(0.009, True, True), (0.0099, True, False), (0.011, False, False)]
)
def test_what_won_is_judged_by_its_worst_output(tmp_path: Path, off: float, holds: bool, has_room: bool) -> None:
    some, plan = accuracy_budget(tmp_path, 0.01, off)
    reduced = replace(plan, settings=replace(plan.settings, max_error=0.01))
    accuracy = some.judge(reduced)
    assert accuracy is not None
    assert (accuracy.inputs, accuracy.holds, accuracy.has_room) == (PRECISION.validation, holds, has_room)
    assert accuracy.worst["y"] == pytest.approx(off)
    assert accuracy.mean["z"] == 0.0


def test_the_plan_that_others_are_judged_by_is_not_judged(tmp_path: Path) -> None:
    telling: Any = Telling(tmp_path, 0.005)
    some, plan = _accuracy_budget(telling, 0.01)
    assert (some.judge(plan), telling.asked) == (None, 0)


def test_what_is_known_of_a_plan_is_not_asked_again(tmp_path: Path) -> None:
    telling: Any = Telling(tmp_path, 0.005)
    some, plan = _accuracy_budget(telling, 0.01)
    reduced = replace(plan, settings=replace(plan.settings, max_error=0.01))
    first = some.judge(reduced)
    assert (telling.asked, telling.measured, telling.cached) == (2, 1, 0)
    again, _ = _accuracy_budget(telling, 0.01)
    assert again.judge(reduced) == first
    assert (telling.asked, telling.measured, telling.cached) == (2, 1, 1)
    stricter, _ = _accuracy_budget(telling, 0.006)
    stricter.judge(reduced)
    assert telling.asked == 4


def test_plans_are_looked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    telling: Any = Telling(tmp_path, 0.0)
    some, plan = _accuracy_budget(telling, 0.01)
    precision = Precision.of({"conv1": Scheme.STATIC}, {"picture": (-5.0, 5.0)})
    settings = replace(plan.settings, max_error=0.01)
    reduced = replace(
        plan,
        name="single, int8-static",
        partitions=(replace(plan.partitions[0], precision=precision),),
        settings=settings,
    )
    found = ReducedPrecisionPlans(
        found=(ReducedPrecision(candidate=reduced, error=0.004),), dropped=(("a", "too slow"),), reason="why"
    )
    monkeypatch.setattr(
        "intarsia.search.precision.accuracy_budget.ReducedPrecisionSearch",
        lambda *_: SimpleNamespace(run=lambda exact: found, is_judged=False),
    )
    assert some.plans() == found
    monkeypatch.setattr(
        "intarsia.search.precision.accuracy_budget.ReducedPrecisionSearch", None
    )  # whoever looks again fails
    again, _ = _accuracy_budget(telling, 0.01)
    assert again.plans() == found
    assert (telling.measured, telling.cached) == (1, 1)


def _in_8_bits(plan: Candidate) -> Candidate:
    precision = Precision.of({"conv1": Scheme.STATIC}, {"picture": (-5.0, 5.0)})
    partitions = (replace(plan.partitions[0], precision=precision),)
    return replace(plan, name="single, int8", partitions=partitions, settings=replace(plan.settings, max_error=0.01))


@pytest.mark.parametrize(("left_s", "inputs"), [(1e6, PRECISION.validation), (0.0, 0)])
def test_before_the_benchmark_a_plan_is_judged_in_the_time_that_the_benchmark_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left_s: float, inputs: int
) -> None:
    telling: Any = Telling(tmp_path, 0.005)
    telling.time = Timetable(Deadline(left_s), telling.store)
    some, plan = _accuracy_budget(telling, 0.01)
    kept_s: list[float] = []

    def looking(*arguments: Any) -> Any:
        def run(exact: object) -> ReducedPrecisionPlans:
            before_s = telling.time.kept_s
            accuracy = arguments[-1](_in_8_bits(plan))
            assert accuracy.inputs == inputs
            kept_s.append(telling.time.kept_s - before_s)
            return ReducedPrecisionPlans()

        return SimpleNamespace(run=run, is_judged=True)

    monkeypatch.setattr("intarsia.search.precision.accuracy_budget.ReducedPrecisionSearch", looking)
    some.plans()
    assert kept_s == [0.0]


@pytest.mark.parametrize("is_judged", [False, True])
def test_behind_the_search_time_is_kept_for_judging_what_was_not_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_judged: bool
) -> None:
    telling: Any = Telling(tmp_path, 0.0)
    some, plan = _accuracy_budget(telling, 0.01)
    found = ReducedPrecisionPlans(found=(ReducedPrecision(candidate=_in_8_bits(plan), error=0.004),))
    search = SimpleNamespace(run=lambda exact: found, is_judged=is_judged)
    monkeypatch.setattr("intarsia.search.precision.accuracy_budget.ReducedPrecisionSearch", lambda *_: search)
    some.plans()
    assert (telling.time.kept_s == 0.0) is is_judged
