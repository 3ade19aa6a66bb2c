"""Which plans take part in the last benchmark where there is little time."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from intarsia.cost.worker.deadline import NO_END
from intarsia.cost.worker.progress import unwatched
from intarsia.planning.problem import Candidate
from intarsia.search.decision.final_benchmark import FinalBenchmark
from tests.unit.search.decision.test_decision import MIX, candidate


def taking_part(field: list[Candidate], most: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Who takes part where there is time for so many."""
    monkeypatch.setattr(FinalBenchmark, "_entry", lambda *_: SimpleNamespace(key=None))
    monkeypatch.setattr(FinalBenchmark, "_seconds", lambda self, several, sets: float(len(several)))
    time = SimpleNamespace(is_endless=False, may_benchmark=lambda question, seconds: seconds <= most)
    measurer = SimpleNamespace(time=time, store=SimpleNamespace(get=lambda *_: None))
    anything = cast("Any", None)
    final = FinalBenchmark(anything, cast("Any", measurer), anything, None, NO_END, unwatched)
    return [each.name for each in final.fitting(field)]


def test_other_settings_of_the_best_engine_are_the_first_to_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    best, settings = (replace(candidate(name, ms), label="a") for name, ms in (("a free", 10.0), ("a call", 10.1)))
    other = replace(candidate("b", 10.9), label="b")
    field = [best, settings, other, MIX]
    assert taking_part(field, 4, monkeypatch) == ["a free", "a call", "b", MIX.name]
    assert taking_part(field, 3, monkeypatch) == ["a free", "b", MIX.name]
    assert taking_part(field, 2, monkeypatch) == ["a free", MIX.name]
