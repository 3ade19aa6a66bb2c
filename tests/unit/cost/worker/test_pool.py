"""Settings that need one environment share a process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from intarsia.config import RunSettings, Spin
from intarsia.cost.worker.pool import WorkerPool

SETTINGS = RunSettings(threads=2)


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
