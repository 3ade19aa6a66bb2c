"""What rounds, and what does not."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from intarsia.graph import load_model
from intarsia.graph.reference.rounding import Rounding, is_dequantised, quantisers, rounding, rounds, rounds_besides
from tests.fakes import fake_dag
from tests.unit.graph.models import branching, info, model, two_layers
from tests.unit.graph.quantised import dynamic_network, half_network, qdq_network


@pytest.mark.parametrize(
    ("proto", "does", "besides", "stages"),
    [
        (two_layers(), False, False, 0),
        (branching(), False, False, 0),
        (qdq_network(0, 2), True, False, 3),
        (dynamic_network(0), True, False, 1),
        (half_network(0), True, True, 0),
    ],
)
def test_models_that_round_inside(proto: onnx.ModelProto, does: bool, besides: bool, stages: int) -> None:
    graph = load_model(proto)
    assert (rounds(graph), rounds_besides(graph), len(quantisers(graph))) == (does, besides, stages)


def test_moving_half_precision_numbers_rounds_nothing() -> None:
    graph = load_model(half_network(0))
    assert rounding(graph.node("mul0"), graph) is Rounding.HALF
    assert rounding(graph.nodes[2], graph) is None
    assert graph.nodes[2].op_type == "Relu"


@pytest.mark.parametrize(("size", "does"), [((4, 4), False), ((5, 4), True)])
def test_a_quantiser_that_is_spelt_out_rounds_but_no_sizes(size: tuple[int, ...], does: bool) -> None:
    graph = load_model(model([helper.make_node("Round", ["x"], ["y"])], [info("x", size)], [info("y", size)]))
    assert rounds(graph) is does


def test_cutting_numbers_alone_makes_no_model_that_rounds() -> None:
    nodes = [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.INT64)]
    graph = load_model(model(nodes, [info("x", (9, 9))], [info("y", (9, 9), TensorProto.INT64)]))
    assert rounding(graph.nodes[0], graph) is Rounding.CUT
    assert not rounds(graph)


def test_weights_of_few_bits_round_where_the_other_factor_is_a_float() -> None:
    weights = {"w": np.ones((3, 3), np.int8), "s": np.float32(0.1), "z": np.uint8(0)}
    float_side = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["v"]),
        helper.make_node("Transpose", ["v"], ["t"], perm=[1, 0]),
        helper.make_node("MatMul", ["x", "t"], ["y"]),
    ]
    graph = load_model(model(float_side, [info("x")], [info("y")], weights))
    assert rounding(graph.nodes[-1], graph) is Rounding.LOW_BITS
    assert (is_dequantised(graph, "t"), is_dequantised(graph, "x")) == (True, False)
    quantised_side = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        float_side[0],
        helper.make_node("MatMul", ["d", "v"], ["y"]),
    ]
    graph = load_model(model(quantised_side, [info("x")], [info("y")], weights))
    assert rounding(graph.nodes[-1], graph) is None


def test_a_graph_without_types_does_not_round() -> None:
    assert not rounds(fake_dag([[], [0]], ["Relu", "MatMul"]))
