"""Right computations of quantised networks pass, whichever way their rounding falls, and wrong ones do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from intarsia.graph import Graph, Node, extract, load_model
from intarsia.graph.reference.perturb import Jitter, step_sizes
from intarsia.graph.reference.reference import evaluate
from intarsia.graph.reference.stages import Fault, Judge, checked_values, exposing, has_stages
from intarsia.runtime.executors.drawn_feeds import graph_feeds
from intarsia.runtime.tolerance import apart, tolerances
from intarsia.runtime.verify import deviations
from tests.unit.graph.models import info, model, two_layers
from tests.unit.graph.quantised import FAULTS, dynamic_network, half_network, qdq_network

Around = Callable[[Node, Mapping[str, np.ndarray], Callable[..., Any]], Sequence[np.ndarray]]
networks = st.builds(
    qdq_network, st.integers(0, 1000), st.integers(2, 4), per_channel=st.just(True), images=st.booleans()
)


def answers(graph: Graph, names: Sequence[str], around: Around | None = None) -> dict[str, np.ndarray]:
    """What an engine says of these values and the outputs that computes as the graph says, or as ``around`` does."""
    return evaluate(graph, graph_feeds(graph, 0), keep=names, around=around)


def faults(graph: Graph, made: Mapping[str, np.ndarray]) -> list[Fault]:
    judge = Judge(graph, {name: made[name] for name in checked_values(graph)})
    evaluate(graph, graph_feeds(graph, 0), around=judge)
    return judge.faults


def refused(graph: Graph, made: Mapping[str, np.ndarray]) -> bool:
    """Whether an engine's answers are held to be wrong: at the outputs, or at a stage."""
    feeds = graph_feeds(graph, 0)
    right = evaluate(graph, feeds)
    moved = [evaluate(graph, feeds, around=Jitter(graph, seed)) for seed in (1, 2, 3)]
    open_ = tolerances([{name: apart(each[name], right[name]) for name in right} for each in moved], steps=frozenset())
    is_off = any(not found.is_acceptable for found in deviations(made, right, open_))
    return is_off or bool(faults(graph, made))


def cutting(node: Node, feeds: Mapping[str, np.ndarray], compute: Callable[..., Any]) -> Any:
    """Rounds down everywhere."""
    if node.op_type != "QuantizeLinear":
        return compute(feeds)
    x = feeds[node.inputs[0]]
    return compute({**feeds, node.inputs[0]: (x - 0.499 * step_sizes(node, feeds)).astype(x.dtype)})


@settings(max_examples=15, deadline=None)
@given(networks, st.integers(4, 1000))
def test_whichever_way_rounding_falls_is_right(proto: onnx.ModelProto, seed: int) -> None:
    graph = load_model(proto)
    assert not refused(graph, answers(graph, checked_values(graph), Jitter(graph, seed)))


@pytest.mark.parametrize("fault", FAULTS)
@settings(max_examples=6, deadline=None)
@given(proto=networks)
def test_a_planted_fault_is_caught(fault: str, proto: onnx.ModelProto) -> None:
    graph, wrong = load_model(proto), load_model(FAULTS[fault](proto))
    assert refused(graph, answers(wrong, checked_values(graph)))


@settings(max_examples=10, deadline=None)
@given(networks)
def test_rounding_down_everywhere_is_caught_at_the_stages(proto: onnx.ModelProto) -> None:
    graph = load_model(proto)
    found = faults(graph, answers(graph, checked_values(graph), cutting))
    assert found
    assert "rounds wrongly: up to" in str(found[0])


def test_ties_may_fall_either_way() -> None:
    weights = {"s": np.float32(1.0), "z": np.uint8(0)}
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"])]
    graph = load_model(model(nodes, [info("x")], [info("y", dtype=TensorProto.UINT8)], weights))
    feeds = {"x": np.array([[0.5, 1.5, 2.5], [300.0, -7.0, 3.7]], np.float32)}
    for made in ([[0, 1, 2], [255, 0, 4]], [[1, 2, 3], [255, 0, 4]]):
        judge = Judge(graph, {"y": np.array(made, np.uint8)})
        assert evaluate(graph, feeds, around=judge)["y"].tolist() == made
        assert judge.faults == []
    judge = Judge(graph, {"y": np.array([[0, 1, 2], [254, 0, 3]], np.uint8)})
    evaluate(graph, feeds, around=judge)
    assert [(fault.node, round(fault.share, 2)) for fault in judge.faults] == [("QuantizeLinear_0", 0.33)]


def test_a_scale_from_the_data_is_checked_and_so_is_what_it_makes() -> None:
    graph = load_model(dynamic_network(0))
    names = checked_values(graph)
    right = answers(graph, names)
    assert faults(graph, right) == []
    changes: tuple[tuple[str, Callable[[np.ndarray], np.ndarray], str], ...] = (
        ("qs", lambda s: s * np.float32(1.01), "its scale is"),
        ("qz", lambda z: (z + 2).astype(np.uint8), "its zero point is"),
        ("q", lambda q: np.minimum(q, 200), "steps from what it was given"),
    )
    for name, change, told in changes:
        (fault,) = faults(graph, {**right, name: np.asarray(change(right[name]))})
        assert told in fault.error


def test_a_product_with_weights_of_few_bits_may_quantise_its_other_factor() -> None:
    rng = np.random.default_rng(0)
    weights = {
        "w": rng.integers(-8, 8, (64, 32)).astype(np.int8),
        "s": rng.uniform(0.01, 0.02, (2, 32)).astype(np.float32),
    }
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["v"], axis=0, block_size=32),
        helper.make_node("MatMul", ["x", "v"], ["y"], name="product"),
    ]
    graph = load_model(model(nodes, [info("x", (4, 64))], [info("y", (4, 32))], weights))
    assert checked_values(graph) == ("y",)
    x = graph_feeds(graph, 0)["x"]
    steps = np.abs(x).max(-1, keepdims=True) / 127
    as_engines_do = evaluate(graph, {"x": (np.rint(x / steps) * steps).astype(np.float32)})["y"]
    assert faults(graph, {"y": as_engines_do}) == []
    swapped = as_engines_do.copy()
    swapped[:, [0, 1]] = swapped[:, [1, 0]]
    (fault,) = faults(graph, {"y": swapped})
    assert "8 bits explain" in fault.error


def test_models_without_quantisers_have_no_stages() -> None:
    for proto in (two_layers(), half_network(0)):
        graph = load_model(proto)
        assert not has_stages(graph)
        assert checked_values(graph) == ()


def test_exposed_values_are_outputs() -> None:
    graph = load_model(qdq_network(0, 2))
    exposed = exposing(graph, ["q1", "y"])
    assert exposed.outputs == ("y", "q1")
    found = evaluate(exposed, graph_feeds(graph, 0))
    assert found["q1"].dtype == np.uint8
    assert {value.name for value in extract(exposed, exposed.position).outputs} == {"y", "q1"}
