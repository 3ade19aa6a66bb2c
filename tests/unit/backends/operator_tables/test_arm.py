"""What Arm's engines take of quantised networks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from intarsia.backends.operator_tables.arm import ethos_n
from intarsia.target import Target
from tests.unit.backends.operator_tables.small_graphs import quantised, refused


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_an_engine_of_integers_takes_an_operator_with_the_conversions_around_it(dtype: type) -> None:
    filters: dict[str, np.ndarray] = {"w": np.ones((16, 16, 3, 3), dtype)}
    graph = quantised("Conv", filters, dtype, "Relu", pads=[1, 1, 1, 1], kernel_shape=[3, 3])
    found = refused("ethos-n", graph)
    assert set(found) == {"enter", "leave"}
    assert all("converts numbers only next to an operator" in each for each in found.values())


@pytest.mark.parametrize(
    ("op", "attributes", "reason"),
    [
        ("Conv", {"kernel_shape": [4, 4]}, "takes no window of 4x4"),
        ("Conv", {"kernel_shape": [3, 3], "strides": [3, 3]}, "takes no strides of 3x3"),
        ("Conv", {"kernel_shape": [3, 3], "strides": [1, 2]}, "takes one stride for both axes"),
        ("Conv", {"kernel_shape": [3, 3], "dilations": [2, 2]}, "takes no dilation"),
        ("Conv", {"kernel_shape": [3, 3], "pads": [2, 2, 2, 2]}, "takes no padding, or as much as keeps the size"),
        ("MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2]}, ""),
        ("MaxPool", {"kernel_shape": [5, 5]}, "takes windows of 2x2 or 3x3"),
        ("GlobalAveragePool", {}, ""),
        ("AveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, ""),
        ("AveragePool", {"kernel_shape": [2, 2]}, "takes windows of 3x3 that keep the size"),
        ("LeakyRelu", {"alpha": 1.5}, "takes slopes between 0 and 1"),
        ("Softmax", {}, "has no Softmax"),
        ("Tanh", {}, "leaves regions to others"),
        ("Sigmoid", {}, ""),
    ],
)
def test_the_limits_of_an_engine_of_integers(op: str, attributes: dict[str, Any], reason: str) -> None:
    kernel = attributes.get("kernel_shape", [3, 3])
    weights: dict[str, np.ndarray] = {"w": np.ones((16, 16, *kernel), np.uint8)} if op == "Conv" else {}
    found = refused("ethos-n", quantised(op, weights, **attributes))
    assert (reason in found[op]) if reason else (op not in found and set(found) == {"enter", "leave"})


def test_the_compute_library_takes_unsigned_integers_alone() -> None:
    filters = np.ones((16, 16, 3, 3))
    assert "Conv" not in refused("arm_acl", quantised("Conv", {"w": filters.astype(np.uint8)}, np.uint8))
    told = refused("arm_acl", quantised("Conv", {"w": filters.astype(np.int8)}, np.int8))["Conv"]
    assert told == "arm_acl's Conv computes in float32, uint8, not in int8"


def test_regions_without_arithmetic_are_left_to_others_unless_that_is_off() -> None:
    assert ethos_n(Target("ethos-n")).substance
    kept = "ethos-n -inline_non_compute_intensive_partitions=false"
    assert not ethos_n(Target(kept)).substance
    assert "Tanh" not in refused(kept, quantised("Tanh", {}))
