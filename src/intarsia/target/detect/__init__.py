"""This machine, as targets that state what was found. Only this folder looks at hardware, and only when asked."""

from __future__ import annotations

from intarsia.errors import SpecError
from intarsia.target.detect.cpu import detect_cpu
from intarsia.target.detect.cuda import detect_cuda
from intarsia.target.target import Target

__all__ = ["detect_cpu", "detect_cuda", "detect_devices", "from_device"]


def detect_devices() -> tuple[Target, ...]:
    """The GPUs of this machine, in the order of their indices; equal ones are equal targets. So far, those of CUDA."""
    return detect_cuda()


def from_device(device: str, index: int = 0) -> Target:
    """One device of this machine, named as ``cpu``, ``cuda`` or ``cuda:1``.

    Raises:
        SpecError: It cannot be looked at, or there is no such device.
    """
    name, _, place = device.partition(":")
    if place and not (place.isascii() and place.isdigit() and index in (0, int(place))):
        raise SpecError(f"device {device!r}: after the colon stands its index, once")
    index = int(place) if place else index
    if name not in ("cpu", "cuda"):
        raise SpecError(
            f"device {name!r} cannot be looked at, only cpu and cuda can; write the target out, or name a tag"
        )
    found = (detect_cpu(),) if name == "cpu" else detect_cuda()
    if not 0 <= index < len(found):
        there = f"it has {len(found)}, counted from 0" if found else "it has none, or their driver does not start"
        raise SpecError(f"this machine has no device {name}:{index}; {there}")
    return found[index]
