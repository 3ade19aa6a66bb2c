"""Settings that need one environment share a process."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("fault", [KeyboardInterrupt, OSError])
def test_all_processes_end_whatever_befalls_the_end_of_one(
    fault: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool, ended = WorkerPool(tmp_path, ["reference"]), []
    workers = [pool[replace(SETTINGS, threads=threads)] for threads in (1, 2, 3)]

    def end(number: int) -> None:
        ended.append(number)
        if fault is KeyboardInterrupt:
            os.kill(os.getpid(), signal.SIGINT)
        else:
            raise fault

    for number, worker in enumerate(workers):
        monkeypatch.setattr(worker, "close", lambda number=number: end(number))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(fault):
            pool.stop()
    finally:
        signal.signal(signal.SIGINT, before)
    assert sorted(ended) == [0, 1, 2]
