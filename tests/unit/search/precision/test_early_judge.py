"""Plans are judged on validation inputs before the benchmark, the fastest first, and what misses the error goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from intarsia.config import RunSettings
from intarsia.cost.worker.progress import unwatched
from intarsia.errors import ExecutionError
from intarsia.partitioning import Partition
from intarsia.planning.problem import Candidate
from intarsia.search.precision.early_judge import EarlyJudge
from intarsia.search.precision.trials import ReducedPrecision, Trials
from intarsia.search.precision.validation_set import Accuracy
from intarsia.search.thresholds import PRECISION
from intarsia.target import Target
from tests.unit.search.fakes import chain_problem

ALLOWED = 0.01
EXACT_MS = 10.0


def plan(name: str, ms: float) -> Candidate:
    return Candidate(
        name=name,
        label=name,
        partitions=(Partition(target=Target("reference"), nodes=("n0",)),),
        settings=RunSettings(threads=1),
        predicted_ms=(ms,),
    )


def accuracy(error: float, inputs: int = 32) -> Accuracy:
    return Accuracy(max_error=ALLOWED, inputs=inputs, worst={"y": error}, mean={"y": error})


class Case:
    """Trials that found plans of these milliseconds, and what is told of each plan."""

    def __init__(self, found: dict[str, float], told: dict[str, Accuracy | Exception | None]) -> None:
        problem = chain_problem(1, [Target("reference")])
        problem = replace(problem, settings=replace(problem.settings, max_error=ALLOWED))
        self.trials = Trials(problem, cast("Any", SimpleNamespace()), cast("Any", None), unwatched)
        self.asked: list[str] = []
        self.looked_again: list[str] = []
        self._told = told
        for name, ms in found.items():
            self.find(name, ms)
        self.early = EarlyJudge(self.trials, [plan("exact", EXACT_MS)], self._judge)

    def find(self, name: str, ms: float, error: float = 0.009) -> None:
        self.trials.keep(
            ReducedPrecision(candidate=plan(name, ms), error=error),
            plan("exact", EXACT_MS),
            "type",
            self._again(name),
        )

    def _again(self, name: str) -> Callable[[], None]:
        return lambda: self.looked_again.append(name)

    def _judge(self, asked: Candidate) -> Accuracy | None:
        self.asked.append(asked.name)
        told = self._told[asked.name]
        if isinstance(told, Exception):
            raise told
        return told

    @property
    def left(self) -> list[str]:
        return [each.candidate.name for each in self.trials.found]


def test_the_fastest_is_judged_once() -> None:
    case = Case({"slow": 6.0, "fast": 5.0}, {"fast": accuracy(0.005)})
    case.early.run()
    case.early.run()
    assert (case.asked, case.left, case.early.missed) == (["fast"], ["slow", "fast"], [])
    assert case.early.has_judged_best
    case.find("faster", 4.0)
    assert not case.early.has_judged_best


def test_what_misses_the_error_goes_and_others_aim_at_less() -> None:
    case = Case({"slow": 6.0, "fast": 5.0}, {"fast": accuracy(0.02), "slow": accuracy(0.009)})
    case.early.run()
    assert (case.asked, case.left, case.looked_again) == (["fast", "slow"], ["slow"], ["fast"])
    ((label, why),) = case.early.missed
    assert (label, why) == ("fast", "it has an error of 0.02 on validation inputs; 0.01 is allowed")
    assert case.trials.aim == pytest.approx(PRECISION.margin * ALLOWED / (0.02 / (PRECISION.seen * ALLOWED)))
    assert case.early.has_judged_best


def test_an_engine_that_fails_misses_it_too() -> None:
    case = Case({"fast": 5.0}, {"fast": ExecutionError("reference", "it broke")})
    case.early.run()
    assert (case.left, case.looked_again) == ([], ["fast"])
    assert case.trials.aim == ALLOWED
    assert not case.early.has_judged_best


@pytest.mark.parametrize(("error", "looked_again"), [(0.009, []), (0.0119, ["fast"])])
def test_what_there_is_no_time_for_stays_and_a_part_of_it_is_looked_for_if_it_is_near_the_error(
    error: float, looked_again: list[str]
) -> None:
    case = Case({}, {"fast": accuracy(0.0, inputs=0)})
    case.find("fast", 5.0, error)
    case.early.run()
    case.early.run()
    assert (case.asked, case.left, case.looked_again) == (["fast"], ["fast"], looked_again)
    assert not case.early.has_judged_best


def test_what_is_hardly_faster_than_in_fp32_is_not_judged() -> None:
    case = Case({"near": EXACT_MS / PRECISION.promising + 0.1}, {})
    case.early.run()
    assert (case.asked, case.left) == ([], ["near"])


def test_no_more_are_judged_than_there_may_be() -> None:
    names = [f"p{number}" for number in range(PRECISION.judged + 2)]
    case = Case({name: 3.0 + number / 10 for number, name in enumerate(names)}, dict.fromkeys(names, accuracy(0.02)))
    case.early.run()
    assert case.asked == names[: PRECISION.judged]
