"""The devices of this machine, as targets that state what was found. What looks at hardware is in `hardware`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from intarsia.target.cores import cores_here, memory_bytes
from intarsia.target.hardware import LOOKED_AT, options_of
from intarsia.target.target import Target

__all__ = [
    "LOOKED_AT",
    "cores_here",
    "cpu_here",
    "detect_devices",
    "devices_here",
    "devices_of",
    "lack",
    "lack_of",
    "memory_bytes",
]

_FIXES: Mapping[str, str] = MappingProxyType(
    {
        "cuda": "it takes an NVIDIA GPU, with its driver",
        "opencl": "install its driver; PoCL needs no GPU: apt-get install pocl-opencl-icd ocl-icd-libopencl1",
        "vulkan": "install its driver; Mesa's needs no GPU: apt-get install mesa-vulkan-drivers libvulkan1",
    }
)


def devices_of(device_type: str) -> tuple[Target, ...]:
    """The devices of one of the types `LOOKED_AT`, in the order of their indices; equal ones are equal targets."""
    return tuple(map(Target, options_of(device_type)))


@cache
def cpu_here() -> Target:
    """The CPU of this machine as `Target.detect` finds it, looked at once in a process."""
    return Target.detect()


@cache
def devices_here(device_type: str) -> tuple[Target, ...]:
    """As `devices_of`, looked for once in a process: a driver takes long to start."""
    return devices_of(device_type)


def lack(device_type: str) -> str | None:
    """Why nothing can run on a device type here, and what fixes it; ``None`` if one is there, or nobody can look."""
    if device_type not in LOOKED_AT or devices_here(device_type):
        return None
    return f"this machine shows no {device_type} device; {_FIXES[device_type]}"


def lack_of(device_type: str, index: int) -> str | None:
    """Why there is no device of that index here; ``None`` if there is, or nobody can look.

    Args:
        device_type: One of a processor is numbered by no driver: see `intarsia.target.processors`.
        index: From 0 on.
    """
    found = devices_here(device_type) if device_type in LOOKED_AT else None
    if found is None or index < len(found):
        return None
    if not found:
        return lack(device_type)
    names = (each.options.get("device_name") or each.options.get("model") or str(each) for each in found)
    there = ", ".join(f"{device_type}:{number} ({name})" for number, name in enumerate(names))
    return f"this machine has no device {device_type}:{index}; it has {there}"


def detect_devices() -> tuple[Target, ...]:
    """The devices of this machine beside its CPU, by type; one that two drivers show is there twice."""
    return tuple(target for type_ in LOOKED_AT if type_ != "cpu" for target in devices_of(type_))
