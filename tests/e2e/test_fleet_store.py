"""Whole compiles whose records are in a database of PostgreSQL, which several share."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil
import pytest

import networks
from intarsia.cost.records.store import Store
from tests.e2e.conftest import Run, command
from tests.postgres import PASSWORD, PATIENCE_S, Cluster, running

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
Intarsia = Callable[..., Run]
TARGET = "onnxruntime, reference"
SEVERAL = 8


def line(model: Path, store: object, output: Path, *more: object) -> tuple[object, ...]:
    return ("compile", model, "--target", TARGET, "--budget", 1, "--store", store, "-o", output, "--json", *more)


def plans(intarsia: Intarsia, artifacts: Sequence[Path]) -> set[str]:
    return {intarsia("explain", each, "--plan").out for each in artifacts}


def test_what_one_machine_measured_is_known_to_the_next(
    intarsia: Intarsia, tiny: Path, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    store = cluster.tcp(cluster.schema(), password="")
    reports = []
    for name in ("a", "b"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / f"cache of {name}"))
        reports.append(intarsia(*line(tiny, store, tmp_path / f"{name}.intarsia")).json())
    first, second = reports
    assert first["search"]["measured"] > 0
    assert Store(store).count() > 0
    if first["search"]["control_void"]:  # it decided nothing, so it is run again; nothing else is
        assert second["search"]["measured"] < first["search"]["measured"]
        return
    assert second["search"]["measured"] == 0
    assert second["latency_ms"] == first["latency_ms"]
    assert len(plans(intarsia, [tmp_path / f"{name}.intarsia" for name in ("a", "b")])) == 1


def test_a_password_shows_nowhere(intarsia: Intarsia, cluster: Cluster, tmp_path: Path) -> None:
    store = cluster.tcp(cluster.schema())
    secret = store.partition("guest:")[2].partition("@127")[0]
    argv, environment = command("tune", "--store", store, "--list", "--verbose")
    stopped = subprocess.Popen(argv, env=dict(environment), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    end = time.monotonic() + PATIENCE_S
    seen = ""
    while "*" * len(secret) not in seen:  # until it has begun; then it is overwritten for good
        assert time.monotonic() < end
        with psutil.Process(stopped.pid).oneshot():
            seen = " ".join(psutil.Process(stopped.pid).cmdline())
    out = stopped.communicate()[0]
    assert stopped.returncode == 0, out
    wrong = intarsia("tune", "--store", store.replace(secret, "wr%25ng"), "--list", "--verbose")
    assert wrong.code == 2
    for text in (out, wrong.out, wrong.err):
        assert not {secret, PASSWORD, "wr%25ng", "wr%ng"} & set(text.split())
        assert secret not in text
        assert "wr%" not in text


@pytest.mark.large
def test_compiles_at_once_give_the_plan_of_sqlite(
    intarsia: Intarsia, tiny: Path, cluster: Cluster, tmp_path: Path
) -> None:
    ours, fleet = tmp_path / "ours.sqlite", cluster.url(cluster.schema())
    intarsia(*line(tiny, ours, tmp_path / "warm.intarsia")).json()
    for store, way in ((ours, "--export"), (fleet, "--import")):
        assert intarsia("tune", "--store", store, way, tmp_path / "records.jsonl").code == 0
    artifacts: list[Path] = []
    for store in (ours, fleet):
        started = []
        for number in range(SEVERAL):
            artifacts.append(tmp_path / f"{len(artifacts)}-{number}.intarsia")
            argv, environment = command(*line(tiny, store, artifacts[-1]))
            started.append(subprocess.Popen(argv, env=dict(environment), stdout=subprocess.DEVNULL))
        assert [each.wait() for each in started] == [0] * SEVERAL
    assert len(plans(intarsia, artifacts)) == 1


@pytest.mark.large
def test_compiles_at_once_on_an_empty_store_share_the_work(
    intarsia: Intarsia, tiny: Path, cluster: Cluster, tmp_path: Path
) -> None:
    store = cluster.url(cluster.schema())
    started, artifacts = [], [tmp_path / f"{number}.intarsia" for number in range(SEVERAL)]
    for artifact in artifacts:
        argv, environment = command(*line(tiny, store, artifact))
        started.append(subprocess.Popen(argv, env=dict(environment), stdout=subprocess.PIPE, text=True))
    outputs = [each.communicate()[0] for each in started]
    reports = [Run(code=p.returncode, out=out, err="").json() for p, out in zip(started, outputs, strict=True)]
    void = sum(report["search"]["control_void"] for report in reports)
    assert sum(report["search"]["measured"] for report in reports) <= Store(store).count() + void
    assert len(plans(intarsia, artifacts)) == 1


@pytest.mark.large
def test_a_database_killed_under_a_compile_ends_neither_it_nor_what_was_kept(
    intarsia: Intarsia, tmp_path: Path
) -> None:
    model = networks.save("tiny", tmp_path)
    with running() as server:
        store = server.url(server.schema())
        argv, environment = command(*line(model, store, tmp_path / "m.intarsia"))
        compiling = subprocess.Popen(
            argv, env=dict(environment), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        watched = Store(store)
        end = time.monotonic() + PATIENCE_S
        while not (kept := watched.count()):
            assert time.monotonic() < end
            time.sleep(0.01)
        server.kill()
        _, told = compiling.communicate()
        assert compiling.returncode == 0, told
        server.start()
        assert Store(store).count() >= kept
        assert Store(store).records().damaged == 0
    assert intarsia("run", tmp_path / "m.intarsia", "--random", "--json").code == 0
