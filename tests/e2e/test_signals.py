"""Ctrl-C and the end of a job at moments that nobody chose: nothing is left, no process and no folder."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from intarsia.errors import Interrupted
from intarsia.runtime.artifact.container import Reader
from tests.e2e.conftest import command

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
PATIENCE_S = 300.0
MARK = "SIGNALS_TEST"
KEPT = ("intarsia-*.lock", f"intarsia-{os.getuid()}")
"""What stays among temporary files: the lock, and the folder for what can be made again."""
MOMENTS = [
    pytest.param(seed, number, marks=pytest.mark.large if seed >= 4 else ())
    for seed in range(40)
    for number in (signal.SIGINT, signal.SIGTERM)
    if seed >= 4 or (seed % 2 == 0) == (number == signal.SIGINT)
]


def processes(mark: str) -> list[psutil.Process]:
    """Those that are left of a command: it hands its environment on."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def ended(mark: str) -> Iterator[psutil.Process]:
    """Whoever does not end: what was told to may take a moment."""
    end = time.monotonic() + PATIENCE_S
    while processes(mark) and time.monotonic() < end:
        time.sleep(0.1)
    yield from processes(mark)


@pytest.mark.parametrize(("seed", "number"), MOMENTS)
def test_nothing_is_left(seed: int, number: signal.Signals, tiny: Path, tmp_path: Path) -> None:
    temporary, store, out = tmp_path / "tmp", tmp_path / "store" / "r.sqlite", tmp_path / "out" / "m.intarsia"
    temporary.mkdir()
    out.parent.mkdir()
    settings = ("--target", "mnn, ncnn", "--budget", 2, "--threads", 1)
    line, environment = command("compile", tiny, *settings, "--store", store, "-o", out)
    mark = str(tmp_path)
    process = subprocess.Popen(
        line,
        env={**environment, "TMPDIR": str(temporary), MARK: mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    end = time.monotonic() + PATIENCE_S
    while not store.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(random.Random(seed).uniform(0, 8))
    process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE_S)
    # While the interpreter ends, which is after the artifact was written, the signal has its default effect.
    is_over = process.returncode == -number and out.exists()
    assert process.returncode in {0, Interrupted.exit_code} or is_over, said
    assert "Traceback" not in said
    assert "Exception ignored" not in said
    assert list(ended(mark)) == []
    work = store.with_name("r.files") / "work"
    assert not work.exists() or list(work.iterdir()) == []
    assert [path.name for path in temporary.iterdir() if not any(path.match(kept) for kept in KEPT)] == []
    assert {path.name for path in out.parent.iterdir()} <= {out.name}
    if out.exists():
        Reader(out)


def test_at_once_when_nothing_was_begun() -> None:
    """While Python still imports: no traceback, and the same exit code."""
    line = [
        sys.executable,
        "-c",
        "import os, signal, sys\n"
        "from intarsia.cli import start\n"
        "class Presses:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'intarsia.cli.main':\n"
        "            os.kill(os.getpid(), getattr(signal, sys.argv[1]))\n"
        "sys.meta_path.insert(0, Presses())\n"
        "start.main()",
    ]
    _, environment = command()
    for name in ("SIGINT", "SIGTERM"):
        done = subprocess.run([*line, name], env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
