"""Pools of all sorts compute what ONNX Runtime computes, in the sizes that it gives them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from intarsia.backends.lowering.interpreter import Interpreter
from intarsia.backends.lowering.lower import lower, refusal
from intarsia.graph import extract, load_model
from tests.unit.backends.lowering.numpy_kernels import kernel_of

FIRST = {"AveragePool": 10, "LpPool": 18, "MaxPool": 10}
"""The opset that gave each its ``ceil_mode``."""


@st.composite
def pools(draw: st.DrawFn) -> tuple[onnx.ModelProto, list[int]]:
    op_type = draw(st.sampled_from(sorted(FIRST)))
    opset = draw(st.sampled_from([each for each in (10, 11, 17, 18, 19, 21, 22) if each >= FIRST[op_type]]))
    rank = draw(st.integers(1, 3))

    def many(least: int, most: int) -> list[int]:
        return draw(st.lists(st.integers(least, most), min_size=rank, max_size=rank))

    kernel, strides = many(1, 3), many(1, 5)
    has_dilations = op_type != "AveragePool" or opset >= 19
    dilations = many(1, 2) if has_dilations else [1] * rank
    pads = [draw(st.integers(0, k - 1)) for k in kernel * 2]
    attrs: dict[str, Any] = {"kernel_shape": kernel, "strides": strides, "pads": pads, "ceil_mode": 1}
    attrs |= {"dilations": dilations} if has_dilations else {}
    attrs |= {"count_include_pad": draw(st.integers(0, 1))} if op_type == "AveragePool" else {}
    sizes = [draw(st.integers(d * (k - 1) + 1, 9)) for d, k in zip(dilations, kernel, strict=True)]
    shape = [1, 2, *sizes]
    graph = helper.make_graph(
        [helper.make_node(op_type, ["x"], ["y"], "pool", **attrs)], "pool",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_operatorsetid("", opset)], ir_version=8), shape


@settings(deadline=None, max_examples=250)
@given(pools())
def test_windows_that_start_in_the_padding_are_left_out(case: tuple[onnx.ModelProto, list[int]]) -> None:
    model, shape = case
    x = np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # its own inference of shapes counts such windows, and it says so each time
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    (right,) = session.run(None, {"x": x})
    graph = load_model(model)
    assert graph.values["y"].shape == right.shape
    if refusal(graph.nodes[0], graph, frozenset(), lambda *_: None) is None:
        program = lower(extract(graph, graph.position))
        (found,) = Interpreter(program, kernel_of, list(program.inputs.values()), program.known)(x)
        np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-5)


def test_sizes_behind_such_a_pool_follow() -> None:
    nodes = [
        helper.make_node("MaxPool", ["x"], ["p"], "pool", kernel_shape=[1, 1], strides=[2, 2], ceil_mode=1),
        helper.make_node("Relu", ["p"], ["y"], "relu"),
    ]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("x", [1, 1, 4, 8]), ("y", None))
    ]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_operatorsetid("", 17)], ir_version=8)
    assert load_model(model).values["y"].shape == (1, 1, 2, 4)
