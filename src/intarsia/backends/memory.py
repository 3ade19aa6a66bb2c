"""Memory that an engine is given to read."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def writable(array: np.ndarray) -> np.ndarray:
    """The same memory without the read-only mark. Engines that only read share no array that bears it nevertheless."""
    import numpy as np

    if array.flags.writeable or not array.nbytes:
        return array
    memory = (ctypes.c_ubyte * array.nbytes).from_address(array.ctypes.data)
    return np.ndarray(array.shape, dtype=array.dtype, buffer=memoryview(memory))
