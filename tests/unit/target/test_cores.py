"""The budget follows affinity and both kinds of CPU quota."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from intarsia.target.cores import cpu_quota, thread_budget


def write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


@pytest.mark.parametrize(("text", "quota"), [("150000 100000\n", 1.5), ("max 100000\n", None)])
def test_quota_of_cgroup_v2(tmp_path: Path, text: str, quota: float | None) -> None:
    write(tmp_path, "cpu.max", text)
    assert cpu_quota(tmp_path) == quota


@pytest.mark.parametrize(("text", "quota"), [("300000", 3.0), ("-1", None)])
def test_quota_of_cgroup_v1(tmp_path: Path, text: str, quota: float | None) -> None:
    write(tmp_path, "cpu/cpu.cfs_quota_us", text)
    write(tmp_path, "cpu/cpu.cfs_period_us", "100000")
    assert cpu_quota(tmp_path) == quota


def test_budget_is_bounded_by_affinity_and_quota(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    assert thread_budget(tmp_path) == 4
    write(tmp_path, "cpu.max", "250000 100000")
    assert thread_budget(tmp_path) == 2
    write(tmp_path, "cpu.max", "50000 100000")
    assert thread_budget(tmp_path) == 1
