"""The GPUs that a driver shows, by a driver of our own."""

from __future__ import annotations

import ctypes
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from intarsia.errors import SpecError
from intarsia.target import Target, hardware
from intarsia.target.detect import detect_devices
from intarsia.target.hardware import cuda

_FIGURES = {1: 1024, 8: 49152, 10: 32, 12: 65536, 38: 52428800, 75: 9, 76: 0}
H200 = {
    "kind": "cuda",
    "arch": "sm_90",
    "model": "NVIDIA H200",
    "max_threads_per_block": 1024,
    "max_shared_memory_per_block": 49152,
    "thread_warp_size": 32,
    "registers_per_block": 65536,
    "l2_cache_size_bytes": 52428800,
}


class Driver:
    """Two equal GPUs, or a driver that does not start."""

    def __init__(self, status: int = 0) -> None:
        self.status = status

    def cuInit(self, flags: int) -> int:  # noqa: N802
        return self.status

    def cuDeviceGetCount(self, count: Any) -> int:  # noqa: N802
        count._obj.value = 2
        return 0

    def cuDeviceGet(self, device: Any, index: int) -> int:  # noqa: N802
        device._obj.value = index
        return 0

    def cuDeviceGetName(self, name: Any, size: int, device: ctypes.c_int) -> int:  # noqa: N802
        name.value = b"NVIDIA H200"
        return 0

    def cuDeviceGetAttribute(self, value: Any, number: int, device: ctypes.c_int) -> int:  # noqa: N802
        value._obj.value = _FIGURES[number]
        return 0


def test_a_driver_is_asked_for_the_options_of_a_target() -> None:
    assert list(cuda.ask_driver(Driver())) == [H200, H200]
    assert Target(H200)["arch"] == "sm_90"


def test_a_driver_that_does_not_start_shows_nothing() -> None:
    assert list(cuda.ask_driver(Driver(status=100))) == []


@pytest.mark.parametrize(("driver", "found"), [(None, []), (Driver(), [H200, H200])])
def test_the_answer_is_json(monkeypatch: pytest.MonkeyPatch, driver: Driver | None, found: list[Any]) -> None:
    written = io.StringIO()
    monkeypatch.setattr(cuda, "_load_driver", lambda: driver)
    monkeypatch.setattr(sys, "stdout", written)
    cuda.answer()
    assert json.loads(written.getvalue()) == found


@pytest.fixture
def _with_device_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cuda, "_DEVICE_FILES", (tmp_path,))


@pytest.mark.usefixtures("_with_device_file")
def test_the_driver_is_asked_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        assert command[0] == sys.executable
        return subprocess.CompletedProcess(command, 0, stdout=json.dumps([H200, H200]))

    monkeypatch.setattr(subprocess, "run", answer)
    monkeypatch.setattr(hardware, "vulkan_options", tuple)
    monkeypatch.setattr(hardware, "opencl_options", tuple)
    assert detect_devices() == (Target(H200), Target(H200))
    assert Target.from_device("cuda:1") == Target.from_device("cuda", 1) == Target(H200)
    with pytest.raises(SpecError, match="no device cuda:2; it has 2, numbered from 0"):
        Target.from_device("cuda", 2)


@pytest.mark.usefixtures("_with_device_file")
def test_that_process_really_runs() -> None:
    assert all(options["kind"] == "cuda" for options in cuda.cuda_options())


@pytest.mark.usefixtures("_with_device_file")
@pytest.mark.parametrize(
    "failure",
    [OSError("no such program"), subprocess.TimeoutExpired("python", 1), subprocess.CalledProcessError(-11, "python")],
)
def test_a_process_that_fails_shows_nothing(monkeypatch: pytest.MonkeyPatch, failure: Exception) -> None:
    def fail(command: list[str], **options: object) -> None:
        raise failure

    monkeypatch.setattr(subprocess, "run", fail)
    assert cuda.cuda_options() == ()


def test_no_process_is_started_without_a_device(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cuda, "_DEVICE_FILES", (tmp_path / "none",))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(subprocess, "run", None)
    assert cuda.cuda_options() == ()


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("metal", "'metal' cannot be detected, only cpu, cuda, opencl and vulkan can"),
        ("cpu:1", "no device cpu:1; it has 1"),
        ("cuda:x", "write one index after the colon"),
        ("cuda:", "no device cuda:0; it has none"),
    ],
)
def test_devices_that_are_not_there(monkeypatch: pytest.MonkeyPatch, device: str, message: str) -> None:
    monkeypatch.setattr(hardware, "cuda_options", tuple)
    with pytest.raises(SpecError, match=message):
        Target.from_device(device)


def test_the_cpu_is_a_device() -> None:
    assert Target.from_device("cpu") == Target.detect()
