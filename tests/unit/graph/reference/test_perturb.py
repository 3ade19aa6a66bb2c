"""Rounding that falls the other way: as far as it may, no further, and the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from intarsia.graph import load_model
from intarsia.graph.reference.perturb import Jitter, spread
from intarsia.graph.reference.reference import evaluate
from intarsia.runtime.executors.drawn_feeds import graph_feeds
from tests.unit.graph.models import info, model, two_layers
from tests.unit.graph.quantised import dynamic_network, half_network, qdq_network


def test_an_fp32_model_does_not_move() -> None:
    graph = load_model(two_layers())
    feeds = graph_feeds(graph, 0)
    assert np.array_equal(evaluate(graph, feeds, around=Jitter(graph, 1))["y"], evaluate(graph, feeds)["y"])


def test_a_quantiser_moves_by_a_step_at_most_and_somewhere() -> None:
    graph = load_model(qdq_network(0))
    feeds = graph_feeds(graph, 0)
    right, moved = evaluate(graph, feeds, keep=["q0"]), evaluate(graph, feeds, keep=["q0"], around=Jitter(graph, 1))
    off = np.abs(right["q0"].astype(int) - moved["q0"].astype(int))
    assert off.max() == 1
    assert 0.005 < np.mean(off) < 0.06
    assert not np.array_equal(right["y"], moved["y"])


def test_of_a_few_elements_the_one_closest_to_a_tie_moves() -> None:
    weights = {"s": np.float32(1.0), "z": np.uint8(0)}
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"])]
    graph = load_model(model(nodes, [info("x")], [info("y", dtype=TensorProto.UINT8)], weights))
    feeds = {"x": np.array([[1.0, 2.1, 3.0], [4.3, 5.0, 6.0]], np.float32)}
    assert evaluate(graph, feeds, around=Jitter(graph, 7))["y"].tolist() == [[1, 2, 3], [5, 5, 6]]


@pytest.mark.parametrize("network", [qdq_network, dynamic_network, half_network])
def test_the_seed_decides(network: object) -> None:
    graph = load_model(network(3))  # type: ignore[operator]
    feeds = graph_feeds(graph, 0)
    first, again, other = (evaluate(graph, feeds, around=Jitter(graph, seed))["y"] for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_half_precision_moves_by_units_in_the_last_place() -> None:
    graph = load_model(half_network(0))
    feeds = graph_feeds(graph, 0)
    right, moved = (evaluate(graph, feeds, keep=["h0"], around=around)["h0"] for around in (None, Jitter(graph, 1)))
    assert right.dtype == np.float16
    off = np.abs(right.view(np.uint16).astype(int) - moved.view(np.uint16).astype(int))
    assert (off.max(), 0.1 < np.mean(off) < 0.4) == (1, True)


def test_a_range_from_the_data_stays() -> None:
    graph = load_model(dynamic_network(0))
    feeds = graph_feeds(graph, 0)
    right, moved = (evaluate(graph, feeds, keep=["qs", "q"], around=around) for around in (None, Jitter(graph, 1)))
    assert moved["qs"] == pytest.approx(right["qs"], rel=1e-6)
    assert np.abs(right["q"].astype(int) - moved["q"].astype(int)).max() <= 1


def test_sizes_computed_from_numbers_stay() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Cast", ["s"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["f", "half"], ["g"]),
        helper.make_node("Floor", ["g"], ["y"]),
    ]
    graph = load_model(model(nodes, [info("x", (3, "N"))], [info("y", (2,))], {"half": np.float32(0.3)}), {"N": "2..9"})
    feeds = {"x": np.zeros((3, 7), np.float32)}
    assert np.array_equal(evaluate(graph, feeds, around=Jitter(graph, 1))["y"], evaluate(graph, feeds)["y"])


def test_scales_lie_along_their_axis_and_in_blocks() -> None:
    node = load_model(qdq_network(0)).node("weights1")
    assert spread(node, (2, 3), np.array(4.0)).shape == (1, 1)
    assert spread(node, (2, 3), np.array([1.0, 2.0])).tolist() == [[1.0], [2.0]]
    assert spread(node, (4, 1), np.array([[1.0], [2.0]])).tolist() == [[1.0], [1.0], [2.0], [2.0]]
