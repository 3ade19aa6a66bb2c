"""Which plans take part in the last benchmark where there is little time."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from intarsia.cost.records.store import Store
from intarsia.cost.timing.timetable import Timetable
from intarsia.cost.timing.verdict import Verdict
from intarsia.cost.worker.deadline import NO_END, Deadline
from intarsia.cost.worker.progress import unwatched
from intarsia.planning.problem import Candidate
from intarsia.search.decision import final_benchmark as module
from intarsia.search.decision.decision import NO_BENCHMARK
from intarsia.search.decision.final_benchmark import FinalBenchmark
from tests.unit.search.decision.test_decision import MIX, candidate
from tests.unit.search.fakes import MemoryStore


def taking_part(field: list[Candidate], most: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Who takes part where there is time for so many."""
    monkeypatch.setattr(FinalBenchmark, "_entry", lambda *_: SimpleNamespace(key=None))
    monkeypatch.setattr(FinalBenchmark, "_seconds", lambda self, several, sets, rounds_s=None: float(len(several)))
    time = SimpleNamespace(is_endless=False, may_benchmark=lambda question, seconds: seconds <= most)
    measurer = SimpleNamespace(time=time, store=SimpleNamespace(get=lambda *_: None))
    anything = cast("Any", None)
    final = FinalBenchmark(anything, cast("Any", measurer), anything, None, NO_END, unwatched)
    return [each.name for each in final.fitting(field)]


class Timed(FinalBenchmark):
    """A benchmark that takes a second for each plan, and of which nothing is in the store."""

    def _seconds(self, field: Sequence[Candidate], sets: int, rounds_s: float | None = None) -> float:
        return float(len(field))

    def _stored(self, field: Sequence[Candidate]) -> tuple[Any, None]:
        return None, None

    def _compared(self, field: Sequence[Candidate]) -> Verdict:
        return replace(NO_BENCHMARK, rounds_ms={each.name: (1.0,) for each in (*field, *self.also_shown)})


@pytest.mark.parametrize(
    ("left_s", "shown"), [(3.0, ["a", "collage", "b at its defaults"]), (2.0, ["a", "collage"]), (1.0, [])]
)
def test_what_is_only_shown_is_left_out_where_that_makes_time_for_the_rest(
    monkeypatch: pytest.MonkeyPatch, left_s: float, shown: list[str]
) -> None:
    monkeypatch.setattr(module, "computed", lambda measurer, entry, compared, is_kept: compared())
    time = Timetable(Deadline(left_s, clock=lambda: 0.0), cast("Store", MemoryStore(Path())))
    monkeypatch.setattr(Timetable, "_saving_s", 0.0)
    measurer = cast("Any", SimpleNamespace(time=time, machine=nullcontext, cached=0))
    anything = cast("Any", None)
    also = (candidate("b at its defaults", 5.0),)
    final = Timed(anything, measurer, anything, None, NO_END, unwatched, also)
    assert list(final.run([candidate("a", 10.0), MIX]).rounds_ms) == shown
    assert list(final.run([candidate("a", 10.0), MIX]).rounds_ms) == shown  # and so it is when it is asked again


def test_a_field_of_nobody_is_not_compared() -> None:
    anything = cast("Any", None)
    assert Timed(anything, anything, anything, None, NO_END, unwatched).run([]) is NO_BENCHMARK


def test_other_settings_of_the_best_engine_are_the_first_to_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    best, settings = (replace(candidate(name, ms), label="a") for name, ms in (("a free", 10.0), ("a call", 10.1)))
    other = replace(candidate("b", 10.9), label="b")
    field = [best, settings, other, MIX]
    assert taking_part(field, 4, monkeypatch) == ["a free", "a call", "b", MIX.name]
    assert taking_part(field, 3, monkeypatch) == ["a free", "b", MIX.name]
    assert taking_part(field, 2, monkeypatch) == ["a free", MIX.name]
