"""The devices that OpenCL's drivers show, by a loader of our own, and by the one that is here, if any."""

from __future__ import annotations

import ctypes
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from intarsia.target import Target, hardware
from intarsia.target.detect import devices_here, lack
from intarsia.target.hardware import opencl

GPU, CPU = 4, 2
DEVICES = {11: (CPU, "A processor", ""), 21: (GPU, "A GPU", "cl_khr_fp16 cl_khr_other")}
FOUND = {
    "kind": "opencl",
    "device_name": "A GPU",
    "device_type": "gpu",
    "driver_version": "7.1",
    "opencl_version": "3.0 Somebody",
    "max_threads_per_block": 1024,
    "max_shared_memory_per_block": 32768,
    "max_buffer_size": 2**30,
    "supports_float16": True,
    "supports_float64": False,
}


class Loader:
    """Two platforms, each with one device, the first one's a processor; or a loader that finds no driver."""

    def __init__(self, platforms: tuple[int, ...] = (1, 2)) -> None:
        self.platforms = platforms

    def clGetPlatformIDs(self, room: Any, found: Any, count: Any) -> int:  # noqa: N802
        if count is not None:
            count._obj.value = len(self.platforms)
        if found is not None:
            found[:] = self.platforms
        return 0 if self.platforms else -1001

    def clGetDeviceIDs(self, platform: Any, types: Any, room: Any, found: Any, count: Any) -> int:  # noqa: N802
        assert types.value == 0xFFFFFFFF
        if count is not None:
            count._obj.value = 1
        if found is not None:
            found[:] = [10 * platform.value + 1]
        return 0

    def clGetDeviceInfo(self, device: Any, what: int, room: Any, place: Any, size: Any) -> int:  # noqa: N802
        bits, name, extensions = DEVICES[device.value]
        texts = {0x102B: name, 0x102D: "7.1", 0x102F: "OpenCL 3.0 Somebody", 0x1030: extensions}
        numbers = {0x1000: bits, 0x1004: 1024, 0x1023: 32768, 0x1010: 2**30}
        if what in numbers:
            place._obj.value = numbers[what]
        elif size is not None:
            size._obj.value = len(texts[what]) + 1
        else:
            ctypes.memmove(place, texts[what].encode() + b"\0", len(texts[what]) + 1)
        return 0


@pytest.fixture(autouse=True)
def _looked_for_anew() -> Iterator[None]:
    devices_here.cache_clear()
    yield
    devices_here.cache_clear()


def test_a_loader_is_asked_for_the_options_of_a_target() -> None:
    first, second = opencl.ask_loader(Loader())
    assert first == FOUND, "a GPU comes before processors"
    assert (second["device_type"], second["device_name"], second["supports_float16"]) == ("cpu", "A processor", False)
    assert Target(FOUND)["device_name"] == "A GPU"


def test_a_loader_that_finds_no_driver_shows_nothing() -> None:
    assert list(opencl.ask_loader(Loader(()))) == []


@pytest.mark.parametrize(("loader", "count"), [(None, 0), (Loader(), 2)])
def test_the_answer_is_json(monkeypatch: pytest.MonkeyPatch, loader: Loader | None, count: int) -> None:
    written = io.StringIO()
    monkeypatch.setattr(opencl, "load_loader", lambda: loader)
    monkeypatch.setattr(sys, "stdout", written)
    opencl.answer()
    assert len(json.loads(written.getvalue())) == count


def test_the_loader_is_asked_in_a_process_of_its_own_that_keeps_to_our_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(command: list[str], *, env: dict[str, str], **options: object) -> subprocess.CompletedProcess[str]:
        assert command[0] == sys.executable
        assert "intarsia" in env["POCL_CACHE_DIR"]
        return subprocess.CompletedProcess(command, 0, stdout=json.dumps([FOUND]))

    monkeypatch.setattr(opencl, "load_loader", Loader)
    monkeypatch.setattr(subprocess, "run", answer)
    assert Target.from_device("opencl") == Target(FOUND)
    assert lack("opencl") is None


def test_no_process_is_started_without_a_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opencl, "load_loader", lambda: None)
    monkeypatch.setattr(subprocess, "run", None)
    assert opencl.opencl_options() == ()


def test_where_there_is_no_device_something_mends_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "opencl_options", tuple)
    told = lack("opencl")
    assert told is not None
    assert told.startswith("this machine shows no opencl device; ")
    assert "pocl-opencl-icd" in told


def test_a_driver_that_is_here_answers_and_writes_nothing_at_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = opencl.opencl_options()
    if not found:
        pytest.skip(lack("opencl") or "")
    for target in found:
        assert target["device_name"]
        assert target["device_type"] in ("gpu", "accelerator", "cpu", "custom")
        assert target["max_threads_per_block"] >= 1
        assert target["max_buffer_size"] >= 2**20
    assert not (tmp_path / "home").exists() or os.listdir(tmp_path / "home") == []
