"""Which of several devices of a type an engine runs on: an option of the engines that can be told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

DEVICE_INDEX = "device-index"
"""The option's name. Without it an engine runs on the first device of its type."""


class OnDevice(Protocol):
    """What runs on a device: the target of an engine."""

    @property
    def options(self) -> Mapping[str, Any]:
        """The stated options."""

    @property
    def device_type(self) -> str:
        """The type of the device."""


def index_of(target: OnDevice) -> int:
    """The index of the device that an engine's target runs on."""
    return int(target.options.get(DEVICE_INDEX, 0))


def device_text(target: OnDevice) -> str:
    """The device that an engine's target runs on, as lists name it: ``cpu``, ``vulkan``, ``vulkan:1``."""
    index = index_of(target)
    return f"{target.device_type}:{index}" if index else target.device_type
