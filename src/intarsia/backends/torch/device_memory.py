"""Memory of a GPU as PyTorch's tensors: a step's results are the next one's operands, without a trip to the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from intarsia.backends.contract import BoundCall, DeviceMemory, DeviceValue, Slot, as_port, guarded
from intarsia.backends.torch.kernels import tensor_over

if TYPE_CHECKING:
    import numpy as np


class TensorMemory(DeviceMemory):
    """The handle of a `DeviceValue` is a tensor on the device, another one after each call."""

    def __init__(self, engine: str, device: str) -> None:
        self._engine = engine
        self._device = device

    def upload(self, source: np.ndarray | Slot, place: DeviceValue) -> BoundCall:
        """By a copy, even where the device is the host."""
        port = as_port(source)

        def call() -> None:
            place.handle = tensor_over(port.array).to(self._device, copy=True)

        return guarded(call, self._engine)

    def download(self, place: DeviceValue, destination: np.ndarray | Slot) -> BoundCall:
        """Waits until the device has computed it."""
        port = as_port(destination)

        def call() -> None:
            tensor_over(port.array).copy_(place.handle)

        return guarded(call, self._engine)
