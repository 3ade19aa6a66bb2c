"""Results that are handed out where an engine wrote them."""

from __future__ import annotations

import weakref
from collections.abc import Callable

import numpy as np

from intarsia.backends.contract import Port
from intarsia.backends.contract.buffers import Need, allocate

LARGE_BYTES = 2**16
"""Less than this is copied faster than a caller who keeps it is given other memory."""
Holder = Callable[[], np.ndarray | None]
"""The array that was handed out, while it or a view of it is held."""


class OutputBuffer(Port):
    """A large output: no copy of it is made, and it is written to the same memory again once nobody holds it.

    Fresh memory for each result would have to be mapped page by page. A caller who feeds a result to the next run, as
    decoding with a cache does, gets two arrays by turns.
    """

    __slots__ = ("_holder", "_need", "_other")

    def __init__(self, need: Need) -> None:
        super().__init__(allocate([need])[need.name])
        self._need = need
        self._holder: Holder = _nobody
        self._other: tuple[np.ndarray, Holder] | None = None

    def hand_out(self) -> np.ndarray:
        """What is in it, as an array that every view of it holds: numpy lets a view hold the first array in a row."""
        array = np.ndarray(self.array.shape, self.array.dtype, buffer=self.array.base)
        self._holder = weakref.ref(array)
        return array

    def renew(self) -> None:
        """Move to other memory if somebody holds what was handed out."""
        if self._holder() is None:
            return
        held = self.array, self._holder
        if self._other is not None and self._other[1]() is None:
            self.array = self._other[0]
        else:
            self.array = allocate([self._need])[self._need.name]
        self._other, self._holder = held, _nobody


def _nobody() -> None:
    return None
