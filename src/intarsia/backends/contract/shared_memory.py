"""Memory shared with an engine that only reads it, and with another process."""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import numpy as np


def writable(array: np.ndarray) -> np.ndarray:
    """The same memory without the read-only mark: some engines refuse an array with it, though they only read."""
    import numpy as np

    if array.flags.writeable or not array.nbytes:
        return array
    memory = (ctypes.c_ubyte * array.nbytes).from_address(array.ctypes.data)
    return np.ndarray(array.shape, dtype=array.dtype, buffer=memoryview(memory))


class SharedBlock(mmap.mmap):
    """Zeroed memory behind a file descriptor: whoever is sent that maps the same pages.

    It has no name, so nothing is left behind, whoever dies.
    """

    descriptor: int

    @classmethod
    def of_size(cls, nbytes: int) -> Self:
        """Fresh memory, of at least one page."""
        descriptor = os.memfd_create("intarsia")
        os.ftruncate(descriptor, max(nbytes, mmap.PAGESIZE))
        return cls.received(descriptor)

    @classmethod
    def received(cls, descriptor: int) -> Self:
        """The memory behind a descriptor, which the block owns from now on."""
        block = cls(descriptor, 0)
        block.descriptor = descriptor
        weakref.finalize(block, os.close, descriptor)
        return block

    @property
    def address(self) -> int:
        """Where it is mapped in this process."""
        return ctypes.addressof(ctypes.c_char.from_buffer(self))


def shared_block(array: np.ndarray) -> SharedBlock | None:
    """The block that an array lies in, if it lies in one."""
    owner: object = array
    while hasattr(owner, "base"):
        owner = owner.base
    return owner if isinstance(owner, SharedBlock) else None
