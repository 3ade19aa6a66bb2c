"""What the dead left is removed; what the living write is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from intarsia.files import SCRATCH, Scratch, replace_file, replacing, sweep
from intarsia.files.leftovers import own_name

WRITER = """
import sys
from pathlib import Path
from intarsia.files import Scratch, replacing
folder = Path(sys.argv[1])
made = Scratch(folder)
with replacing(folder / "f") as draft:
    draft.write_bytes(b"half")
    print(draft, made.path, flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def writer(tmp_path: Path) -> subprocess.Popen[str]:
    """A process in the middle of writing a file, with a folder for a while beside it."""
    line = [sys.executable, "-c", WRITER, str(tmp_path)]
    return subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_what_a_killed_writer_left_is_removed(writer: subprocess.Popen[str], tmp_path: Path) -> None:
    assert writer.stdout is not None
    draft, folder = map(Path, writer.stdout.readline().split())
    (folder / "more").touch()
    sweep(tmp_path)
    sweep(tmp_path, SCRATCH)
    assert draft.exists()
    assert folder.exists()
    writer.kill()
    writer.communicate()
    assert draft.exists()
    sweep(tmp_path)
    assert not draft.exists()
    sweep(tmp_path, SCRATCH)
    assert list(tmp_path.iterdir()) == []


def test_the_next_one_who_writes_there_removes_it(writer: subprocess.Popen[str], tmp_path: Path) -> None:
    assert writer.stdout is not None
    draft, _ = map(Path, writer.stdout.readline().split())
    writer.kill()
    writer.communicate()
    replace_file(tmp_path / "other", b"")
    assert not draft.exists()


def test_a_process_of_the_same_number_does_not_keep_it(tmp_path: Path) -> None:
    """As in containers, where each run has the number of the one before."""
    left = tmp_path / own_name()
    left.touch()
    assert str(os.getpid()) in left.name
    sweep(tmp_path)
    assert not left.exists()


def test_its_own_drafts_are_not_removed(tmp_path: Path) -> None:
    with replacing(tmp_path / "f") as draft, Scratch(tmp_path) as made:
        sweep(tmp_path)
        sweep(tmp_path, SCRATCH)
        assert draft.exists()
        assert made.path.exists()


def test_what_is_called_otherwise_is_not_touched(tmp_path: Path) -> None:
    names = {".intarsia-1-abc.tmp", "intarsia-1-0123456", ".f.123.tmp", "12-01234567"}
    for name in names:
        (tmp_path / name).touch()
    (tmp_path / ".intarsia-1-01234567.tmp").symlink_to(tmp_path / "12-01234567")
    sweep(tmp_path)
    sweep(tmp_path, SCRATCH)
    assert {path.name for path in tmp_path.iterdir()} == {*names, ".intarsia-1-01234567.tmp"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_what_is_another_user_s_is_not_touched(tmp_path: Path) -> None:
    left = tmp_path / own_name()
    left.touch()
    os.chown(left, 12345, 12345)
    sweep(tmp_path)
    assert left.exists()


def test_a_folder_that_is_not_there_has_nothing_left(tmp_path: Path) -> None:
    sweep(tmp_path / "none")
    assert not (tmp_path / "none").exists()
