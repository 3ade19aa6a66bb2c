"""The weight stream: the same bytes, however ncnn asks for them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from intarsia.backends.ncnn.lowering.layer import Block
from intarsia.backends.ncnn.lowering.network import Network
from intarsia.backends.ncnn.lowering.weight_stream import Source, chunks, describe


@given(st.lists(st.binary(max_size=40), max_size=6), st.lists(st.integers(1, 30), min_size=1))
def test_the_partitions_asked_for_need_not_be_those_given(partitions: list[bytes], sizes: list[int]) -> None:
    source = Source(np.frombuffer(partition, np.uint8) for partition in partitions)
    whole = b"".join(partitions)
    got = b""
    for size in sizes:
        target = np.zeros(size, np.uint8)
        count = source.fill(target)
        assert count == min(size, len(whole) - len(got))
        got += target[:count].tobytes()
    assert whole.startswith(got)
    assert source.left_over is (len(got) < len(whole))


def test_blocks_come_out_reordered_scaled_and_tagged() -> None:
    weights = {"w": np.arange(6, dtype=np.float32)}
    blocks = (
        Block(weight="w", view=(2, 3), order=(1, 0), factor=lambda: np.array([1.0, 10.0, 100.0]), tagged=True),
        Block(derived=lambda: np.array([7.0])),
    )
    recipes, derived = describe(Network(param="", blocks=blocks, inputs=(), outputs=()))
    stream = b"".join(partition.tobytes() for partition in chunks(recipes, weights, derived))
    assert stream[:4] == b"\0\0\0\0"
    assert np.frombuffer(stream[4:], np.float32).tolist() == [0, 3, 10, 40, 200, 500, 7]


def test_a_weight_is_never_stored_among_the_derived_numbers() -> None:
    recipes, derived = describe(Network(param="", blocks=(Block(weight="w", tagged=True),), inputs=(), outputs=()))
    assert derived == b""
    assert recipes == [{"tagged": True, "weight": "w"}]
