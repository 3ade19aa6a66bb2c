"""Without a stated error nothing but fp32 is looked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from intarsia.cost.progress import unwatched
from intarsia.search.allowance import Allowance
from intarsia.search.problem import Candidate
from intarsia.search.rough import RoughPlans
from intarsia.search.unseen import UNSEEN
from intarsia.target import Target
from tests.unit.graph.quantise.networks import loaded, residual
from tests.unit.search.fakes import chain_problem

TARGET = Target("reference")


class Telling:
    """Answers 1 for plans in fp32, and a little more or less for others; nothing else may be asked of it."""

    def __init__(self, folder: Path, off: float) -> None:
        self.folder = folder
        self.graph = SimpleNamespace(outputs=("y", "z"))
        self._off = off

    def answers(self, partitions: Any, settings: Any, inputs: Any) -> list[tuple[np.ndarray, ...]]:
        off = self._off if settings.max_error else 0.0
        return [(np.full(4, 1.0 + off), np.full(2, 1.0)) for _ in inputs]


def allowance(folder: Path, max_error: float | None, off: float = 0.0) -> tuple[Allowance, Candidate]:
    problem = chain_problem(2, [TARGET])
    problem = replace(problem, settings=replace(problem.settings, max_error=max_error), graph=loaded(residual()))
    plan = Candidate(
        name="single",
        label="single",
        partitions=problem.whole(TARGET),
        settings=_run(problem.threads),
        predicted_ms=(1.0,),
    )
    telling: Any = Telling(folder, off)
    return Allowance(problem, telling, [plan], [], unwatched), plan


def _run(threads: int) -> Any:
    from intarsia.config import RunSettings

    return RunSettings(threads=threads)


def test_by_default_nothing_in_less_than_fp32_is_even_proposed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("intarsia.search.allowance.RoughSearch", None)  # whoever looks for one fails
    nothing, plan = allowance(tmp_path, None)
    assert nothing.plans() == RoughPlans()
    assert nothing.judge(plan) is None
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("off", "holds"), [(0.009, True), (0.011, False)])
def test_what_won_is_judged_by_its_worst_output(tmp_path: Path, off: float, holds: bool) -> None:
    some, plan = allowance(tmp_path, 0.01, off)
    rough = replace(plan, settings=replace(plan.settings, max_error=0.01))
    accuracy = some.judge(rough)
    assert accuracy is not None
    assert (accuracy.inputs, accuracy.holds) == (UNSEEN, holds)
    assert accuracy.worst["y"] == pytest.approx(off)
    assert accuracy.mean["z"] == 0.0
