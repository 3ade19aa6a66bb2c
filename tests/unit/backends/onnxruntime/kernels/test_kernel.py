"""Which of a kernel's ways are worth measuring."""

from __future__ import annotations

import pytest

from intarsia.backends.onnxruntime.kernels import KERNELS

OURS = {each.operator: each for each in KERNELS}


@pytest.mark.parametrize(
    ("operator", "sizes", "way"),
    [
        ("Winograd3x3", (1, 224, 224), "tile-4"),
        ("Winograd3x3", (1, 56, 56), "tile-6"),
        ("Winograd3x3", (1, 14, 14), "tile-4"),
        ("Winograd3x3", (8, 14, 14), "tile-6"),
        ("Winograd3x3", (1, 7, 7), "tile-4"),
        ("WinogradVolume", (1, 16, 64, 64), "tile-4"),
        ("Winograd5x5", (1, 28, 28), "tile-2"),
    ],
)
def test_the_tile_that_a_kernel_would_choose_second_is_measured(
    operator: str, sizes: tuple[int, ...], way: str
) -> None:
    assert OURS[operator].alternatives(sizes) == (way,)


def test_where_sizes_are_unknown_all_are_measured() -> None:
    assert OURS["Winograd3x3"].alternatives(None) == ("tile-2", "tile-4", "tile-6")
    assert OURS["Pointwise"].alternatives((1, 7, 7)) == ("ours",)
