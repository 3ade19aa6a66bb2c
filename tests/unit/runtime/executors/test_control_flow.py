"""Control flow that is run step by step: its answers are those of the reference, whatever is in the bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from onnx import parser

from intarsia.errors import LoadError
from intarsia.graph.bodies import load_typed
from intarsia.graph.reference.reference import evaluate
from intarsia.runtime.executors.control_flow import ControlFlowExecutable
from intarsia.target import Target
from tests.control_flow import SHAPE, flow_models, loaded

REFERENCE = (Target("reference"),)
X = np.random.default_rng(1).standard_normal(SHAPE).astype(np.float32)

GROWS = """
<ir_version: 10, opset_import: ["": 21]>
g (float[2,3] x, int64 n) => (float[m,3] y)
<bool t = {1}>
{
  a = Relu(x)
  y0 = Loop(n, t, a) <body = b (int64 i, bool c, float[k,3] h) => (bool co, float[k2,3] ho) {
     co = Identity(c)
     z = Sigmoid(h)
     ho = Concat<axis=0>(z, a)
  }>
  y = Neg(y0)
}"""

STOPS = """
<ir_version: 10, opset_import: ["": 21]>
g (float x) => (float y, float[m] all)
<float most = {10}, bool t = {1}>
{
  y, all = Loop("", t, x) <body = b (int64 i, bool c, float h) => (bool co, float ho, float s) {
     ho = Add(h, h)
     co = Less(ho, most)
     s = Identity(h)
  }>
}"""

BRANCHES = """
<ir_version: 10, opset_import: ["": 21]>
g (float[2,3] x, bool p) => (float[m,3] y)
{
  a = Relu(x)
  y0 = If(p) <then_branch = tb () => (float[2,3] u) { u = Exp(a) },
              else_branch = eb () => (float[4,3] v) { v = Concat<axis=0>(a, x) }>
  y = Neg(y0)
}"""

PASSES = """
<ir_version: 10, opset_import: ["": 21]>
g (float[2,3] x, float[2,3] z, int64 n) => (float[2,3] y, float[2,3] q, float[m,2,3] all)
<bool t = {1}>
{
  y, q, all = Loop(n, t, x, z) <body = b (int64 i, bool c, float[2,3] h, float[2,3] k)
     => (bool c, float[2,3] k, float[2,3] h, float[2,3] k) {
  }>
}"""

SCAN = """
<ir_version: 10, opset_import: ["": 21]>
g (float[3] s, float[2,4,3] x) => (float[3] y, float[2,3,4] rows)
{
  y, rows = Scan<num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1],
      scan_output_axes = [2], scan_output_directions = [1],
      body = b (float[3] h, float[2,3] row) => (float[3] ho, float[2,3] o) {
        o = Add(row, h)
        axes = Constant<value_ints = [0]>()
        ho = ReduceMax<keepdims = 0>(o, axes)
      }>(s, x)
}"""


def _run(text: str, **feeds: Any) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """What is answered step by step, and by the reference."""
    graph = load_typed(parser.parse_model(text))
    arrays = {name: np.asarray(array) for name, array in feeds.items()}
    plan, executor = loaded(graph, REFERENCE)
    assert any(step.bodies for step in plan.steps)
    try:
        return executor.run(arrays), evaluate(graph, arrays)
    finally:
        executor.close()


def _agree(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> None:
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        assert found[name].shape == array.shape
        assert found[name].dtype == array.dtype
        np.testing.assert_allclose(found[name], array, rtol=1e-5, atol=1e-6)


@given(model=flow_models())
@settings(max_examples=25, deadline=None)
def test_any_bodies_answer_as_the_reference_does(model: onnx.ModelProto) -> None:
    graph = load_typed(model)
    _, executor = loaded(graph, REFERENCE)
    _agree(executor.run({"x": X}), evaluate(graph, {"x": X}))
    _agree(executor.run({"x": -X}), evaluate(graph, {"x": -X}))  # other branches, on the same buffers
    executor.close()


@pytest.mark.parametrize("rounds", [0, 1, 4])
def test_a_state_may_grow_from_round_to_round(rounds: int) -> None:
    found, wanted = _run(GROWS, x=X, n=np.array(rounds))
    assert found["y"].shape == (2 + 2 * rounds, 3)
    _agree(found, wanted)


@pytest.mark.parametrize(("start", "rounds"), [(1.0, 4), (20.0, 1)])
def test_a_loop_ends_when_its_body_says_so(start: float, rounds: int) -> None:
    found, wanted = _run(STOPS, x=np.float32(start))
    assert found["all"].shape == (rounds,)
    _agree(found, wanted)


@pytest.mark.parametrize("holds", [True, False])
def test_branches_may_answer_in_different_shapes(holds: bool) -> None:
    found, wanted = _run(BRANCHES, x=X, p=np.array(holds))
    assert found["y"].shape == ((2, 3) if holds else (4, 3))
    _agree(found, wanted)


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_a_body_without_a_node_swaps_its_states(rounds: int) -> None:
    found, wanted = _run(PASSES, x=X, z=-X, n=np.array(rounds))
    _agree(found, wanted)
    assert found["all"].shape == (rounds, *SHAPE)


def test_scan_takes_slices_along_any_axis_and_backwards() -> None:
    graph = load_typed(parser.parse_model(SCAN))
    s, x = np.zeros(3, np.float32), np.random.default_rng(2).standard_normal((2, 4, 3)).astype(np.float32)
    _, executor = loaded(graph, REFERENCE)
    found = executor.run({"s": s, "x": x})
    executor.close()
    state: np.ndarray = s
    rows: list[np.ndarray] = []
    for place in reversed(range(4)):
        rows.insert(0, x[:, place] + state)
        state = rows[0].max(axis=0)
    np.testing.assert_allclose(found["y"], state, rtol=1e-6)
    np.testing.assert_allclose(found["rows"], np.stack(rows, axis=2), rtol=1e-6)


def test_what_a_loop_without_a_round_hands_on_is_a_copy() -> None:
    graph = load_typed(parser.parse_model(GROWS))
    _, executor = loaded(graph, REFERENCE)
    first = executor.run({"x": X, "n": np.array(0)})["y"]
    kept = first.copy()
    executor.run({"x": -X, "n": np.array(0)})
    np.testing.assert_array_equal(first, kept)
    executor.close()


def test_what_does_not_hang_together_is_refused_when_it_is_loaded() -> None:
    facts = {"id": "f", "op": "If", "inputs": ["c"], "outputs": ["y"], "bodies": {}}
    rows: dict[str, list[int]] = {"axes": [], "backwards": [], "output_axes": [], "output_backwards": []}
    meta = {"inputs": [["c", "bool", []]], "outputs": [["y", "float32", [2]]], "nodes": [{**facts, **rows}]}
    with pytest.raises(LoadError, match="does not know 'If' with the bodies"):
        ControlFlowExecutable(meta, {}, {})
    with pytest.raises(LoadError, match="no node of it makes 'y'"):
        ControlFlowExecutable({**meta, "nodes": []}, {}, {})
