"""Laws of weights in blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from intarsia.graph.quantise.blocks import BLOCK, Blocks

_HALF = 2.0**-8
"""What rounding a scale to 16 bits changes."""
shapes = st.tuples(st.integers(1, 3 * BLOCK + 1), st.integers(1, 5))
weights = shapes.flatmap(lambda shape: hnp.arrays(np.float32, shape, elements=st.floats(-1e6, 1e6, width=32)))


@given(weights, st.sampled_from([4, 6, 8, 10, 12]))
def test_a_weight_is_off_by_half_a_step_at_most(weight: np.ndarray, bits: int) -> None:
    blocks = Blocks.of(weight, bits)
    assert blocks.codes.dtype.name == {4: "int4", 8: "uint8"}.get(bits, "int16")
    assert blocks.codes.shape == weight.shape
    assert blocks.scales.shape == (-(-weight.shape[0] // BLOCK), weight.shape[1])
    steps = np.repeat(blocks.scales.astype(np.float64), BLOCK, axis=0)[: weight.shape[0]]
    assert np.all(np.abs(blocks.restored().astype(np.float64) - weight) <= 0.501 * steps)


@given(weights, st.sampled_from([4, 6, 8, 10, 12]))
def test_a_weight_that_was_restored_stays_as_it_is(weight: np.ndarray, bits: int) -> None:
    once = Blocks.of(weight, bits)
    again = Blocks.of(once.restored(), bits)
    assert np.array_equal(again.codes.astype(np.int16), once.codes.astype(np.int16))
    np.testing.assert_allclose(again.restored(), once.restored(), rtol=1e-6)


@pytest.mark.parametrize(("bits", "parts"), [(4, ["codes", "scales"]), (8, ["codes", "scales", "origins"])])
def test_each_block_has_its_own_step(bits: int, parts: list[str]) -> None:
    weight = np.concatenate([np.full((BLOCK, 1), 1.0), np.full((BLOCK, 1), -100.0), np.zeros((3, 1))])
    blocks = Blocks.of(weight.astype(np.float32), bits)
    most = {4: 7, 8: 127}[bits]
    assert blocks.scales[:, 0] == pytest.approx([1 / most, 100 / most, 1.0], rel=_HALF)
    assert blocks.restored() == pytest.approx(weight, rel=_HALF)
    assert not (blocks.scales.view(np.uint32) & np.uint32(0xFFFF)).any()
    assert [name for name, _ in blocks.parts()] == parts


def test_denormal_blocks_stay_finite() -> None:
    blocks = Blocks.of(np.full((4, 2), 1e-42, np.float32), 4)
    assert np.all(blocks.scales >= np.finfo(np.float32).tiny)
    assert not blocks.restored().any()
