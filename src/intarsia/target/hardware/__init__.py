"""The hardware of this machine, as options that targets state. Only this folder looks at it, and only when asked."""

from __future__ import annotations

from intarsia.errors import SpecError
from intarsia.target.hardware.cpu import cpu_options
from intarsia.target.hardware.cuda import cuda_options
from intarsia.target.hardware.driver_process import Options
from intarsia.target.hardware.opencl import opencl_options
from intarsia.target.hardware.vulkan import vulkan_options

__all__ = [
    "LOOKED_AT",
    "Options",
    "cpu_options",
    "cuda_options",
    "opencl_options",
    "options_at",
    "options_of",
    "vulkan_options",
]

LOOKED_AT = ("cpu", "cuda", "opencl", "vulkan")
"""Device types whose devices can be looked for."""


def options_of(device_type: str) -> tuple[Options, ...]:
    """The options of each device of one of the types `LOOKED_AT`, in the order of their indices."""
    match device_type:
        case "cpu":
            return (cpu_options(),)
        case "cuda":
            return cuda_options()
        case "opencl":
            return opencl_options()
        case "vulkan":
            return vulkan_options()
    return ()


def options_at(device: str, index: int = 0) -> Options:
    """The options of one device, as ``cpu``, ``cuda`` or ``vulkan:1``; a `SpecError` where none can be found."""
    name, _, place = device.partition(":")
    if place and not (place.isascii() and place.isdigit() and index in (0, int(place))):
        raise SpecError(f"device {device!r}: write one index after the colon, such as cuda:0")
    index = int(place) if place else index
    if name not in LOOKED_AT:
        known = f"{', '.join(LOOKED_AT[:-1])} and {LOOKED_AT[-1]}"
        raise SpecError(f"device {name!r} cannot be detected, only {known} can; write the target out, or name a tag")
    found = options_of(name)
    if not 0 <= index < len(found):
        there = f"it has {len(found)}, numbered from 0" if found else "it has none, or the driver does not start"
        raise SpecError(f"this machine has no device {name}:{index}; {there}")
    return found[index]
