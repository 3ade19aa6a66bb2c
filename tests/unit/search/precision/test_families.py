"""Weights are looked at where products that wait for them have a share of the model that tells."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from intarsia.graph import Graph
from intarsia.search.precision.families import PRODUCTS, WEIGHTS, rows
from intarsia.search.thresholds import PRECISION
from tests.unit.graph.models import info, model
from tests.unit.graph.quantise.networks import loaded

ROWS = 64
LENGTH = 32


def transformer(classes: int) -> Graph:
    """A product of many rows, and a classifier of one row behind it."""
    weights = {
        "w1": np.eye(LENGTH, dtype=np.float32),
        "w2": np.ones((LENGTH, classes), np.float32),
        "axes": np.array([0], np.int64),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["a"], name="first"),
        helper.make_node("ReduceMean", ["a", "axes"], ["m"], name="mean", keepdims=1),
        helper.make_node("MatMul", ["m", "w2"], ["y"], name="classify"),
    ]
    return loaded(model(nodes, [info("x", (ROWS, LENGTH))], [info("y", (1, classes))], weights, opset=18))


@pytest.mark.parametrize(("classes", "expected"), [(1, []), (8, ["classify"])])
def test_a_small_share_of_the_weights_is_not_looked_at(classes: int, expected: list[str]) -> None:
    share = classes / (classes + LENGTH)
    assert (share >= PRECISION.weights_least_share) is bool(expected)
    assert [layer.node.id for layer in WEIGHTS.layers(transformer(classes))] == expected


def test_rows_are_averaged_over_the_weights_not_over_the_products() -> None:
    """64 rows of 32 x 32 weights, and one of 32 x 96."""
    graph = transformer(3 * LENGTH)
    assert rows(PRODUCTS.layers(graph), graph) == (ROWS + 3 * 1) / 4
    assert rows(WEIGHTS.layers(graph), graph) == 1
    assert rows((), graph) == 0
