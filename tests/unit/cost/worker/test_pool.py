"""Settings that need one environment share a process."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from intarsia.config import RunSettings, Spin
from intarsia.cost.worker.pool import WorkerPool

SETTINGS = RunSettings(threads=2)
FAULTS = {"KeyboardInterrupt": "os.kill(os.getpid(), signal.SIGINT)", "OSError": "raise OSError"}
PROGRAM = """
import os, signal, sys
from pathlib import Path
from intarsia.config import RunSettings
from intarsia.cost.worker.pool import WorkerPool
signal.signal(signal.SIGINT, signal.default_int_handler)
pool, ended = WorkerPool(Path(sys.argv[1]), ["reference"]), []
def end():
    ended.append(1)
    FAULT
for threads in (1, 2, 3):
    pool[RunSettings(threads=threads)].close = end
try:
    pool.stop()
except (KeyboardInterrupt, OSError) as fault:
    print(len(ended), "ended, and then", type(fault).__name__)
"""


def test_settings_that_differ_in_how_calls_follow_each_other_share_a_worker(tmp_path: Path) -> None:
    pool = WorkerPool(tmp_path, ["reference"])
    assert SETTINGS not in pool
    worker = pool[SETTINGS]
    assert pool[replace(SETTINGS, parallel=True, verified=False)] is worker
    assert pool[replace(SETTINGS, spin=Spin.CALL if SETTINGS.spin is not Spin.CALL else Spin.FREE)] is not worker
    assert len(list(pool)) == 2
    pool.stop()
    assert SETTINGS in pool
    pool.close()
    assert SETTINGS not in pool


@pytest.mark.parametrize("fault", FAULTS)
def test_all_processes_end_whatever_befalls_the_end_of_one(fault: str, tmp_path: Path) -> None:
    program = PROGRAM.replace("FAULT", FAULTS[fault])
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"3 ended, and then {fault}\n"), done.stderr
