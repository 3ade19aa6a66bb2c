"""The devices that Vulkan's drivers show, by a loader of our own, and by the one that is here, if any."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from intarsia.target import Target, hardware
from intarsia.target.detect import devices_here, lack
from intarsia.target.hardware import vulkan

GRAPHICS, COMPUTE = 1, 2
LIMITS = {
    "max_uniform_buffer_range": 65536,
    "max_storage_buffer_range": 134217728,
    "max_push_constants_size": 128,
    "max_per_stage_descriptor_storage_buffer": 32,
    "max_shared_memory_per_block": 32768,
    "max_threads_per_block": 1024,
    "max_block_size_x": 1024,
    "max_block_size_y": 512,
    "max_block_size_z": 64,
}
FOUND = {
    "kind": "vulkan",
    "device_name": "A device",
    "device_type": "discrete",
    "driver_version": 7,
    "vulkan_api_version": 4206822,
    **LIMITS,
}


class Loader:
    """Two devices, the second of which only draws; or a loader that finds no driver."""

    def __init__(self, status: int = 0) -> None:
        self.status = status

    def vkCreateInstance(self, info: Any, allocator: None, instance: Any) -> int:  # noqa: N802
        assert info._obj.type == 1
        instance._obj.value = 17
        return self.status

    def vkEnumeratePhysicalDevices(self, instance: Any, count: Any, devices: Any) -> int:  # noqa: N802
        assert instance.value == 17
        count._obj.value = 2
        if devices is not None:
            devices[:] = [1, 2]
        return 0

    def vkGetPhysicalDeviceQueueFamilyProperties(self, device: Any, count: Any, families: Any) -> None:  # noqa: N802
        count._obj.value = 1
        if families is not None:
            families[0].flags = GRAPHICS | COMPUTE if device.value == 1 else GRAPHICS

    def vkGetPhysicalDeviceProperties(self, device: Any, found: Any) -> None:  # noqa: N802
        properties = found._obj
        properties.vulkan_api_version, properties.driver_version, properties.kind = 4206822, 7, 2
        properties.name = b"A device"
        for name, number in LIMITS.items():
            setattr(properties.limits, name, number)


@pytest.fixture(autouse=True)
def _looked_for_anew() -> Iterator[None]:
    devices_here.cache_clear()
    yield
    devices_here.cache_clear()


def test_a_loader_is_asked_for_the_options_of_a_target() -> None:
    assert list(vulkan.ask_loader(Loader())) == [FOUND]
    assert Target(FOUND)["device_name"] == "A device"


def test_a_loader_that_finds_no_driver_shows_nothing() -> None:
    assert list(vulkan.ask_loader(Loader(status=-9))) == []


@pytest.mark.parametrize(("loader", "found"), [(None, []), (Loader(), [FOUND])])
def test_the_answer_is_json(monkeypatch: pytest.MonkeyPatch, loader: Loader | None, found: list[Any]) -> None:
    written = io.StringIO()
    monkeypatch.setattr(vulkan, "load_loader", lambda: loader)
    monkeypatch.setattr(sys, "stdout", written)
    vulkan.answer()
    assert json.loads(written.getvalue()) == found


def test_the_loader_is_asked_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        assert command[0] == sys.executable
        return subprocess.CompletedProcess(command, 0, stdout=json.dumps([FOUND]))

    monkeypatch.setattr(vulkan, "load_loader", Loader)
    monkeypatch.setattr(subprocess, "run", answer)
    assert Target.from_device("vulkan") == Target(FOUND)
    assert lack("vulkan") is None


def test_no_process_is_started_without_a_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vulkan, "load_loader", lambda: None)
    monkeypatch.setattr(subprocess, "run", None)
    assert vulkan.vulkan_options() == ()


def test_where_there_is_no_device_something_mends_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "vulkan_options", tuple)
    told = lack("vulkan")
    assert told is not None
    assert told.startswith("this machine shows no vulkan device; ")
    assert "mesa-vulkan-drivers" in told
    assert lack("metal") is None, "nobody can look for these"


def test_the_structures_are_as_long_as_vulkans() -> None:
    """By what a driver writes into them: a device of this machine has a name, a type, and what Vulkan promises."""
    found = vulkan.vulkan_options()
    if not found:
        pytest.skip(lack("vulkan") or "")
    for target in found:
        assert target["device_name"]
        assert target["device_type"] in ("integrated", "discrete", "virtual", "cpu", "other")
        assert target["max_storage_buffer_range"] >= 2**27
        assert target["max_push_constants_size"] >= 128
        assert target["max_shared_memory_per_block"] >= 16384
        assert target["max_threads_per_block"] >= 128
        assert target["max_block_size_z"] >= 64
