"""A folder for a while is gone afterwards, however it ends."""

from __future__ import annotations

import gc
import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from intarsia.errors import DiskError
from intarsia.files import Scratch, remove_folder, scratch, temporary_root

ENDS = {
    "by itself": "",
    "by an error": "1 / 0",
    "by exit": "sys.exit(3)",
    "by a signal": "os.kill(os.getpid(), signal.SIGINT)",
}
PROGRAM = """
import os, signal, sys
from pathlib import Path
from intarsia.files import Scratch
made = Scratch(Path(sys.argv[1]))
(made.path / "more").mkdir()
assert made.path.exists()
"""
INTERRUPTED = """
import os, shutil, signal, sys
from pathlib import Path
from intarsia.files import Scratch, scratch
from intarsia.files import scratch as module
signal.signal(signal.SIGINT, signal.default_int_handler)
remove = shutil.rmtree
def slowly(path, ignore_errors=False):
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000):
        pass
    remove(path, ignore_errors)
shutil.rmtree = slowly
try:
    with scratch(Path(sys.argv[1])):
        pass
except KeyboardInterrupt:
    print("interrupted")
"""


def test_it_is_private_and_gone_afterwards(tmp_path: Path) -> None:
    with scratch(tmp_path) as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "more").mkdir()
    assert list(tmp_path.iterdir()) == []


def test_it_lies_among_temporary_files() -> None:
    with scratch() as folder:
        assert folder.parent == Path(tempfile.gettempdir())


def test_closing_twice_is_fine(tmp_path: Path) -> None:
    made = Scratch(tmp_path)
    made.close()
    made.path.mkdir()
    made.close()
    assert made.path.exists()


def test_it_goes_with_its_object(tmp_path: Path) -> None:
    made = Scratch(tmp_path)
    del made
    gc.collect()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("end", ENDS)
def test_it_goes_with_the_process(end: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + ENDS[end], str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert "AssertionError" not in done.stderr
    assert list(tmp_path.iterdir()) == [], done.stderr


def test_a_forked_child_leaves_it(tmp_path: Path) -> None:
    program = PROGRAM + "child = os.fork()\nif child == 0:\n    sys.exit()\nos.wait()\nassert made.path.exists()\n"
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_waits_until_it_is_removed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_no_folder_for_temporary_files_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    with pytest.raises(DiskError, match="TMPDIR"):
        temporary_root()


def test_a_folder_is_removed_at_once(tmp_path: Path) -> None:
    (tmp_path / "f" / "more").mkdir(parents=True)
    remove_folder(tmp_path / "f")
    remove_folder(tmp_path / "f")
    assert list(tmp_path.iterdir()) == []


def test_signals_are_as_they_were(tmp_path: Path) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with scratch(tmp_path):
        pass
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    assert os.getpid()
