"""The machine is held by one process at a time, and freed by the kernel when its holder dies."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from intarsia.cost import lock, progress
from intarsia.cost.deadline import Deadline
from intarsia.cost.lock import machine_lock
from intarsia.cost.progress import Progress

HOLDER = """
import sys
from pathlib import Path
from intarsia.cost import lock, progress
lock.lock_path = lambda: Path(sys.argv[1])
with lock.machine_lock():
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(lock, "lock_path", lambda: tmp_path / "lock")
    monkeypatch.setattr(lock, "PATIENCE_S", 0.05)
    return tmp_path / "lock"


def hold(path: Path) -> subprocess.Popen[bytes]:
    """A process that holds the lock until it is told something."""
    line = [sys.executable, "-c", HOLDER, str(path)]
    holder = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    return holder


def test_it_is_reentrant(path: Path) -> None:
    with machine_lock(), machine_lock():
        assert path.exists()


def test_a_waiter_is_told_and_then_gets_it(path: Path) -> None:
    holder = hold(path)
    told: list[str] = []

    def watch(progress: Progress) -> None:
        told.append(progress.stage)
        holder.communicate(b"go\n")

    with machine_lock(watch):
        assert holder.returncode == 0
    assert told == ["wait"]


def test_a_killed_holder_frees_it(path: Path) -> None:
    holder = hold(path)
    holder.kill()
    holder.communicate()
    told: list[str] = []
    with machine_lock(lambda progress: told.append(progress.stage)):
        pass
    assert told == []


def test_whoever_does_not_watch_is_told_on_the_log(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    holder = hold(path)

    class Free(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            holder.communicate(b"go\n")

    free = Free()
    progress.log.addHandler(free)
    try:
        with machine_lock():
            assert holder.returncode == 0
    finally:
        progress.log.removeHandler(free)
    assert "another compile" in caplog.text


def test_waiting_is_not_counted(path: Path) -> None:
    holder = hold(path)
    moments = iter((0.0, 1.0, 51.0, 52.0))
    deadline = Deadline(10.0, clock=lambda: next(moments))  # it begins to wait at 1 s, and has the lock at 51 s
    holder.kill()
    holder.communicate()
    with machine_lock(deadline=deadline):
        assert deadline.spent == 2.0
