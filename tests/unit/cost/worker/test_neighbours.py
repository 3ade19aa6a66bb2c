"""Others that compute beside an engine are seen; what the engine itself computes is not others' doing."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from intarsia.cost.worker.neighbours import Neighbours


class System:
    """Processors whose times go on as a test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = self.user = self.iowait = self.own = 0.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(os, "cpu_count", lambda: 2)
        monkeypatch.setattr(psutil, "cpu_times", self._times)
        monkeypatch.setattr(Neighbours, "_own", lambda _: self.own)

    def _times(self) -> Any:
        fields = {"user": self.user, "idle": 1e6 + self.now, "iowait": self.iowait, "guest": self.user}
        return SimpleNamespace(_asdict=lambda: fields)


@pytest.mark.parametrize(
    ("user", "iowait", "own", "were_busy"),
    [
        (20.0, 0.0, 20.0, False),
        (20.0, 0.0, 0.0, True),
        (20.0, 0.0, 15.0, True),
        (1.0, 0.0, 0.0, False),
        (0, 9, 0, True),
    ],
)
def test_others_are_what_is_left(
    monkeypatch: pytest.MonkeyPatch, user: float, iowait: float, own: float, were_busy: bool
) -> None:
    system = System(monkeypatch)
    watch = Neighbours(1)
    system.now, system.user, system.iowait, system.own = 10.0, user, iowait, own
    assert watch.were_busy() is were_busy


def test_the_time_of_a_real_process_grows_and_one_that_is_gone_has_none() -> None:
    before = Neighbours(os.getpid())._own()
    end = before + 0.05
    while Neighbours(os.getpid())._own() < end:
        sum(range(10_000))
    assert Neighbours(2**22 + 1)._own() == 0.0
