"""Which of several devices of a type an engine runs on: an option of the engines that can be told."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from intarsia.target.target import Target

DEVICE_INDEX = "device-index"
"""The option's name. Without it an engine runs on the first device of its type."""


def index_of(target: Target) -> int:
    """The index of the device that an engine's target runs on."""
    return int(target.options.get(DEVICE_INDEX, 0))


def device_text(target: Target) -> str:
    """The device that an engine's target runs on, as lists name it: ``cpu``, ``vulkan``, ``vulkan:1``."""
    index = index_of(target)
    return f"{target.device_type}:{index}" if index else target.device_type
