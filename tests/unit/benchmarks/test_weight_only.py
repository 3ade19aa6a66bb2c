"""What ONNX Runtime's quantiser is given says the same as the model, in the products that it knows."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from onnx import helper

from benchmarks.weight_only import told, with_products
from intarsia.graph import load_model
from intarsia.graph.reference.reference import evaluate
from tests.unit.graph.models import info, model


@pytest.mark.parametrize("transposed", [0, 1])
@pytest.mark.parametrize("bias", [["b"], []])
def test_a_gemm_becomes_a_product(transposed: int, bias: list[str]) -> None:
    rng = np.random.default_rng(0)
    shape = (5, 8) if transposed else (8, 5)
    weights = {"w": rng.standard_normal(shape).astype(np.float32), "b": rng.standard_normal(5).astype(np.float32)}
    nodes = [helper.make_node("Gemm", ["x", "w", *bias], ["y"], name="product", transB=transposed)]
    held = {name: weights[name] for name in ("w", *bias)}
    plain = model(nodes, [info("x", (2, 8))], [info("y", (2, 5))], held)
    feeds = {"x": rng.standard_normal((2, 8)).astype(np.float32)}
    expected = evaluate(load_model(plain), feeds)["y"]
    made = with_products(plain)
    assert Counter(node.op_type for node in made.graph.node) == ({"MatMul": 1, "Add": 1} if bias else {"MatMul": 1})
    np.testing.assert_allclose(evaluate(load_model(made), feeds)["y"], expected, rtol=1e-5, atol=1e-6)


def test_another_gemm_stays() -> None:
    weights = {"w": np.ones((8, 5), np.float32)}
    nodes = [helper.make_node("Gemm", ["x", "w"], ["y"], name="product", alpha=2.0)]
    made = with_products(model(nodes, [info("x", (2, 8))], [info("y", (2, 5))], weights))
    assert [node.op_type for node in made.graph.node] == ["Gemm"]


def test_a_line_says_what_ships_and_its_error() -> None:
    case = {
        "worst_error": 0.012,
        "chosen": "onnxruntime",
        "void": True,
        "times_as_fast_as": {"openvino": {"median": 2.0}},
    }
    line = told({"allowed": {"0.05": case}})
    assert line == "0.05: error 0.0120, onnxruntime, times as fast as openvino 2.00 (void)"
