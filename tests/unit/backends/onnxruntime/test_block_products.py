"""Products by weights in blocks as one operator compute what they did, whatever the sizes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from onnx import helper

from intarsia.backends.onnxruntime.block_products import with_block_products
from intarsia.config.precision import Precision, Scheme
from intarsia.graph import SubModel, extract, load_model
from intarsia.graph.quantise import quantised
from intarsia.graph.reference.reference import evaluate
from tests.unit.graph.models import info, model

BITS = pytest.mark.parametrize("scheme", [Scheme.WEIGHTS_8, Scheme.WEIGHTS_4])


def reduced(scheme: Scheme, length: int, columns: int, *, transposed: bool = False) -> SubModel:
    """A Gemm and a MatMul that follows it, of these sizes."""
    rng = np.random.default_rng(0)
    first = rng.standard_normal((columns, length) if transposed else (length, columns)).astype(np.float32)
    weights = {
        "w1": first,
        "b1": rng.standard_normal(columns).astype(np.float32),
        "w2": rng.standard_normal((columns, 3)).astype(np.float32),
    }
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["a"], name="first", transB=int(transposed)),
        helper.make_node("Relu", ["a"], ["r"], name="relu"),
        helper.make_node("MatMul", ["r", "w2"], ["y"], name="second"),
    ]
    graph = load_model(model(nodes, [info("x", (2, length))], [info("y", (2, 3))], weights))
    return quantised(extract(graph, graph.position), Precision.of({"first": scheme, "second": scheme}, {}))


@BITS
@pytest.mark.parametrize(("length", "columns"), [(64, 32), (45, 7), (1, 1), (33, 31)])
@pytest.mark.parametrize("transposed", [False, True])
def test_the_operator_reads_the_same_weight(scheme: Scheme, length: int, columns: int, transposed: bool) -> None:
    plain = reduced(scheme, length, columns, transposed=transposed)
    joined = with_block_products(plain)
    kinds = Counter(node.op_type for node in joined.nodes)
    assert kinds == {"MatMulNBits": 2, "Add": 1, "Relu": 1}
    feeds = {"x": np.random.default_rng(1).standard_normal((2, length)).astype(np.float32)}
    np.testing.assert_allclose(evaluate(joined, feeds)["y"], evaluate(plain, feeds)["y"], rtol=1e-4, atol=1e-4)


def test_two_numbers_of_4_bits_share_a_byte() -> None:
    sizes = {
        scheme: sum(weight.nbytes for name, weight in with_block_products(reduced(scheme, 64, 32)).weights.items())
        for scheme in (Scheme.WEIGHTS_8, Scheme.WEIGHTS_4)
    }
    scales_and_bias = 4 * (2 * 32 + 3 + 32)
    assert sizes[Scheme.WEIGHTS_8] == 64 * 32 + 32 * 3 + scales_and_bias
    assert sizes[Scheme.WEIGHTS_4] == (64 * 32 + 32 * 3) // 2 + scales_and_bias


def test_codes_around_another_middle_stay_as_they_are() -> None:
    rng = np.random.default_rng(0)
    weights = {
        "codes": rng.integers(0, 255, (64, 8)).astype(np.uint8),
        "scales": np.full((2, 8), 0.01, np.float32),
        "middle": np.full((2, 8), 120, np.uint8),
        "w": rng.standard_normal((8, 8)).astype(np.float32),
    }
    restored = helper.make_node(
        "DequantizeLinear", ["codes", "scales", "middle"], ["r"], name="restored", axis=0, block_size=32
    )
    nodes = [
        restored,
        helper.make_node("MatMul", ["x", "r"], ["a"], name="theirs"),
        helper.make_node("MatMul", ["a", "w"], ["y"], name="ours"),
    ]
    graph = load_model(model(nodes, [info("x", (1, 64))], [info("y", (1, 8))], weights))
    plain = quantised(extract(graph, graph.position), Precision.of({"ours": Scheme.WEIGHTS_4}, {}))
    joined = with_block_products(plain)
    assert [node.op_type for node in joined.nodes] == ["DequantizeLinear", "MatMul", "MatMulNBits"]
    feeds = {"x": rng.standard_normal((1, 64)).astype(np.float32)}
    np.testing.assert_allclose(evaluate(joined, feeds)["y"], evaluate(plain, feeds)["y"], rtol=1e-4, atol=1e-4)


def test_what_holds_none_stays_as_it_is() -> None:
    plain = reduced(Scheme.DYNAMIC, 8, 4)
    assert with_block_products(plain) is plain
