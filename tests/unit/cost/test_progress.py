"""What a watcher is told, and that nobody has to watch."""

from __future__ import annotations

import dataclasses

import pytest

from intarsia.cost.progress import Progress, unwatched


def test_only_the_stage_is_always_known() -> None:
    progress = Progress(stage="measure")
    assert (progress.done, progress.total, progress.best_ms, progress.note) == (0, None, None, "")


def test_a_watcher_cannot_change_what_others_are_told() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Progress(stage="measure").done = 1  # type: ignore[misc]


def test_nobody_has_to_watch(capsys: pytest.CaptureFixture[str]) -> None:
    unwatched(Progress(stage="measure", note="something"))
    assert capsys.readouterr() == ("", "")
