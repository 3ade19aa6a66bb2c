"""The budget follows affinity and both kinds of CPU quota."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from intarsia.target import cores
from intarsia.target.cores import cpu_quota, memory_bytes, thread_budget


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


def _unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "_process_limits", list)


@pytest.mark.parametrize(
    ("group", "name"),
    [
        ("0::/\n", "memory.max"),
        ("0::/user.slice/job.scope\n", "user.slice/job.scope/memory.max"),
        ("0::/user.slice/job.scope\n", "user.slice/memory.max"),
        ("9:name=systemd:/\n4:cpu,memory:/jobs/7\n", "memory/jobs/7/memory.limit_in_bytes"),
        ("9:name=systemd:/\n4:memory:/jobs/7\n", "memory/memory.limit_in_bytes"),
    ],
)
def test_memory_is_bounded_by_every_group_around_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: str, name: str
) -> None:
    _unlimited(monkeypatch)
    write(tmp_path, "groups", group)
    machine = memory_bytes(tmp_path, tmp_path / "groups")
    write(tmp_path, name, "1000000\n")
    assert memory_bytes(tmp_path, tmp_path / "groups") == 1_000_000 < machine
    write(tmp_path, name, "max\n")
    assert memory_bytes(tmp_path, tmp_path / "groups") == machine


def test_a_group_outside_of_what_is_mounted_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _unlimited(monkeypatch)
    write(tmp_path, "other/memory.max", "1000000")
    write(tmp_path, "groups", "0::/../other\n")
    root = tmp_path / "mounted"
    assert memory_bytes(root, tmp_path / "groups") == memory_bytes(root, tmp_path / "none")


def test_memory_is_bounded_by_the_limits_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource", reason="the system has no such limits")
    limits = {resource.RLIMIT_AS: 3_000_000, resource.RLIMIT_DATA: resource.RLIM_INFINITY}
    monkeypatch.setattr(resource, "getrlimit", lambda name: (limits[name], limits[name]))
    assert memory_bytes(tmp_path, tmp_path / "none") == 3_000_000
    limits[resource.RLIMIT_AS] = resource.RLIM_INFINITY
    assert memory_bytes(tmp_path, tmp_path / "none") > 3_000_000
