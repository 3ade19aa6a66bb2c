from __future__ import annotations

import os
from itertools import pairwise

import ml_dtypes
import numpy as np
import pytest

from intarsia.backends.contract.shared_memory import SharedBlock, shared_block
from intarsia.backends.isolation.message import PAGE, Message, paged

ARRAYS: dict[str, np.ndarray] = {
    "plain": np.arange(12, dtype=np.float32).reshape(3, 4),
    "scalar": np.array(7, np.int64),
    "nothing": np.empty((0, 5), np.uint8),
    "brief": np.array([0.5, -2], ml_dtypes.bfloat16),
    "narrow": np.array([-8, 7], ml_dtypes.int4),
    "flags": np.array([True, False]),
    "turned": np.arange(6, dtype=np.int16).reshape(2, 3).T,
    "large": np.ones((3 * PAGE,), np.uint8),
}


def other_end(block: SharedBlock) -> SharedBlock:
    """The block as a process sees it that was sent the descriptor."""
    return SharedBlock.received(os.dup(block.descriptor))


def test_what_is_packed_is_what_arrives() -> None:
    facts = {"do": "load", "numbers": [1, 2], "nested": {"a": None}}
    found = Message.of_block(other_end(Message(facts=facts, arrays=ARRAYS).packed()))
    assert found.facts == facts
    assert list(found.arrays) == list(ARRAYS)
    for name, want in ARRAYS.items():
        got = found.arrays[name]
        assert (got.dtype, got.shape, got.tobytes()) == (want.dtype, want.shape, want.tobytes())


def test_every_array_begins_on_a_page_and_none_overlap() -> None:
    found = Message.of_block(Message(facts={}, arrays=ARRAYS).packed())
    assert all(array.ctypes.data % PAGE == 0 for array in found.arrays.values())
    end, rows = paged(ARRAYS)
    starts = [offset for _, offset, _, _ in rows]
    sizes = [array.nbytes for array in ARRAYS.values()]
    assert all(start + size <= after for (start, after), size in zip(pairwise([*starts, end]), sizes, strict=True))


def test_arrays_keep_the_memory_they_lie_in() -> None:
    array = Message.of_block(Message(facts={}, arrays=ARRAYS).packed()).arrays["large"]
    assert array.sum() == 3 * PAGE


def test_both_ends_see_what_one_writes() -> None:
    here = SharedBlock.of_size(8)
    there = other_end(here)
    here[:3] = b"abc"
    assert there[:3] == b"abc"
    assert len(there) == PAGE


def test_a_block_closes_its_descriptor() -> None:
    block = SharedBlock.of_size(8)
    descriptor = block.descriptor
    os.fstat(descriptor)
    del block
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_an_array_in_a_block_is_told_from_others() -> None:
    block = SharedBlock.of_size(64)
    array = np.ndarray((4, 4), np.float32, buffer=block)
    assert shared_block(array) is block
    assert shared_block(array[1:].reshape(-1).view(np.int32)) is block
    assert array.ctypes.data == block.address
    assert shared_block(np.zeros(4)) is None
    assert shared_block(np.frombuffer(bytes(8), np.uint8)) is None
