"""What must hold whatever happens: engines that fail, processes that are killed, two compiles at once."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from intarsia.cost.records.store import Store
from intarsia.runtime.artifact.container import Reader
from tests.e2e.conftest import Run, command

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
Intarsia = Callable[..., Run]

PATIENCE_S = 300.0
ENOUGH = 10
"""Compiles that are killed by the clock alone."""

MODES = {
    "raise": ("run", "it never works"),
    "wrong": ("verify", "of its largest value"),
    "compile": ("run", "an exception that nobody expected"),
    "segfault": ("crash", "SIGSEGV"),
    "hang": ("timeout", "no answer within"),
}


@pytest.fixture(scope="module")
def survived(intarsia: Intarsia, tiny: Path, folder: Path) -> tuple[dict[str, Any], Path]:
    """The report and the artifact of a compile in which each kind of failure happened."""
    target = ", ".join(["onnxruntime", *(f"faulty -mode={mode}" for mode in MODES)])
    artifact, store = folder / "survived.intarsia", folder / "survived.sqlite"
    arguments = ("compile", tiny, "--target", target, "--budget", 600, "--store", store, "-o", artifact, "--json")
    return intarsia(*arguments, plugin=True).json(), artifact


def test_no_failing_engine_ends_the_compile(intarsia: Intarsia, survived: tuple[dict[str, Any], Path]) -> None:
    report, artifact = survived
    singles = {single["target"]: single for single in report["singles"]}
    assert "latency_ms" in singles["onnxruntime"]
    assert report["best_single"] == "onnxruntime"
    for mode, (stage, reason) in MODES.items():
        failure = singles[f"faulty -mode={mode}"]["failure"]
        assert failure["stage"] == stage
        assert reason in failure["reason"]
        assert Path(failure["repro"]).is_file()
    assert intarsia("run", artifact, "--random", "--json").code == 0


def test_the_repro_script_shows_the_failure_again(survived: tuple[dict[str, Any], Path]) -> None:
    report, _ = survived
    crashed = next(single for single in report["singles"] if single["target"] == "faulty -mode=segfault")
    _, environment = command(plugin=True)
    repro = crashed["failure"]["repro"]
    done = subprocess.run([sys.executable, repro], env=dict(environment), capture_output=True, check=False)
    assert done.returncode == -signal.SIGSEGV


def test_a_second_compile_measures_nothing(intarsia: Intarsia, tiny: Path, tmp_path: Path) -> None:
    line = ("compile", tiny, "--budget", 30, "--store", tmp_path / "r.sqlite", "--json", "-o", tmp_path / "m.intarsia")
    first = intarsia(*line).json()
    plan = intarsia("explain", tmp_path / "m.intarsia", "--plan").out
    second = intarsia(*line).json()
    assert first["search"]["measured"] > 0
    assert second["search"]["cached"] > 0
    if first["search"]["control_void"]:  # it decided nothing, so it is run again; nothing else is
        assert second["search"]["measured"] < first["search"]["measured"]
        return
    assert second["search"]["measured"] == 0
    assert second["latency_ms"] == first["latency_ms"]
    assert intarsia("explain", tmp_path / "m.intarsia", "--plan").out == plan


def test_two_compiles_at_once_share_the_work(intarsia: Intarsia, tiny: Path, tmp_path: Path) -> None:
    store = tmp_path / "r.sqlite"
    running = []
    for name in ("a", "b"):
        output = tmp_path / f"{name}.intarsia"
        line, environment = command("compile", tiny, "--budget", 30, "--store", store, "--json", "-o", output)
        running.append(subprocess.Popen(line, env=dict(environment), stdout=subprocess.PIPE, text=True))
    outputs = [process.communicate()[0] for process in running]
    reports = [Run(code=p.returncode, out=out, err="").json() for p, out in zip(running, outputs, strict=True)]
    measured = [report["search"]["measured"] for report in reports]
    # Each partition was measured by one of the two, and found in the store by the other. Only a benchmark that decided
    # nothing is run again, which leaves one record of two measurements.
    once = Store(store).count()
    again = once if any(report["search"]["control_void"] for report in reports) else 0
    assert 0 < sum(measured) <= once + again
    assert min(measured) < once
    assert all((tmp_path / f"{name}.intarsia").exists() for name in ("a", "b"))


def waited_for(store: Path) -> None:
    """Return once there is a record."""
    end = time.monotonic() + PATIENCE_S
    while not (store.exists() and Store(store).count()):
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.large  # tests/disk walks the states on disk after each write
def test_killed_at_any_moment_nothing_is_half_written(intarsia: Intarsia, tiny: Path, tmp_path: Path) -> None:
    store, artifact = tmp_path / "r.sqlite", tmp_path / "m.intarsia"
    line, environment = command("compile", tiny, "--budget", 30, "--store", store, "-o", artifact, "--json")
    rng = random.Random(0)
    records = 0
    for number in range(20):
        process = subprocess.Popen(line, env=dict(environment), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if number == ENOUGH:  # a busy machine may not have got as far as the first record
            waited_for(store)
        time.sleep(rng.uniform(0.2, 6.0))
        process.send_signal(signal.SIGKILL)
        process.wait()
        if store.exists():
            assert Store(store).count() >= records
            records = Store(store).count()
        if artifact.exists():
            Reader(artifact)
    assert records > 0
    report = intarsia("compile", tiny, "--budget", 30, "--store", store, "-o", artifact, "--json").json()
    assert report["search"]["cached"] > 0
    assert intarsia("run", artifact, "--random", "--json").code == 0
    assert [path for path in tmp_path.iterdir() if path.name.endswith(".tmp")] == []
    assert list((tmp_path / "r.files" / "work").iterdir()) == []


def test_what_no_engine_answers_rightly_ships_and_says_so(intarsia: Intarsia, tiny: Path, tmp_path: Path) -> None:
    artifact, store = tmp_path / "wrong.intarsia", tmp_path / "r.sqlite"
    line = ("compile", tiny, "--target", "faulty -mode=wrong", "--budget", 2, "--store", store, "-o", artifact)
    done = intarsia(*line, "--json", plugin=True)
    report = done.json()
    assert (done.code, report["verified"]) == (0, False)
    assert report["max_rel_error"] > report["allowed_error"]
    assert report["reason"].startswith("no engine could be shown to answer rightly, so the best one ships unverified: ")
    assert intarsia("run", artifact, "--random", "--json", plugin=True).code == 0
    checked = intarsia("verify", artifact, "--store", store, plugin=True)
    assert (checked.code, "Traceback" in checked.err) == (5, False)
    assert "it ships unverified" in checked.out
    strict = intarsia(*line, "--strict", plugin=True)
    assert (strict.code, "answers wrongly" in strict.err) == (5, True)
    asked = intarsia(*line, "--partition", "greedy", plugin=True)
    assert asked.code == 5
