"""What two processes send each other: JSON and arrays, in one block of memory that both map."""

from __future__ import annotations

import json
import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from intarsia.backends.contract.shared_memory import SharedBlock
from intarsia.graph.dtypes import numpy_dtype

_LENGTH = struct.Struct("=Q")
PAGE = mmap.PAGESIZE

RUN, ASK = b"r", b"a"
"""First byte of what goes to the server: run the bound call whose number follows, or answer the attached `Message`."""
DONE, FAILED, ANSWER = b"d", b"f", b"a"
"""First byte of what it sends back: the call is done; it failed, and JSON says how; a `Message` is attached."""
LONGEST = 1 << 14
"""Most bytes that are sent at once, beside what is attached."""
MOST_BLOCKS = 250
"""Most blocks that are attached: nearly as many descriptors as the kernel lets one packet carry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One request or answer: facts that can be written as JSON, and arrays of numbers, each on a page of its own."""

    facts: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)

    def packed(self) -> SharedBlock:
        """The message in a new block."""
        places, rows = paged(self.arrays)
        text = json.dumps({"facts": dict(self.facts), "arrays": rows}).encode()
        start = to_page(_LENGTH.size + len(text))
        block = SharedBlock.of_size(start + places)
        block[: _LENGTH.size + len(text)] = _LENGTH.pack(len(text)) + text
        for (_, offset, dtype, shape), array in zip(rows, self.arrays.values(), strict=True):
            np.copyto(view(block, start + offset, dtype, shape), array)
        return block

    @classmethod
    def of_block(cls, block: SharedBlock) -> Self:
        """The message in a block that `packed` made. Its arrays lie in the block."""
        (length,) = _LENGTH.unpack(block[: _LENGTH.size])
        content = json.loads(block[_LENGTH.size : _LENGTH.size + length])
        start = to_page(_LENGTH.size + length)
        arrays = {name: view(block, start + offset, dtype, shape) for name, offset, dtype, shape in content["arrays"]}
        return cls(facts=content["facts"], arrays=arrays)


def bytes_as_arrays(files: Mapping[str, bytes]) -> dict[str, np.ndarray]:
    """The contents of files as arrays, which ``tobytes`` turns back."""
    return {name: np.frombuffer(content, np.uint8) for name, content in files.items()}


Row = tuple[str, int, str, tuple[int, ...]]
"""Name, offset, dtype and shape of an array in a block."""


def paged(arrays: Mapping[str, np.ndarray]) -> tuple[int, list[Row]]:
    """The bytes that arrays take if each begins on a page, and where each does."""
    rows: list[Row] = []
    end = 0
    for name, array in arrays.items():
        rows.append((name, end, array.dtype.name, array.shape))
        end += to_page(max(1, array.nbytes))
    return end, rows


def to_page(nbytes: int) -> int:
    """Rounded up to whole pages."""
    return -(-nbytes // PAGE) * PAGE


def view(block: SharedBlock, offset: int, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """An array in a block, which lives as long as the array does."""
    return np.ndarray(tuple(shape), dtype=numpy_dtype(dtype), buffer=block, offset=offset)
