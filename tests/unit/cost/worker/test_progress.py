"""What a watcher is told, and that nobody has to watch."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.cost.worker.deadline import NO_END, Deadline
from intarsia.cost.worker.progress import Counting, Progress, unwatched


def test_only_the_stage_is_always_known() -> None:
    progress = Progress(stage="measure")
    assert (progress.done, progress.total, progress.best_ms, progress.note) == (0, None, None, "")


def test_a_watcher_cannot_change_what_others_are_told() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Progress(stage="measure").done = 1  # type: ignore[misc]


def test_nobody_has_to_watch(capsys: pytest.CaptureFixture[str]) -> None:
    unwatched(Progress(stage="measure", note="something"))
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("stage", ["wait", "time"])
def test_what_whoever_waits_has_to_know_is_logged(stage: str, caplog: pytest.LogCaptureFixture) -> None:
    unwatched(Progress(stage=stage, note="this takes long"))
    assert [record.getMessage() for record in caplog.records] == ["this takes long"]


steps = st.builds(
    Progress,
    stage=st.sampled_from(["engines", "segments", "decide", "build"]),
    done=st.integers(0, 6),
    total=st.none() | st.integers(0, 6),
    best_ms=st.none() | st.floats(0.1, 100),
)


@given(st.lists(steps, max_size=40))
def test_it_counts_up_once_and_the_best_never_rises(several: list[Progress]) -> None:
    told: list[Progress] = []
    watch = Counting(told.append, NO_END)
    for step in several:
        watch(step)
    done: dict[str, int] = {}
    for before, now in zip(several, told, strict=True):
        assert (now.stage, now.total is None) == (before.stage, before.total is None)
        assert now.total is None or now.done <= now.total
        assert now.done >= done.get(now.stage, 0)
        done[now.stage] = now.done
    best = [now.best_ms for now in told if now.best_ms is not None]
    assert best == sorted(best, reverse=True)


def test_a_stage_that_begins_again_goes_on() -> None:
    told: list[Progress] = []
    watch = Counting(told.append, NO_END)
    for done in (0, 1, 2, 3, 4, 0, 1):
        watch(Progress(stage="decide", done=done, total=3))
    assert [(now.done, now.total) for now in told] == [(0, 3), (1, 3), (2, 3), (3, 3), (4, 4), (4, 7), (5, 7)]


def test_the_time_that_is_left_is_told() -> None:
    told: list[Progress] = []
    moments = iter((0.0, 4.0, 99.0))
    watch = Counting(told.append, Deadline(10.0, clock=lambda: next(moments)))
    watch(Progress(stage="engines"))
    watch(Progress(stage="engines"))
    assert [now.left_s for now in told] == [6.0, 0.0]
    Counting(told.append, NO_END)(Progress(stage="engines"))
    assert told[-1].left_s is None


def test_why_it_waits_is_said_once() -> None:
    told: list[Progress] = []
    watch = Counting(told.append, NO_END)
    for _ in range(3):
        watch(Progress(stage="wait", note="for another"))
    assert [now.note for now in told] == ["for another", "", ""]
