"""Products of few rows that share a factor become one, and compute what they did before."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from intarsia.backends.onnxruntime.few_rows.merged_products import with_merged_products
from intarsia.graph import SubModel, extract, load_model
from intarsia.graph.reference.reference import evaluate
from intarsia.runtime.verify import distance
from tests.attention_models import LAYERS
from tests.unit.graph.models import info, model

WIDTH = 8
_DRAW = np.random.default_rng(0)


def whole(network: onnx.ModelProto) -> SubModel:
    """A network as one partition."""
    graph = load_model(network)
    return extract(graph, graph.position)


def agree(plain: SubModel, merged: SubModel) -> None:
    """Both must answer alike."""
    feeds = {value.name: _DRAW.standard_normal(value.shape or ()).astype(np.float32) for value in plain.inputs}
    found = evaluate(merged, feeds)
    for name, want in evaluate(plain, feeds).items():
        assert distance(found[name], want) <= 1e-5, name


def cell(steps: int, gates: int, rows: int = 1) -> onnx.ModelProto:
    """A cell written out: each step sums products of its input and of its state, a pair for each gate."""
    weights: dict[str, Any] = {}
    for gate in range(gates):
        for kind in "xh":
            weights[f"{kind}{gate}"] = _DRAW.standard_normal((WIDTH, WIDTH)).astype(np.float32)
            weights[f"{kind}{gate}.b"] = _DRAW.standard_normal(WIDTH).astype(np.float32)
    nodes, state = [], "state"
    for step in range(steps):
        for gate in range(gates):
            name = f"{step}.{gate}"
            nodes += [
                helper.make_node("Gemm", [f"in.{step}", f"x{gate}", f"x{gate}.b"], [f"{name}.x"], transB=1),
                helper.make_node("Gemm", [state, f"h{gate}", f"h{gate}.b"], [f"{name}.h"]),
                helper.make_node("Add", [f"{name}.x", f"{name}.h"], [f"{name}.sum"]),
                helper.make_node("Tanh", [f"{name}.sum"], [name]),
            ]
        state = f"state.{step}"
        nodes.append(helper.make_node("Sum", [f"{step}.{gate}" for gate in range(gates)], [state]))
    inputs = [info(name, (rows, WIDTH)) for name in ("state", *(f"in.{step}" for step in range(steps)))]
    return model(nodes, inputs, [info(state, (rows, WIDTH))], weights)


@pytest.mark.parametrize("rows", [1, 3])
def test_a_cell_multiplies_its_inputs_once_and_its_state_once_a_step(rows: int) -> None:
    plain = whole(cell(5, 4, rows))
    merged = with_merged_products(plain)
    kinds = Counter(node.op_type for node in merged.nodes)
    assert (kinds["Gemm"], kinds["Concat"], kinds["Add"]) == (1 + 5, 1, 5)
    agree(plain, merged)


def test_the_projections_of_an_attention_are_one() -> None:
    plain = whole(LAYERS["no projection in common"].network())
    merged = with_merged_products(plain)
    kinds = Counter(node.op_type for node in merged.nodes)
    assert (kinds["MatMul"], kinds["Split"]) == (2 + 2, 1)
    agree(plain, merged)


@pytest.mark.parametrize(
    "network", [cell(1, 1), cell(2, 2, rows=17), LAYERS["one token"].network()], ids=["alone", "many rows", "in one"]
)
def test_what_shares_nothing_stays_as_it_is(network: onnx.ModelProto) -> None:
    plain = whole(network)
    assert with_merged_products(plain) is plain


def test_products_in_turn_are_not_merged() -> None:
    plain = whole(cell(4, 1))
    merged = with_merged_products(plain)
    assert Counter(node.op_type for node in merged.nodes)["Gemm"] == 1 + 4
    agree(plain, merged)


def test_of_two_that_would_need_each_other_one_is_joined() -> None:
    weights = {name: _DRAW.standard_normal((WIDTH, WIDTH)).astype(np.float32) for name in "wv"}
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("MatMul", ["y", "v"], ["b"]),
        helper.make_node("Tanh", ["b"], ["c"]),
        helper.make_node("MatMul", ["c", "w"], ["d"]),
        helper.make_node("Tanh", ["a"], ["e"]),
        helper.make_node("MatMul", ["e", "v"], ["f"]),
    ]
    shape = (1, WIDTH)
    plain = whole(model(nodes, [info("x", shape), info("y", shape)], [info("d", shape), info("f", shape)], weights))
    merged = with_merged_products(plain)
    assert Counter(node.op_type for node in merged.nodes)["MatMul"] == 3
    agree(plain, merged)


@st.composite
def networks(draw: st.DrawFn) -> onnx.ModelProto:
    """Products of values by weights, each of which is drawn from a few, and sums of what they yield."""
    weights: dict[str, Any] = {f"w{i}": _DRAW.standard_normal((WIDTH, WIDTH)).astype(np.float32) for i in range(3)}
    weights["b"] = np.ones(WIDTH, np.float32)
    values, nodes = ["x", "y"], []
    for number in range(draw(st.integers(2, 20))):
        name, weight = f"v{number}", f"w{draw(st.integers(0, 2))}"
        first, second = (draw(st.sampled_from(values)) for _ in range(2))
        kind = draw(st.sampled_from(["MatMul", "Gemm", "Gemm, swapped", "Add", "Tanh"]))
        if kind == "MatMul":
            nodes.append(helper.make_node(kind, [first, weight], [name]))
        elif kind == "Add":
            nodes.append(helper.make_node(kind, [first, second], [name]))
        elif kind == "Tanh":
            nodes.append(helper.make_node(kind, [first], [name]))
        else:
            bias = ["b"] if draw(st.booleans()) else []
            nodes.append(helper.make_node("Gemm", [first, weight, *bias], [name], transB=int("swapped" in kind)))
        values.append(name)
    outputs = draw(st.lists(st.sampled_from(values[2:]), min_size=1, unique=True))
    shape = (draw(st.integers(1, 3)), WIDTH)
    return model(nodes, [info("x", shape), info("y", shape)], [info(name, shape) for name in outputs], weights)


@given(networks())
def test_a_merged_network_answers_as_before(network: onnx.ModelProto) -> None:
    plain = whole(network)
    agree(plain, with_merged_products(plain))
