"""kill -9 and a full disk at every write of a compile: nothing half-written is read, and the next compile succeeds.

`make test` draws some of the cases; `make large` walks all of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.disk import library

ROOT = Path(__file__).parents[2]
SEED = 18

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="what is preloaded is written for Linux"),
    pytest.mark.skipif(library.compiler() is None, reason="there is no C compiler for what is preloaded"),
]


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return library.built(tmp_path_factory.mktemp("faults"))


def walked(preloaded: Path, scenario: str, folder: Path, share: int, *more: str) -> list[dict[str, Any]]:
    """The cases, and what came of each."""
    environment = os.environ | {
        "LD_PRELOAD": str(preloaded),
        "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "src", ROOT))),
        "OPENBLAS_NUM_THREADS": "1",  # it forks, and threads would be lost
    }
    line = [sys.executable, "-m", "tests.disk.walked", scenario, str(folder), str(SEED), str(share), *more]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    _, *cases = map(json.loads, done.stdout.splitlines())
    assert sum(1 for case in cases if case["fired"]) > 0.8 * len(cases)
    return cases


def faults(cases: list[dict[str, Any]]) -> list[str]:
    return [f"{case['how']} at {case['at']}, {case['what']}: {fault}" for case in cases for fault in case["faults"]]


def test_some_writes_of_all_that_a_compile_writes(preloaded: Path, tmp_path: Path) -> None:
    cases = walked(preloaded, "parts", tmp_path, 60)
    assert faults(cases) == []
    assert {case["how"] for case in cases} == {*library.DISK_FULL, *library.KILLS}


def test_some_writes_of_a_compile(preloaded: Path, tmp_path: Path) -> None:
    assert faults(walked(preloaded, "compile", tmp_path, 5)) == []


@pytest.mark.large
@pytest.mark.timeout(0)
@pytest.mark.parametrize("scenario", ["parts", "compile"])
def test_every_write(scenario: str, preloaded: Path, tmp_path: Path) -> None:
    assert faults(walked(preloaded, scenario, tmp_path, 0)) == []


@pytest.mark.large
@pytest.mark.timeout(0)
def test_every_write_of_its_workers(preloaded: Path, tmp_path: Path) -> None:
    assert faults(walked(preloaded, "compile", tmp_path, 0, "all")) == []
