"""One block of page-aligned memory for all values of a plan, planned once and reused. Engines plan theirs with it too.

Values whose lifetimes do not overlap share bytes: the largest value is placed first, each at the lowest offset that is
free for the whole of its life (greedy by size; Pisarchyk & Lee, "Efficient Memory Management for Deep Neural Net
Inference", 2020).
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from math import prod

import numpy as np

from intarsia.backends.contract.shared_memory import SharedBlock
from intarsia.backends.contract.slots import Arrays
from intarsia.errors import MemoryLimitError
from intarsia.light_dataclass import dataclass

PAGE = mmap.PAGESIZE
_PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """A value that needs memory from step ``first`` to step ``last``, both included."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    first: int = 0
    last: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes, rounded up to whole pages and never zero, so that every value has its own address."""
        size = self.dtype.itemsize * prod(self.shape)  # of Python's own numbers, which do not overflow
        return max(PAGE, -(-size // PAGE) * PAGE)


def place(needs: Sequence[Need]) -> tuple[dict[str, int], int]:
    """Offsets such that values alive at one time do not overlap, and the total size in bytes."""
    offsets: dict[str, int] = {}
    placed: list[Need] = []
    for need in sorted(needs, key=lambda n: (-n.nbytes, n.first, n.name)):
        offset = 0
        for other in sorted(placed, key=lambda n: offsets[n.name]):
            apart = other.last < need.first or need.last < other.first
            if apart or offsets[other.name] + other.nbytes <= offset:
                continue
            if offset + need.nbytes <= offsets[other.name]:
                break
            offset = offsets[other.name] + other.nbytes
        offsets[need.name] = offset
        placed.append(need)
    return offsets, max((offsets[n.name] + n.nbytes for n in placed), default=0)


def allocate(needs: Sequence[Need], *, shared: bool = False) -> Arrays:
    """Zeroed C-contiguous arrays over one page-aligned block, which lives as long as any of them.

    A shared block is one that other processes can map. What is not shared is this process's alone after a fork, too.

    Raises:
        MemoryLimitError: There is not that much memory.
    """
    offsets, total = place(needs)
    try:
        block = SharedBlock.of_size(total) if shared else mmap.mmap(-1, max(total, PAGE), _PRIVATE)
    except (OSError, OverflowError, ValueError) as error:
        raise MemoryLimitError(f"the values of the plan take {total} bytes, which cannot be had: {error}") from error
    return {
        need.name: np.ndarray(need.shape, dtype=need.dtype, buffer=block, offset=offsets[need.name]) for need in needs
    }
