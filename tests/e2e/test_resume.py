"""A compile that was killed goes on where it stopped: nothing that it measured is measured again."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import networks
from tests.e2e.conftest import Run, command

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
Intarsia = Callable[..., Run]

CONCLUDED = ("search", "no time")
"""Kinds of records of what follows from measurements."""
ENOUGH = 6
"""Measurements after which the compile is killed; the whole of it makes several times as many."""
KILLED = f"""
import os, runpy, signal
from intarsia.cost.records.store import Store

put, written = Store.put, []

def counted(store, kind, *rest):
    put(store, kind, *rest)
    if kind not in {CONCLUDED}:
        written.append(kind)
    if len(written) == {ENOUGH}:
        os.kill(os.getpid(), signal.SIGKILL)

Store.put = counted
runpy.run_module("intarsia", run_name="__main__", alter_sys=True)
"""
"""The command, which kills itself: another process that looks on may come too late where the machine is busy."""


def measurements(store: Path) -> dict[str, float]:
    """When each was made, by key; none before the store is there."""
    if not store.exists():
        return {}
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=60)) as db:
        try:
            return dict(db.execute(f"SELECT key, made_at FROM record WHERE kind NOT IN {CONCLUDED}").fetchall())
        except sqlite3.OperationalError:  # the file is there, and its tables not yet
            return {}


def test_what_a_killed_compile_measured_is_not_measured_again(intarsia: Intarsia, tmp_path: Path) -> None:
    model, store = networks.save("squeezenet", tmp_path), tmp_path / "r.sqlite"
    settings = ("--target", "onnxruntime, openvino, mnn", "--budget", 600, "--store", store)
    arguments = ("compile", model, *settings, "-o", tmp_path / "m.intarsia", "--json")
    (python, *_), environment = command()
    line = [python, "-c", KILLED, *map(str, arguments)]
    killed = subprocess.run(line, env=dict(environment), capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    before = measurements(store)
    assert len(before) == ENOUGH

    report = intarsia(*arguments).json()
    after = measurements(store)
    measured, cached = report["search"]["measured"], report["search"]["cached"]
    # A key keeps its first record, so what was measured again would be counted and leave none.
    repeated = measured - (len(after) - len(before))
    assert repeated == 0
    assert measured > 0
    assert cached >= ENOUGH
    assert {key: after[key] for key in before} == before
