"""Devices as constraints name them, on one machine."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.config import CompilationConfig
from intarsia.devices import complete, resolve
from intarsia.errors import ConfigError
from intarsia.target import Target, VirtualDevice

LABELS = {
    "gpu1": "cuda:0 -target='cuda -arch=sm_80'",
    "gpu2": "cuda:1 -target='cuda -arch=sm_86'",
    "l2": "cpu -memory-scope=l2",
}
MACHINE = CompilationConfig.of(
    {"targets": ["cuda -arch=sm_80", "cuda -arch=sm_86", "llvm"], "default_device": "cpu", "devices": LABELS}
)


def gpu(index: int, arch: str) -> VirtualDevice:
    return VirtualDevice(index=index, target=Target(f"cuda -arch={arch}"))


@pytest.mark.parametrize(
    ("name", "device"),
    [
        ("gpu2", gpu(1, "sm_86")),
        # What is named by index is the device that has this index in a label.
        ("cuda:1", gpu(1, "sm_86")),
        ("cuda -arch=sm_86", gpu(1, "sm_86")),
        ("cuda", gpu(0, "sm_80")),
        ("cuda:7", gpu(7, "sm_80")),
        ("cpu", VirtualDevice(index=0, target=Target("llvm"))),
        ("any", VirtualDevice(index=0, target=Target("llvm"))),
        ("any -memory-scope=l2", VirtualDevice(index=0, target=Target("llvm"), memory_scope="l2")),
        (VirtualDevice(target=Target("llvm", host="llvm")), VirtualDevice(index=0, target=Target("llvm"))),
    ],
)
def test_a_name_is_one_whole_device(name: str | VirtualDevice, device: VirtualDevice) -> None:
    assert complete(MACHINE, resolve(MACHINE, name)) == device


NAMES = st.sampled_from([*LABELS, "cpu", "cuda", "cuda:1", "cuda:5", "any", "any:3", "any -memory-scope=x", "llvm"])


@given(NAMES)
def test_what_is_complete_stays_as_it_is(name: str) -> None:
    device = complete(MACHINE, resolve(MACHINE, name))
    assert complete(MACHINE, device) == device
    assert resolve(MACHINE, name).join(device) == device


def test_a_machine_of_engines_alone_leaves_the_target_free() -> None:
    config = CompilationConfig.of("mnn, openvino")
    assert complete(config, VirtualDevice()) == VirtualDevice(device="cpu", index=0)


@pytest.mark.parametrize(
    ("name", "says"),
    [("gpu3", "neither a label of this machine nor a device; did you mean 'gpu2'"), ("cpu:?", "invalid device string")],
)
def test_unknown_names(name: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        resolve(MACHINE, name)


def test_devices_that_the_machine_does_not_have() -> None:
    with pytest.raises(ConfigError, match="this machine has no 'vulkan:1'"):
        complete(MACHINE, VirtualDevice.of("vulkan:1"))
