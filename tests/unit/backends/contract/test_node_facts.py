from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from intarsia.backends.contract.node_facts import (
    constant,
    has_input,
    has_window_in_padding,
    inner_operators,
    input_dtype,
    input_rank,
    is_constant,
    words,
)
from intarsia.graph import load_model
from tests.conformance.cases import Case, Feed, f32, i64, node, one


@given(
    size=st.integers(1, 12),
    kernel=st.integers(1, 4),
    stride=st.integers(1, 4),
    dilation=st.integers(1, 2),
    before=st.integers(0, 1),
    after=st.integers(0, 1),
)
def test_a_window_in_the_padding_is_found(
    size: int, kernel: int, stride: int, dilation: int, before: int, after: int
) -> None:
    reach = dilation * (kernel - 1) + 1
    if size + before + after < reach or max(before, after) >= kernel:
        return
    case = one(
        "MaxPool",
        "1d",
        {"x": f32(1, 1, size)},
        kernel_shape=[kernel],
        strides=[stride],
        dilations=[dilation],
        pads=[before, after],
        ceil_mode=1,
    )
    graph = load_model(case.model())
    starts = [0]
    while starts[-1] + reach < size + before + after:
        starts.append(starts[-1] + stride)
    assert has_window_in_padding(graph.nodes[0], graph) == (starts[-1] >= size + before)


def test_without_ceil_mode_there_is_none() -> None:
    graph = load_model(one("MaxPool", "plain", {"x": f32(1, 1, 4)}, kernel_shape=[1], strides=[2]).model())
    assert not has_window_in_padding(graph.nodes[0], graph)


def test_what_an_input_is() -> None:
    case = one("Slice", "late-end", {"x": f32(4, 6), "s": i64(1), "e": Feed(shape=(1,), dtype="int64")})
    graph = load_model(case.model())
    each = graph.nodes[0]
    assert [has_input(each, position) for position in range(4)] == [True, True, True, False]
    assert [is_constant(each, graph, position) for position in range(4)] == [False, True, False, True]
    assert input_dtype(each, graph, 2) == "int64"
    assert input_rank(each, graph, 0) == 2
    assert input_rank(each, graph, 3) is None
    assert np.array_equal(constant(each, graph, 1) or 0, [1])
    assert constant(each, graph, 2) is None


@pytest.mark.parametrize("depth", [1, 2])
def test_operators_are_found_at_any_depth(depth: int) -> None:
    def branch(level: int) -> dict[str, object]:
        inside = node("If", "c", f"o{level}", **branch(level - 1)) if level > 1 else node("Relu", "x", "o1")
        shown = [helper.make_tensor_value_info(f"o{level}", TensorProto.FLOAT, [2])]
        graph = helper.make_graph([inside], f"branch-{level}", [], shown)
        return {"then_branch": graph, "else_branch": graph}

    case = Case(
        name="nested",
        nodes=(node("If", "c", "y", **branch(depth)),),
        inputs={"c": Feed(shape=(), dtype="bool"), "x": f32(2)},
    )
    found = set(inner_operators(load_model(case.model()).nodes[0]))
    assert ("", "Relu") in found
    assert (("", "If") in found) == (depth > 1)


def test_words() -> None:
    assert words("a b", "b  c") == {"a", "b", "c"}
