"""Ctrl-C at any moment of a compile: a usable artifact or none, a store that goes on, and nothing left behind."""

from __future__ import annotations

import json
import os
import pty
import select
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import intarsia
from intarsia.errors import Interrupted
from intarsia.runtime import random_feeds
from tests.e2e.conftest import ROOT, Run, command
from tests.e2e.test_resume import measurements

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
PATIENCE_S = 300.0


def pressed(model: Path, store: Path, out: Path, *how: object) -> Iterator[dict[str, Any]]:
    """What became of each compile of a process that presses Ctrl-C on itself (`tests.e2e.interrupted`)."""
    line = [sys.executable, "-m", "tests.e2e.interrupted", *map(str, (model, store, out, *how))]
    path = os.pathsep.join(map(str, (ROOT / "src", ROOT)))
    log, temporary = store.with_suffix(".log"), store.with_suffix(".tmp")
    temporary.mkdir(exist_ok=True)
    with (
        log.open("wb") as words,
        subprocess.Popen(
            line,
            env=os.environ | {"PYTHONPATH": path, "TMPDIR": str(temporary)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=words,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        for told in process.stdout:
            yield json.loads(told)
            process.stdin.write(b"\n")
            process.stdin.flush()
    assert process.returncode == 0, log.read_text()


def check_best(best: dict[str, Any]) -> None:
    """The best so far answers and says what it is."""
    report = best["report"]
    assert report["search"]["interrupted"]
    assert report["chosen"] == report["best_single"]
    assert report["max_rel_error"] < 1e-3
    assert best["answers"]


def outcomes(store: Path, stage: str) -> list[str]:
    """Recorded failures at a stage."""
    with closing(sqlite3.connect(store)) as db:
        return [row[0] for row in db.execute("SELECT outcome FROM record") if json.loads(row[0]).get("stage") == stage]


def in_a_terminal(line: list[str], environment: Mapping[str, str], key: bytes, ready: Callable[[], bool]) -> Run:
    """Run a command in a terminal of its own, and press a key there once."""
    ours, theirs = pty.openpty()
    # The terminal of a new session is the one that it opens first.
    shell = ["sh", "-c", 'exec "$@" <"$0" >"$0" 2>&1', os.ttyname(theirs), *line]
    process = subprocess.Popen(shell, env=dict(environment), start_new_session=True)
    shown, is_pressed, end = b"", False, time.monotonic() + PATIENCE_S
    try:
        while process.poll() is None and time.monotonic() < end:
            if select.select([ours], [], [], 0.02)[0]:
                shown += os.read(ours, 1 << 16)
            if not is_pressed and ready():
                is_pressed = os.write(ours, key) > 0
        while select.select([ours], [], [], 0)[0]:
            shown += os.read(ours, 1 << 16)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)
    return Run(code=process.returncode, out=shown.decode(), err="")


@pytest.fixture(scope="module")
def known(folder: Path) -> Path:
    """A store that several tests share: what one of them measured, the next one knows."""
    return folder / "interruption.sqlite"


def test_each_time_it_is_interrupted_it_goes_on_where_it_stopped(tiny: Path, known: Path, tmp_path: Path) -> None:
    bests, report = 0, None
    seen: dict[str, float] = {}
    for found in pressed(tiny, known, tmp_path / "m.intarsia", "each", 3):
        assert found["is_tidy"]
        records = measurements(known)
        assert records.items() >= seen.items()  # nothing is lost, nothing measured again
        report = found["report"]
        if report is None:
            seen = records
            if found["best"] is not None:
                bests += 1
                check_best(found["best"])
    assert bests >= 1
    assert report is not None
    assert report["search"]["interrupted"] is False
    assert report["search"]["measured"] == len(measurements(known)) - len(seen)


@pytest.mark.parametrize("seconds", [0.3, 1.0, pytest.param(2.0, marks=pytest.mark.large)])
def test_in_the_middle_of_anything(seconds: float, tiny: Path, tmp_path: Path) -> None:
    (found,) = pressed(tiny, tmp_path / "r.sqlite", tmp_path / "m.intarsia", "after", seconds)
    assert found["interrupted"], "it ended before the interruption"
    assert found["is_tidy"]
    if found["best"] is not None:
        check_best(found["best"])


@pytest.mark.parametrize("number", [1, 2])
def test_while_a_temporary_folder_is_removed(number: int, tiny: Path, tmp_path: Path) -> None:
    (found,) = pressed(tiny, tmp_path / "r.sqlite", tmp_path / "m.intarsia", "removing", number)
    assert found["interrupted"], "so many folders were not removed"
    assert found["is_tidy"]


def test_in_a_terminal(tiny: Path, tmp_path: Path) -> None:
    store, out = tmp_path / "r.sqlite", tmp_path / "m.intarsia"
    # It has much to do yet when the key is pressed, however long it takes to see that it is to be pressed.
    settings = ("--target", "mnn, ncnn", "--budget", 60, "--threads", 1)
    line, environment = command("compile", tiny, *settings, "--store", store, "-o", out)
    done = in_a_terminal(line, environment, b"\x03", lambda: len(measurements(store)) >= 2)
    assert done.code == Interrupted.exit_code, done.out
    # It is folded to the terminal, a long path inside of its name.
    assert f"interrupted:wrote{out},thebestsofar" in "".join(done.out.split())
    assert "Traceback" not in done.out
    assert not outcomes(store, "crash")  # the terminal told the workers nothing
    with intarsia.load(out) as loaded:
        assert loaded(random_feeds(loaded.inputs, seed=1))


def test_a_second_time_ends_at_once(tiny: Path, known: Path, tmp_path: Path) -> None:
    (found,) = pressed(tiny, known, tmp_path / "m.intarsia", "at", 3, "again")
    assert found["interrupted"]
    assert found["best"] is None
    assert found["is_tidy"]
