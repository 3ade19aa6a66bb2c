from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from intarsia.graph import Graph, load_model
from intarsia.graph.reference.reference import evaluate
from tests.unit.graph.models import info, model


def _raised(op_type: str, opset: int, x: np.ndarray, weights: dict[str, Any] | None = None, **attributes: Any) -> Graph:
    node = helper.make_node(op_type, ["x", *(weights or {})], ["y"], **attributes)
    return load_model(model([node], [info("x", x.shape)], [info("y", None)], weights, opset=opset, ir_version=8))


def _result(graph: Graph, x: np.ndarray) -> np.ndarray:
    assert graph.opsets == {"": 21}
    return evaluate(graph, {"x": x})["y"]


@pytest.mark.parametrize("opset", [9, 11, 12])
@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_hardmax_over_all_axes_from_one_on(opset: int, axis: int | None) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    cut = 1 if axis is None else axis
    flat = x.reshape(int(np.prod(x.shape[:cut])), -1)
    expected = (flat == flat.max(axis=1, keepdims=True)).astype(np.float32).reshape(x.shape)
    attributes: dict[str, Any] = {} if axis is None else {"axis": axis}
    np.testing.assert_array_equal(_result(_raised("Hardmax", opset, x, **attributes), x), expected)


@pytest.mark.parametrize(("op_type", "opset"), [("Upsample", 9), ("Resize", 10)])
def test_old_linear_resizing_starts_at_the_corner(op_type: str, opset: int) -> None:
    x = np.array([0, 10, 20], np.float32).reshape(1, 1, 1, 3)
    graph = _raised(op_type, opset, x, {"scales": np.array([1, 1, 1, 2], np.float32)}, mode="linear")
    assert _result(graph, x).reshape(-1).tolist() == [0, 5, 10, 15, 20, 20]


@pytest.mark.parametrize("opset", [7, 9])
def test_old_nearest_upsampling_repeats(opset: int) -> None:
    x = np.array([1, 2], np.float32).reshape(1, 1, 1, 2)
    factors = [1.0, 1.0, 1.0, 2.5]
    if opset == 7:
        graph = _raised("Upsample", opset, x, scales=factors, mode="nearest")
    else:
        graph = _raised("Upsample", opset, x, {"scales": np.array(factors, np.float32)}, mode="nearest")
    assert _result(graph, x).reshape(-1).tolist() == [1, 1, 1, 2, 2]


def test_nearest_resizing_that_both_grows_and_shrinks_is_left_to_the_engine() -> None:
    x = np.zeros((1, 1, 4, 4), np.float32)
    graph = _raised("Resize", 10, x, {"scales": np.array([1, 1, 2, 0.5], np.float32)}, mode="nearest")
    assert graph.opsets == {"": 10}


@pytest.mark.parametrize("opset", [18, 20])
def test_group_normalization_gets_a_scale_per_channel(opset: int) -> None:
    x = np.random.default_rng(0).standard_normal((2, 4, 3, 3)).astype(np.float32)
    weights = {"scale": np.array([2, 3], np.float32), "bias": np.array([1, -1], np.float32)}
    grouped = x.reshape(2, 2, -1)
    centred = grouped - grouped.mean(axis=2, keepdims=True)
    unit = centred / np.sqrt(grouped.var(axis=2, keepdims=True) + 1e-5)
    expected = (unit * weights["scale"][:, None] + weights["bias"][:, None]).reshape(x.shape)
    graph = _raised("GroupNormalization", opset, x, weights, num_groups=2)
    assert [node.op_type for node in graph.nodes] == ["GroupNormalization"]
    np.testing.assert_allclose(_result(graph, x), expected, rtol=1e-4, atol=1e-5)


def test_a_scale_that_is_per_channel_already_stays() -> None:
    x = np.random.default_rng(0).standard_normal((1, 4, 3, 3)).astype(np.float32)
    weights = {"scale": np.arange(4, dtype=np.float32), "bias": np.zeros(4, np.float32)}
    result = _result(_raised("GroupNormalization", 18, x, weights, num_groups=2), x)
    assert not result[:, 0].any()
    assert result[:, 3].any()


def test_the_scan_of_opset_8_is_left_to_the_engine() -> None:
    values = [info("s", (3,)), info("i", (3,))]
    nodes = [helper.make_node("Add", ["s", "i"], ["t"]), helper.make_node("Identity", ["t"], ["o"])]
    body = helper.make_graph(nodes, "body", values, [info("t", (3,)), info("o", (3,))])
    node = helper.make_node("Scan", ["", "start", "x"], ["y", "all"], body=body, num_scan_inputs=1)
    inputs = [info("start", (1, 3)), info("x", (1, 4, 3))]
    assert load_model(model([node], inputs, [info("y", None)], opset=8)).opsets == {"": 8}


def test_repairs_reach_into_nested_graphs() -> None:
    branches = {
        f"{name}_branch": helper.make_graph(
            [helper.make_node("Hardmax", ["x"], [name], axis=axis)], name, [], [info(name, None)]
        )
        for name, axis in (("then", 1), ("else", 2))
    }
    node = helper.make_node("If", ["c"], ["y"], **branches)
    inputs = [info("x", (1, 2, 2)), info("c", (), TensorProto.BOOL)]
    graph = load_model(model([node], inputs, [info("y", None)], opset=11))
    x = np.array([[[1, 2], [4, 3]]], np.float32)
    results = [evaluate(graph, {"x": x, "c": np.array(flag)})["y"].tolist() for flag in (True, False)]
    assert results == [[[[0, 0], [1, 0]]], [[[0, 1], [1, 0]]]]
