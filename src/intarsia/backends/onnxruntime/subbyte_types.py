"""Elements narrower than a byte at ONNX Runtime's borders: it has several in a byte, and numpy has each in its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from intarsia.backends.contract import Port, Slot

if TYPE_CHECKING:
    import numpy as np

BITS: Mapping[str, int] = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2}
"""Bits of an element, by numpy name; the first element is in the lowest bits."""


class Packed:
    """Memory as ONNX Runtime reads and writes it, beside the array that others read and write."""

    def __init__(self, place: np.ndarray | Slot, dtype: str) -> None:
        import numpy as np

        assert not isinstance(place, Slot) or isinstance(place, Port), "its size has to be known"
        self._place = place
        self._bits = BITS[dtype]
        self._is_signed = not dtype.startswith("u")
        self._shifts = np.arange(0, 8, self._bits, dtype=np.uint8)
        count = -(-self._array().size // len(self._shifts))
        self.memory = np.zeros(count, np.uint8)

    def pack(self) -> None:
        """From the array to the memory."""
        import numpy as np

        codes = np.zeros((len(self.memory), len(self._shifts)), np.uint8)
        array = self._array()
        codes.reshape(-1)[: array.size] = array.reshape(-1).view(np.uint8) & ((1 << self._bits) - 1)
        np.bitwise_or.reduce(codes << self._shifts, axis=1, out=self.memory)

    def unpack(self) -> None:
        """From the memory to the array."""
        import numpy as np

        array, spare = self._array(), 8 - self._bits
        # Each element to the top of its byte and back down, which copies the sign.
        codes = (self.memory[:, None] >> self._shifts) << np.uint8(spare)
        values = (codes.view(np.int8) if self._is_signed else codes) >> spare
        array.reshape(-1)[:] = values.reshape(-1)[: array.size].astype(array.dtype)

    def _array(self) -> np.ndarray:
        return self._place.array if isinstance(self._place, Port) else self._place
