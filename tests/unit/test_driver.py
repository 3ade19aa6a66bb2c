"""Arguments of `compile` that contradict each other or make no sense are refused before anything is measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from intarsia import driver
from intarsia.errors import ConfigError, PlanError
from tests.unit.graph.models import two_layers


def refused(tmp_path: Path, **settings: Any) -> None:
    driver.compile(two_layers(), "reference", store=tmp_path / "records.sqlite", **settings)


@pytest.fixture(autouse=True)
def _no_measuring(monkeypatch: pytest.MonkeyPatch) -> None:
    def measurer(*_: object) -> None:
        raise AssertionError("something was about to be measured")

    monkeypatch.setattr(driver, "Measurer", measurer)
    monkeypatch.setattr("intarsia.cost.lock.PATIENCE_S", 0.05)


def test_an_unknown_partitioning(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'best'; there are single, greedy, collage, manual"):
        refused(tmp_path, partition="best")


def test_a_plan_without_manual_and_manual_without_a_plan(tmp_path: Path) -> None:
    for settings in ({"plan": "p.yaml"}, {"partition": "greedy", "plan": "p.yaml"}, {"partition": "manual"}):
        with pytest.raises(ConfigError, match="go together"):
            refused(tmp_path, **settings)


def test_a_plan_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    for name in ("absent.yaml", "binary.yaml"):
        with pytest.raises(PlanError, match=rf"{name}: cannot be read"):
            refused(tmp_path, partition="manual", plan=tmp_path / name)


@pytest.mark.parametrize("threads", [-1, 1025, 10**9])
def test_a_thread_count_that_makes_no_sense(tmp_path: Path, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("intarsia.cost.lock.lock_path", lambda: tmp_path / "lock")
    with pytest.raises(ConfigError, match=f"{threads} threads: give a number from 1 on"):
        refused(tmp_path, partition="single", threads=threads)
    assert list((tmp_path / "records.files" / "work").iterdir()) == []


def test_a_refused_compile_leaves_no_store(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        refused(tmp_path, partition="best")
    assert list(tmp_path.iterdir()) == []
