"""kill -9 and a full disk at every write of a compile: nothing half-written is read, and the next compile succeeds.

`make test` draws some of the cases; `make large` walks all of them, in minutes: what is on disk at each moment of one
run is kept, and each different state is gone on from, instead of a run for each kill.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from tests.disk import library

ROOT = Path(__file__).parents[2]
SEED = 18
SNAPSHOT = ("snapshot",)
OF_WORKERS = ("worker-before", "worker-half")
KILLS_BUT_AFTER = ("before", "half")
"""A kill after a write is one before the next."""
PROCESSES = 2
EVERY = 0
DIGITS = 64

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="what is preloaded is written for Linux"),
    pytest.mark.skipif(library.compiler() is None, reason="there is no C compiler for what is preloaded"),
]


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return library.built(tmp_path_factory.mktemp("faults"))


def answers(preloaded: Path, scenario: str, folder: Path, share: int, kinds: Sequence[str]) -> list[dict[str, Any]]:
    """How many writes there are, the cases, and what came of each."""
    environment = os.environ | {
        "LD_PRELOAD": str(preloaded),
        "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "src", ROOT))),
        "OPENBLAS_NUM_THREADS": "1",  # it forks, and threads would be lost
    }
    folder.mkdir(exist_ok=True)
    line = [sys.executable, "-m", "tests.disk.walked", scenario, str(folder), str(SEED), str(share), *kinds]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def walked(preloaded: Path, scenario: str, folder: Path, share: int, *kinds: str) -> list[dict[str, Any]]:
    """The cases, and what came of each; they are counted on the terminal."""
    writes, *cases = answers(preloaded, scenario, folder, share, kinds)
    fired = sum(1 for case in cases if case["fired"])
    print(f"{scenario}: {writes}; {len(cases)} cases, {fired} reached, {len(faults(cases))} faults")  # noqa: T201
    print(*faults(cases), sep="\n")  # noqa: T201
    assert fired >= (share or 0.8 * len(cases))
    return cases


def faults(cases: list[dict[str, Any]]) -> list[str]:
    return [f"{case['how']} at {case['at']}, {case['what']}: {fault}" for case in cases for fault in case["faults"]]


def test_some_writes_of_all_that_a_compile_writes(preloaded: Path, tmp_path: Path) -> None:
    cases = walked(preloaded, "parts", tmp_path, 40, *library.DISK_FULL, *library.KILLS)
    assert faults(cases) == []
    assert {case["how"] for case in cases} == {*library.DISK_FULL, *library.KILLS}


def test_some_writes_of_a_compile(preloaded: Path, tmp_path: Path) -> None:
    kinds = (*library.DISK_FULL, *library.KILLS, *OF_WORKERS)
    assert faults(walked(preloaded, "compile", tmp_path, 5, *kinds)) == []


def test_some_writes_of_a_quick_compile(preloaded: Path, tmp_path: Path) -> None:
    assert faults(walked(preloaded, "quick", tmp_path, 10, *library.DISK_FULL, *OF_WORKERS)) == []


@pytest.mark.parametrize("scenario", ["parts", "quick"])
def test_some_moments(scenario: str, preloaded: Path, tmp_path: Path) -> None:
    assert faults(walked(preloaded, scenario, tmp_path, 12, *SNAPSHOT)) == []


def test_a_moment_is_what_a_kill_leaves(preloaded: Path, tmp_path: Path) -> None:
    """Of the process that is killed there: the same files, of the same sizes but for the digits of times in them."""
    pairs = answers(preloaded, "parts", tmp_path, 12, ["same"])
    assert len(pairs) == 12
    for pair in pairs:
        moment, killed = dict(pair["moment"]), dict(pair["killed"])
        assert moment.keys() == killed.keys(), pair["what"]
        assert all(abs(size - killed[name]) <= DIGITS for name, size in moment.items()), pair


def test_a_quick_compile_writes_as_a_compile_does(preloaded: Path, tmp_path: Path) -> None:
    """So that what is shown of the one is true of the other: the same calls for the same kinds of files.

    On a busy machine a compile may have no time for its last stage, and writes less.
    """
    own, quick = (
        {_kind(each["what"]) for each in answers(preloaded, scenario, tmp_path, EVERY, ["moments"])}
        for scenario in ("compile", "quick")
    )
    assert sorted(own - quick) == []


def _kind(what: str) -> str:
    """The call and the path, without what differs from process to process."""
    call, path = what.removesuffix(")").rpartition(" (process ")[0].split("/case", 1)
    return f"{call} {re.sub('/tmp/[a-z0-9_]{8}$|tmp[a-z0-9_]{8}|[0-9a-f]{8,}|[0-9]+', '#', path)}"


@pytest.mark.large
@pytest.mark.timeout(0)
@pytest.mark.parametrize("scenario", ["parts", "quick"])
def test_every_write(scenario: str, preloaded: Path, tmp_path: Path) -> None:
    kinds = [SNAPSHOT, *((how,) for how in library.DISK_FULL), KILLS_BUT_AFTER if scenario == "parts" else OF_WORKERS]

    def found(number: int) -> list[str]:
        return faults(walked(preloaded, scenario, tmp_path / str(number), EVERY, *kinds[number]))

    with ThreadPoolExecutor(PROCESSES) as pool:
        assert [*chain.from_iterable(pool.map(found, range(len(kinds))))] == []


@pytest.mark.large
@pytest.mark.timeout(0)
def test_more_writes_of_a_compile(preloaded: Path, tmp_path: Path) -> None:
    kinds = (*library.DISK_FULL, *library.KILLS, *OF_WORKERS)
    assert faults(walked(preloaded, "compile", tmp_path, 30, *kinds)) == []
