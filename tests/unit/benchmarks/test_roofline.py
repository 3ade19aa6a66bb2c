"""Bounds follow from operations and bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from benchmarks.roofline import Peaks, bound, counted_flops, takes_winograd
from intarsia.graph import Graph, load_model
from tests.unit.graph.models import info, model


def conv(kernel: int = 3, channels: int = 4, **attributes: Any) -> Graph:
    groups = attributes.get("group", 1)
    weight = np.ones((channels, channels // groups, kernel, kernel), np.float32)
    node = helper.make_node("Conv", ["x", "w"], ["y"], **attributes)
    return load_model(model([node], [info("x", (1, channels, 16, 16))], [info("y", None)], {"w": weight}))


@pytest.mark.parametrize(
    ("graph", "takes"),
    [
        (conv(), True),
        (conv(strides=[1, 1], dilations=[1, 1]), True),
        (conv(strides=[2, 2]), False),
        (conv(dilations=[2, 2]), False),
        (conv(group=4), False),
        (conv(kernel=1), False),
    ],
)
def test_plain_3x3_convolutions_count_a_quarter(graph: Graph, takes: bool) -> None:
    (node,) = graph.nodes
    kernel = node.attributes.get("kernel_shape", graph.values["w"].shape or ())[-1]
    outputs = int(np.prod(graph.values["y"].shape or ()))
    inputs = (graph.values["w"].shape or ())[1]
    assert takes_winograd(graph, node) is takes
    assert counted_flops(graph, node) == 2 * outputs * inputs * kernel**2 * (0.25 if takes else 1)


def test_the_longer_of_arithmetic_and_traffic_binds() -> None:
    graph = conv(kernel=1)
    operations = 2 * 4 * 4 * 256
    weights, borders = 4 * 4 * 4, 2 * 4 * 4 * 256
    slow_arithmetic = bound(graph, Peaks(flops_per_ms=1.0, bytes_per_ms=1e12, cache_bytes=0))
    assert (slow_arithmetic.least_ms, slow_arithmetic.unfused_ms) == (operations, operations)
    slow_memory = bound(graph, Peaks(flops_per_ms=1e12, bytes_per_ms=1.0, cache_bytes=0))
    assert (slow_memory.least_ms, slow_memory.unfused_ms) == (weights + borders, weights + borders)


def test_a_direct_convolution_has_all_its_operations() -> None:
    found = bound(conv(), Peaks(flops_per_ms=1.0, bytes_per_ms=1e12, cache_bytes=0))
    assert found.direct_ms == 4 * found.least_ms


def test_what_a_cache_may_keep_has_not_to_come_from_memory() -> None:
    found = bound(conv(kernel=1), Peaks(flops_per_ms=1e12, bytes_per_ms=1.0, cache_bytes=1 << 20))
    assert found.least_ms < 1
    assert found.unfused_ms > 1000
