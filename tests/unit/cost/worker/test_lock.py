"""The machine is held by one process at a time, and freed by the kernel when its holder dies."""

from __future__ import annotations

import logging
import os
import stat
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from intarsia.cost.thresholds import PATIENCE
from intarsia.cost.worker import lock, progress
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.lock import machine_lock
from intarsia.cost.worker.progress import Progress
from intarsia.errors import DiskError

HOLDER = """
import sys
import tempfile
from pathlib import Path
from intarsia.cost.worker import lock, progress
lock.lock_path = lambda: Path(sys.argv[1])
with lock.machine_lock():
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(lock, "lock_path", lambda: tmp_path / "lock")
    monkeypatch.setattr(lock, "PATIENCE", replace(PATIENCE, lock_s=0.05))
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


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files that all users share, with a lock path of its own."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    monkeypatch.undo()
    monkeypatch.setattr(lock, "PATIENCE", replace(PATIENCE, lock_s=0.05))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    lock._remark.cache_clear()
    return folder


def usual(shared: Path) -> Path:
    return shared / f"intarsia-{os.getuid()}.lock"


def test_it_is_one_for_each_user(shared: Path) -> None:
    assert lock.lock_path() == usual(shared)
    assert stat.S_IMODE(usual(shared).stat().st_mode) == 0o600
    with machine_lock():
        assert lock.lock_path() == usual(shared)


def planted_link(path: Path) -> None:
    victim = path.with_name("victim")
    victim.write_text("precious")
    path.symlink_to(victim)


def planted_loop(path: Path) -> None:
    path.symlink_to(path)


def planted_folder(path: Path) -> None:
    path.mkdir()


def planted_pipe(path: Path) -> None:
    os.mkfifo(path)


def planted_second_name(path: Path) -> None:
    victim = path.with_name("victim")
    victim.write_text("precious")
    os.link(victim, path)


def planted_of_another(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may give files away")
    path.touch()
    os.chown(path, 12345, 12345)


PLANTED = {
    "is a link": planted_link,
    "is a link ": planted_loop,
    "is a folder": planted_folder,
    "is no file": planted_pipe,
    "has another name": planted_second_name,
    "is another user's": planted_of_another,
}


@pytest.mark.parametrize("fault", PLANTED)
def test_what_another_user_put_there_keeps_nobody_from_measuring(
    fault: str, shared: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    PLANTED[fault](usual(shared))
    before = usual(shared).lstat()
    with machine_lock(), machine_lock():
        assert (tmp_path / "cache" / "intarsia" / "machine.lock").is_file()
    assert usual(shared).lstat().st_ino == before.st_ino
    victim = shared / "victim"
    assert not victim.exists() or victim.read_text() == "precious"
    assert [record.getMessage() for record in caplog.records] == [
        f"{usual(shared)} {fault.strip()}: the lock that keeps compiles from measuring at one time is "
        f"{tmp_path}/cache/intarsia/machine.lock instead; remove it"
    ]


def test_others_find_the_same_one_in_its_place(shared: Path) -> None:
    usual(shared).mkdir()
    holder = hold(lock.lock_path())
    told: list[str] = []

    def watch(progress: Progress) -> None:
        told.append(progress.stage)
        holder.communicate(b"go\n")

    with machine_lock(watch):
        assert told == ["wait"]


def test_without_a_folder_of_its_own_it_lies_among_temporary_files(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual(shared).mkdir()
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with machine_lock():
        assert (shared / f"intarsia-{os.getuid()}" / "machine.lock").is_file()


def test_a_file_that_cannot_be_opened_is_told(path: Path) -> None:
    path.mkdir()
    with pytest.raises(DiskError, match="cannot be opened"), machine_lock():
        pass
