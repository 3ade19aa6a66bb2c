"""Threads, closing, forgetting, feeds changed in place, and forks, all at one time, over every form of plan."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
MINUTE_S = 60.0
PATIENCE_S = 480.0
"""Beyond the time that it is to take: the artifacts are made first, and a busy machine takes its time."""


@pytest.mark.timeout(2000)
@pytest.mark.parametrize("minutes", [1, pytest.param(10, marks=pytest.mark.large)])
def test_nothing_hangs_dies_leaks_or_answers_wrongly(minutes: int, tmp_path: Path) -> None:
    seconds = minutes * MINUTE_S
    line = [sys.executable, "-m", "tests.e2e.stress", str(tmp_path), "--seconds", str(seconds), "--seed", str(minutes)]
    with (tmp_path / "log").open("w+") as log:
        try:
            done = subprocess.run(
                line, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True, check=False, timeout=seconds + PATIENCE_S
            )
        finally:
            log.seek(0)
            said = log.read()[-4000:]
            print(said)  # noqa: T201 - of what hangs or dies, the threads' tracebacks are all that is known
    assert done.returncode == 0, said
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["faults"] == [], said
    assert min(found["done"][act] for act in ("call", "close", "load", "forget", "stream", "change", "fork")) > 0
