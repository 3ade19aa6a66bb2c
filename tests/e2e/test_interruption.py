"""Ctrl-C at any moment of a compile: a usable artifact or none, a store that goes on, and nothing left behind."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

import intarsia
from intarsia.cost.progress import Progress
from intarsia.cost.store import Store
from intarsia.errors import Interrupted
from intarsia.runtime import random_feeds
from tests.e2e.conftest import Run, command
from tests.e2e.test_resume import measurements

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
SETTINGS: dict[str, Any] = {"target": "mnn, ncnn", "budget": 1.0, "threads": 1}
PATIENCE_S = 120.0


@pytest.fixture(autouse=True)
def _heard() -> Iterator[None]:
    """As in a terminal: whoever starts the tests in the background may have them ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class AtEvent:
    """Watches a compile, and presses Ctrl-C at one of its events."""

    def __init__(self, event: int) -> None:
        self._left = event

    def __call__(self, _: Progress) -> None:
        self._left -= 1
        if self._left == -1:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def after(seconds: float) -> Iterator[None]:
    """Press Ctrl-C once, after this time, unless the block has ended by then."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def is_tidy(store: Path) -> bool:
    """Whether no worker and no folder of work is left."""
    workers = [child for child in psutil.Process().children(recursive=True) if child.status() != psutil.STATUS_ZOMBIE]
    return not workers and not list((Store(store).folder / "work").iterdir())


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


def check_best(interrupted: Interrupted, path: Path) -> None:
    """The best so far answers and says what it is."""
    with interrupted.best as best:
        assert best.report["search"]["interrupted"]
        assert best.report["chosen"] == best.report["best_single"]
        assert best.report["max_rel_error"] < 1e-3
        best.save(path)
    with intarsia.load(path) as loaded:
        assert all(array.size for array in loaded(random_feeds(loaded.inputs, seed=1)).values())


@pytest.fixture(scope="module")
def known(folder: Path) -> Path:
    """A store that several tests share: what one of them measured, the next one knows."""
    return folder / "interruption.sqlite"


def test_each_time_it_is_interrupted_it_goes_on_where_it_stopped(tiny: Path, known: Path, tmp_path: Path) -> None:
    store, event, bests = known, 0, 0
    seen: dict[str, float] = {}
    while True:
        try:
            with intarsia.compile(tiny, store=store, progress=AtEvent(event), **SETTINGS) as compiled:
                report = compiled.report
                break
        except Interrupted as interrupted:
            if interrupted.best is not None:
                bests += 1
                check_best(interrupted, tmp_path / "m.intarsia")
        assert is_tidy(store)
        records = measurements(store)
        assert records.items() >= seen.items()  # nothing is lost, nothing measured again
        seen, event = records, event + 3
    assert bests >= 1
    assert report["search"]["interrupted"] is False
    assert report["search"]["measured"] == len(measurements(store)) - len(seen)


@pytest.mark.parametrize("seconds", [0.3, pytest.param(2.0, marks=pytest.mark.large)])
def test_in_the_middle_of_anything(seconds: float, tiny: Path, tmp_path: Path) -> None:
    store = tmp_path / "r.sqlite"
    try:
        with after(seconds), intarsia.compile(tiny, store=store, **SETTINGS):
            pytest.fail("it ended before the interruption")
    except Interrupted as interrupted:
        if interrupted.best is not None:
            check_best(interrupted, tmp_path / "m.intarsia")
    assert is_tidy(store)


def test_in_a_terminal(tiny: Path, tmp_path: Path) -> None:
    store, out = tmp_path / "r.sqlite", tmp_path / "m.intarsia"
    settings = ("--target", SETTINGS["target"], "--budget", SETTINGS["budget"], "--threads", SETTINGS["threads"])
    line, environment = command("compile", tiny, *settings, "--store", store, "-o", out)
    done = in_a_terminal(line, environment, b"\x03", lambda: len(measurements(store)) >= 2)
    assert done.code == Interrupted.exit_code, done.out
    assert f"interrupted: wrote {out}, the best so far" in done.out
    assert "Traceback" not in done.out
    assert not outcomes(store, "crash")  # the terminal told the workers nothing
    with intarsia.load(out) as loaded:
        assert loaded(random_feeds(loaded.inputs, seed=1))


def test_a_second_time_ends_at_once(tiny: Path, known: Path) -> None:
    pressed = AtEvent(3)

    def watch(now: Progress) -> None:
        if now.stage == "interrupted":
            signal.raise_signal(signal.SIGINT)
        pressed(now)

    with pytest.raises(Interrupted) as caught:
        intarsia.compile(tiny, store=known, progress=watch, **SETTINGS)
    assert caught.value.best is None
    assert is_tidy(known)
