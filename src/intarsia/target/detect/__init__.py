"""This machine, as targets that state what was found. Only this folder looks at hardware, and only when asked."""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from intarsia.errors import SpecError
from intarsia.target.cores import cores_here, memory_bytes
from intarsia.target.detect.cpu import detect_cpu
from intarsia.target.detect.cuda import detect_cuda
from intarsia.target.detect.vulkan import detect_vulkan
from intarsia.target.target import Target

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "LOOKED_AT",
    "cores_here",
    "detect_cpu",
    "detect_cuda",
    "detect_devices",
    "detect_vulkan",
    "devices_here",
    "devices_of",
    "from_device",
    "lack",
    "memory_bytes",
]

LOOKED_AT = ("cpu", "cuda", "vulkan")
"""Device types whose devices can be looked for."""
_FIXES: Mapping[str, str] = MappingProxyType(
    {
        "cuda": "install NVIDIA's driver",
        "vulkan": "install its driver; Mesa's needs no GPU: apt-get install mesa-vulkan-drivers libvulkan1",
    }
)


def devices_of(device_type: str) -> tuple[Target, ...]:
    """The devices of one of the types `LOOKED_AT`, in the order of their indices; equal ones are equal targets."""
    match device_type:
        case "cpu":
            return (detect_cpu(),)
        case "cuda":
            return detect_cuda()
        case "vulkan":
            return detect_vulkan()
    return ()


@cache
def devices_here(device_type: str) -> tuple[Target, ...]:
    """As `devices_of`, looked for once in a process: a driver takes long to start."""
    return devices_of(device_type)


def lack(device_type: str) -> str | None:
    """Why nothing can run on a device type here, and what fixes it; ``None`` if one is there, or nobody can look."""
    if device_type not in LOOKED_AT or devices_here(device_type):
        return None
    return f"this machine shows no {device_type} device; {_FIXES[device_type]}"


def detect_devices() -> tuple[Target, ...]:
    """The devices of this machine beside its CPU, by type; one that two drivers show is there twice."""
    return tuple(target for type_ in LOOKED_AT if type_ != "cpu" for target in devices_of(type_))


def from_device(device: str, index: int = 0) -> Target:
    """One device of this machine, named as ``cpu``, ``cuda`` or ``vulkan:1``.

    Raises:
        SpecError: It cannot be looked at, or there is no such device.
    """
    name, _, place = device.partition(":")
    if place and not (place.isascii() and place.isdigit() and index in (0, int(place))):
        raise SpecError(f"device {device!r}: write one index after the colon, such as cuda:0")
    index = int(place) if place else index
    if name not in LOOKED_AT:
        known = f"{', '.join(LOOKED_AT[:-1])} and {LOOKED_AT[-1]}"
        raise SpecError(f"device {name!r} cannot be detected, only {known} can; write the target out, or name a tag")
    found = devices_of(name)
    if not 0 <= index < len(found):
        there = f"it has {len(found)}, numbered from 0" if found else "it has none, or the driver does not start"
        raise SpecError(f"this machine has no device {name}:{index}; {there}")
    return found[index]
