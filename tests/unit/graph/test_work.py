from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import helper

from intarsia.graph import load_model
from intarsia.graph.work import bytes_moved, flops
from tests.unit.graph.models import info, model

Shape = tuple[int, ...]


def _flops(op_type: str, *shapes: Shape, outputs: Sequence[str] = ("y",), **attributes: Any) -> int:
    inputs = [info(f"in{i}", shape) for i, shape in enumerate(shapes)]
    node = helper.make_node(op_type, [value.name for value in inputs], list(outputs), **attributes)
    graph = load_model(model([node], inputs, [info(name, None) for name in outputs]))
    return flops(graph, graph.nodes[0])


@pytest.mark.parametrize(
    ("expected", "op_type", "shapes", "attributes"),
    [
        (2 * 8 * 16 * (3 * 9), "Conv", [(1, 3, 4, 4), (8, 3, 3, 3)], {"pads": [1, 1, 1, 1]}),
        (2 * 8 * 16 * 9, "Conv", [(1, 8, 4, 4), (8, 1, 3, 3)], {"pads": [1, 1, 1, 1], "group": 8}),
        (2 * 3 * 16 * (8 * 4), "ConvTranspose", [(1, 3, 4, 4), (3, 8, 2, 2)], {"strides": [2, 2]}),
        (2 * 5 * 4 * 6 * 7, "MatMul", [(5, 4, 6), (6, 7)], {}),
        (2 * 6, "MatMul", [(6,), (6,)], {}),
        (2 * 4 * 6 * 7, "Gemm", [(4, 6), (6, 7)], {}),
        (2 * 4 * 6 * 7, "Gemm", [(6, 4), (6, 7)], {"transA": 1}),
        (2 * 2 * 3 * 4 * 5, "Einsum", [(2, 3, 4), (2, 4, 5)], {"equation": "bij,bjk->bik"}),
        (2 * 5 * 2 * (12 * 4 + 12 * 3), "LSTM", [(5, 2, 4), (1, 12, 4), (1, 12, 3)], {"hidden_size": 3}),
        (2 * 5 * 2 * (9 * 4 + 9 * 3), "GRU", [(5, 2, 4), (1, 9, 4), (1, 9, 3)], {"hidden_size": 3}),
        (2 * 2 * 2 * 4, "MaxPool", [(1, 2, 4, 4)], {"kernel_shape": [2, 2], "strides": [2, 2]}),
        (32, "GlobalAveragePool", [(1, 2, 4, 4)], {}),
        (24, "ReduceSum", [(2, 3, 4)], {}),
        (6, "Relu", [(2, 3)], {}),
        (5 * 6, "Softmax", [(2, 3)], {}),
    ],
)
def test_operations_are_counted(expected: int, op_type: str, shapes: list[Shape], attributes: dict[str, Any]) -> None:
    assert _flops(op_type, *shapes, **attributes) == expected


def test_an_unknown_operator_counts_its_outputs_or_nothing() -> None:
    node = helper.make_node("Conv", ["x"], ["y"], domain="their")
    graph = load_model(model([node], [info("x")], [info("y", None)], domains={"their": 1}))
    assert flops(graph, graph.nodes[0]) == 0


def test_what_a_node_reads_and_writes_counts_once() -> None:
    node = helper.make_node("Sum", ["x", "x", "w"], ["y"])
    graph = load_model(model([node], [info("x")], [info("y")], {"w": np.ones((2, 3), np.float32)}))
    assert bytes_moved(graph, graph.nodes[0]) == 3 * 24
