"""Products by weights in blocks as our own operator: which ones, and what their weight holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from onnx import helper

from intarsia.backends.onnxruntime.packed_products import with_packed_products
from intarsia.config.precision import Precision, Scheme
from intarsia.graph import SubModel, extract, load_model
from intarsia.graph.quantise import quantised
from tests.unit.backends.onnxruntime.test_block_products import reduced
from tests.unit.graph.models import info, model


@pytest.mark.parametrize(
    ("scheme", "size"),
    [
        (Scheme.WEIGHTS_12, 64 * 3 // 2 + 8),
        (Scheme.WEIGHTS_10, 64 * 5 // 4 + 8),
        (Scheme.WEIGHTS_8, 64 + 4),
        (Scheme.WEIGHTS_6, 64 * 3 // 4 + 4),
        (Scheme.WEIGHTS_4, 32 + 4),
    ],
)
def test_a_product_and_its_bias_are_one_operator(scheme: Scheme, size: int) -> None:
    joined = with_packed_products(reduced(scheme, 64, 32), 16)
    assert Counter(node.op_type for node in joined.nodes) == {"PackedProduct": 2, "Relu": 1}
    packed = {name: weight.nbytes for name, weight in joined.weights.items() if name.endswith("/packed")}
    assert packed[joined.nodes[0].inputs[1]] == 32 * size
    assert joined.nodes[0].inputs[2] == "b1"


def test_a_sum_that_others_read_stays() -> None:
    rng = np.random.default_rng(0)
    weights = {"w": rng.standard_normal((32, 8)).astype(np.float32), "b": np.ones(8, np.float32)}
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"], name="product"),
        helper.make_node("Add", ["p", "b"], ["y"], name="sum"),
        helper.make_node("Relu", ["p"], ["z"], name="relu"),
    ]
    graph = load_model(model(nodes, [info("x", (1, 32))], [info("y", (1, 8)), info("z", (1, 8))], weights))
    plain = quantised(extract(graph, graph.position), Precision.of({"product": Scheme.WEIGHTS_8}, {}))
    joined = with_packed_products(plain, 8)
    assert [node.op_type for node in joined.nodes] == ["PackedProduct", "Add", "Relu"]


def _in_a_matrix(rows: tuple[int, ...], others: Sequence[str] = ()) -> SubModel:
    """Two products of the same rows, which become a matrix before and get three dimensions behind one of them."""
    rng = np.random.default_rng(0)
    weights = {
        "w": rng.standard_normal((32, 8)).astype(np.float32),
        "v": rng.standard_normal((32, 8)).astype(np.float32),
        "b": np.ones(8, np.float32),
        "flat": np.array([6, 32]),
        "deep": np.array(rows),
    }
    nodes = [
        helper.make_node("Reshape", ["x", "flat"], ["m"], name="before"),
        helper.make_node("Gemm", ["m", "w", "b"], ["p"], name="first"),
        helper.make_node("Reshape", ["p", "deep"], ["y"], name="behind"),
        helper.make_node("MatMul", ["m", "v"], ["q"], name="second"),
        helper.make_node("Reshape", ["q", "deep"], ["z"], name="behind-too"),
    ]
    outputs = [info("y", rows), info("z", rows), *(info(name, None) for name in others)]
    graph = load_model(model(nodes, [info("x", (2, 3, 32))], outputs, weights))
    few = Precision.of({"first": Scheme.WEIGHTS_8, "second": Scheme.WEIGHTS_8}, {})
    return quantised(extract(graph, graph.position), few)


def test_rows_keep_their_rank() -> None:
    joined = with_packed_products(_in_a_matrix((2, 3, 8)), 8)
    assert [(node.op_type, node.inputs[0], node.outputs) for node in joined.nodes] == [
        ("PackedProduct", "x", ("y",)),
        ("PackedProduct", "x", ("z",)),
    ]


def test_rows_that_get_another_rank_go_through_the_matrix() -> None:
    plain = _in_a_matrix((3, 2, 8))
    kinds = Counter(node.op_type for node in with_packed_products(plain, 8).nodes)
    assert kinds == {"Reshape": 3, "PackedProduct": 2}


def test_a_matrix_that_others_read_stays() -> None:
    joined = with_packed_products(_in_a_matrix((2, 3, 8), ["q"]), 8)
    kinds = Counter(node.op_type for node in joined.nodes)
    assert kinds == {"Reshape": 2, "PackedProduct": 2}
    assert {value.name for value in joined.outputs} == {"y", "z", "q"}


def test_what_holds_none_stays_as_it_is() -> None:
    plain = reduced(Scheme.DYNAMIC, 8, 4)
    assert with_packed_products(plain, 16) is plain
