"""The part of the contract for engines that can leave values on a device between two of their steps.

An engine without it is given the host's memory on every device, and brings values there and back inside its calls.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from intarsia.backends.contract.slots import BoundCall, Slot

if TYPE_CHECKING:
    import numpy as np


class DeviceValue(Slot):
    """Stands for a value in the memory of a device: who makes it or brings it there puts the engine's handle in."""

    __slots__ = ("handle",)

    def __init__(self) -> None:
        super().__init__()
        self.handle: Any = None


class DeviceMemory(ABC):
    """How values get into the memory of a device and back. Its calls return when the value is there.

    If the engine fails they raise `ExecutionError`, as every bound call does.
    """

    @abstractmethod
    def upload(self, source: np.ndarray | Slot, place: DeviceValue) -> BoundCall:
        """Bring the content that an array, or what a `Port` holds, has at each call."""

    @abstractmethod
    def download(self, place: DeviceValue, destination: np.ndarray | Slot) -> BoundCall:
        """Fill an array, or what a `Port` holds at each call."""
