"""The part of the contract for engines that can leave values on a device between two of their steps.

An engine without it reads and writes host memory on every device, and copies values inside its calls.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from intarsia.backends.contract.slots import BoundCall, Slot

if TYPE_CHECKING:
    import numpy as np


class DeviceValue(Slot):
    """A value in the memory of a device. ``handle`` is the engine's own; who computes or uploads the value sets it."""

    __slots__ = ("handle",)

    def __init__(self) -> None:
        super().__init__()
        self.handle: Any = None


class DeviceMemory(ABC):
    """Copies values to the memory of a device and back. A call returns when the copy is complete.

    If the engine fails they raise `ExecutionError`, as every bound call does.
    """

    @abstractmethod
    def upload(self, source: np.ndarray | Slot, place: DeviceValue) -> BoundCall:
        """A call that copies an array, or what a `Port` holds at that moment, to the device."""

    @abstractmethod
    def download(self, place: DeviceValue, destination: np.ndarray | Slot) -> BoundCall:
        """A call that copies a value from the device into an array, or into what a `Port` holds at that moment."""
