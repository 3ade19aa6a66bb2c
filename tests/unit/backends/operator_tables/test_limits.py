"""Facts of windows that limits are about."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from intarsia.backends.operator_tables.limits import axes_of, is_depthwise, kernel, pads, per_channel_operand
from tests.unit.backends.operator_tables.small_graphs import convolution, one


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, ((0, 0), (0, 0))),
        ({"pads": [1, 2, 3, 4]}, ((1, 2), (3, 4))),
        ({"auto_pad": "VALID"}, ((0, 0), (0, 0))),
        ({"auto_pad": "SAME_UPPER"}, ((1, 1), (1, 1))),
        ({"auto_pad": "SAME_UPPER", "strides": [2, 2]}, ((0, 0), (1, 1))),
        ({"auto_pad": "SAME_LOWER", "strides": [2, 2]}, ((1, 1), (0, 0))),
    ],
)
def test_padding_before_and_behind(attributes: dict[str, Any], expected: object) -> None:
    graph = convolution(**attributes)
    assert pads(graph.nodes[0], graph) == expected


def test_windows_and_groups() -> None:
    plain, depth = convolution(), convolution(group=16)
    assert kernel(plain.nodes[0], plain) == (3, 3)
    assert not is_depthwise(plain.nodes[0], plain)
    assert is_depthwise(depth.nodes[0], depth)
    whole = one("GlobalAveragePool")
    assert kernel(whole.nodes[0], whole) == (8, 8)


def test_axes_are_counted_from_the_front() -> None:
    graph = one("ReduceMean", weights={"axes": np.array([-1, 2])})
    assert axes_of(graph.nodes[0], graph) == (2, 3)


@pytest.mark.parametrize(("shape", "fits"), [((16, 1, 1), True), ((1, 16, 1, 1), True), ((8,), False), ((), True)])
def test_an_operand_for_each_channel(shape: tuple[int, ...], *, fits: bool) -> None:
    graph = one("Mul", weights={"w": np.ones(shape, np.float32)})
    assert per_channel_operand(graph.nodes[0], graph) is fits
