"""Sliding windows against counting the places where they fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.backends.ncnn.lowering.window import Window

small = st.integers(1, 5)


@given(
    size=st.integers(1, 30), kernel=small, stride=small, dilation=small, begin=st.integers(0, 4), end=st.integers(0, 4)
)
def test_a_window_is_counted_where_it_fits(
    size: int, kernel: int, stride: int, dilation: int, begin: int, end: int
) -> None:
    window = Window(kernel=(kernel,), strides=(stride,), dilations=(dilation,), pads=(begin, end))
    last = [start + (kernel - 1) * dilation for start in range(0, size + begin + end, stride)]
    fits = sum(pixel < size + begin + end for pixel in last)
    assert max(window.output((size,))[0], 0) == fits


@pytest.mark.parametrize(("kernel", "dilation", "span"), [(3, 1, 3), (3, 2, 5), (1, 7, 1)])
def test_a_dilated_window_reaches_further(kernel: int, dilation: int, span: int) -> None:
    assert Window(kernel=(kernel,), strides=(1,), dilations=(dilation,), pads=(0, 0)).spans == (span,)
