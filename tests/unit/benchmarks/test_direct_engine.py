"""The protocol of a contender's process."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np

from benchmarks.direct_engine import Engine, serve


def test_runs_are_warmed_timed_and_counted() -> None:
    calls: list[int] = []
    answers = io.StringIO()
    serve(Engine(run=lambda: calls.append(1), outputs=list), io.StringIO("2 3\n0 1\n"), answers, 5.0)
    first, second = map(json.loads, answers.getvalue().splitlines())
    assert (len(first), len(second), len(calls)) == (3, 1, 6)
    assert min(first) >= 0


def test_what_answers_several_at_one_time_is_timed_by_what_lies_between_answers() -> None:
    calls: list[int] = []
    answers = io.StringIO()
    engine = Engine(run=lambda: calls.append(1), outputs=list, between=lambda count: 0.5 * count)
    serve(engine, io.StringIO("2 3\n"), answers, 5.0)
    assert (json.loads(answers.getvalue()), len(calls)) == ([1.5], 2)


def test_outputs_are_saved_in_order(tmp_path: Path) -> None:
    file = tmp_path / "with blank" / "outputs.npz"
    file.parent.mkdir()
    engine = Engine(run=lambda: None, outputs=lambda: [np.zeros(2), np.ones((1, 3))])
    answers = io.StringIO()
    serve(engine, io.StringIO(f"outputs {file}\n"), answers, 5.0)
    assert answers.getvalue() == "saved\n"
    with np.load(file) as archive:
        assert [archive[name].shape for name in ("arr_0", "arr_1")] == [(2,), (1, 3)]


def test_what_the_start_took_is_told() -> None:
    answers = io.StringIO()
    serve(Engine(run=lambda: None, outputs=list), io.StringIO("footprint\n"), answers, 5.0)
    told = json.loads(answers.getvalue())
    assert told["cold_ms"] == 5.0
    assert told["peak_mb"] > 1
