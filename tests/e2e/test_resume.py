"""A compile that was killed goes on where it stopped: nothing that it measured is measured again."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import networks
from tests.e2e.conftest import Run, command

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
Intarsia = Callable[..., Run]

ENOUGH = 6
"""Records after which the compile is killed; the whole of it makes several times as many."""
PATIENCE_S = 300.0


def measurements(store: Path) -> dict[str, float]:
    """When each was made, by key. What is merely concluded from them, as a search is, is recorded too, but not here."""
    if not store.exists():
        return {}
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=60) as db:
        try:
            return dict(
                db.execute("SELECT key, made_at FROM record WHERE kind NOT IN ('search', 'no time')").fetchall()
            )
        except sqlite3.OperationalError:  # the file is there, and its tables not yet
            return {}
        finally:
            db.rollback()


def test_what_a_killed_compile_measured_is_not_measured_again(intarsia: Intarsia, tmp_path: Path) -> None:
    model, store = networks.save("squeezenet", tmp_path), tmp_path / "r.sqlite"
    settings = ("--target", "onnxruntime, openvino, mnn", "--budget", 600, "--store", store)
    arguments = ("compile", model, *settings, "-o", tmp_path / "m.intarsia", "--json")
    line, environment = command(*arguments)
    log = tmp_path / "log"
    with log.open("w") as words:
        process = subprocess.Popen(line, env=dict(environment), stdout=words, stderr=words)
    end = time.monotonic() + PATIENCE_S
    while len(measurements(store)) < ENOUGH and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    assert process.poll() is None, log.read_text()  # it ended before it could be killed
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = measurements(store)
    assert len(before) >= ENOUGH

    report = intarsia(*arguments).json()
    after = measurements(store)
    measured, cached = report["search"]["measured"], report["search"]["cached"]
    # A key keeps its first record, so what was measured again would be counted and leave none.
    repeated = measured - (len(after) - len(before))
    assert repeated == 0
    assert measured > 0
    assert cached >= ENOUGH
    assert {key: after[key] for key in before} == before
