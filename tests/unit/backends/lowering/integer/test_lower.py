"""Quantised groups become one instruction each and compute what the model says; the rest stays in floating point."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from intarsia.backends.lowering.integer.lower import lower_integers
from intarsia.graph import load_model
from intarsia.graph.submodel import extract
from networks.quantised import build as quantised
from tests.unit.backends.lowering.integer.models import Sketch, agree, answers, names_of

DTYPES = ("int8", "uint8")


def finished(net: Sketch, name: str, step: float = 0.05, zero: int | None = None) -> onnx.ModelProto:
    made, _ = net.quantised(name, step, zero)
    return net.model((made, net.dtype))


def conv_bias(net: Sketch, channels: int, scale: str) -> str:
    whole = net.weight(net.rng.integers(-3000, 3000, channels).astype(np.int32))
    return net.node("DequantizeLinear", whole, net.weight(np.full(channels, 6e-5, np.float32)), axis=0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [None, 0])
@pytest.mark.parametrize("bias", ["none", "int32", "float"])
@pytest.mark.parametrize("behind", ["", "Relu", "Clip"])
def test_a_convolution(dtype: str, axis: int | None, bias: str, behind: str) -> None:
    net = Sketch((2, 4, 9, 8), dtype)
    operands = [net.x, net.constant((6, 4, 3, 3), axis)]
    if bias == "int32":
        operands.append(conv_bias(net, 6, ""))
    elif bias == "float":
        operands.append(net.weight(net.rng.normal(0, 0.3, 6).astype(np.float32)))
    y = net.node("Conv", *operands, pads=[1, 0, 2, 1], strides=[2, 1])
    if behind == "Relu":
        y = net.node("Relu", y)
    elif behind == "Clip":
        y = net.node("Clip", y, net.weight(np.array(-0.4, np.float32)), net.weight(np.array(0.9, np.float32)))
    model = finished(net, y, 0.02)
    assert names_of(model) == Counter(["quantize", "q_conv", *(["q_flip"] if dtype == "uint8" else [])])
    agree(model)


@pytest.mark.parametrize("groups", [2, 4])
@pytest.mark.parametrize("rank", [1, 2])
def test_a_grouped_convolution(groups: int, rank: int) -> None:
    net = Sketch((1, 4, *(9, 8)[:rank]))
    y = net.node("Conv", net.x, net.constant((8, 4 // groups, *(3, 3)[:rank]), 0), group=groups, auto_pad="SAME_UPPER")
    model = finished(net, y, 0.02)
    assert names_of(model) == Counter({"quantize": 1, "q_conv": 1})
    agree(model)


def test_a_convolution_of_three_dimensions_stays_in_floating_point() -> None:
    net = Sketch((1, 2, 4, 4, 4))
    model = finished(net, net.node("Conv", net.x, net.constant((3, 2, 2, 2, 2), 0)), 0.02)
    assert names_of(model)["q_conv"] == 0
    agree(model)


@pytest.mark.parametrize("form", ["Gemm", "GemmT", "MatMul", "MatMul3", "MatMulAdd"])
@pytest.mark.parametrize("is_sliced", [False, True])
def test_a_product_by_weights(form: str, is_sliced: bool) -> None:
    shape = (2, 3, 20) if form == "MatMul3" else (3, 20)
    net = Sketch(shape)
    is_turned = form == "GemmT"
    w = net.constant((11, 20) if is_turned else (20, 11), ((0 if is_turned else 1) if is_sliced else None))
    if form.startswith("Gemm"):
        bias = net.weight(net.rng.normal(0, 0.3, 11).astype(np.float32))
        y = net.node("Gemm", net.x, w, bias, transB=int(is_turned), alpha=0.5)
    else:
        y = net.node("MatMul", net.x, w)
    if form == "MatMulAdd":
        y = net.node("Add", net.weight(net.rng.normal(0, 0.3, 11).astype(np.float32)), y)
    model = finished(net, net.node("Relu", y), 0.02)
    assert names_of(model)["q_dense"] == 1
    assert not names_of(model).keys() & {"dequantize", "matmul", "add"}
    agree(model)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_product_of_two_values(dtype: str) -> None:
    net = Sketch((2, 5, 6), dtype)
    other = net.through(net.node("Transpose", net.x, perm=[0, 2, 1]), 0.03)
    model = finished(net, net.node("MatMul", net.x, other), 0.1)
    assert names_of(model)["q_matmul"] == 1
    agree(model)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op_type", ["Add", "Sub", "Mul"])
@pytest.mark.parametrize("other", ["value", "constant", "itself"])
def test_two_operands(op_type: str, other: str, dtype: str) -> None:
    net = Sketch((2, 5, 6), dtype)
    if other == "value":
        b = net.through(net.node("Sigmoid", net.x), 0.01)
    elif other == "constant":
        b = net.constant((5, 1), None, dtype, zero=3)
    else:
        b = net.x
    model = finished(net, net.node("Relu", net.node(op_type, net.x, b)), 0.03)
    names = names_of(model)
    assert names[f"q_{op_type.lower()}"] == (0 if other == "itself" else 1)
    assert "dequantize" not in names
    agree(model) if not (other == "itself" and op_type == "Sub") else None


@pytest.mark.parametrize("op_type", ["Sigmoid", "Tanh", "Relu", "LeakyRelu", "HardSwish", "Gelu", "Exp", "Abs", "Erf"])
def test_a_function_of_one_element_is_a_table(op_type: str) -> None:
    net = Sketch((3, 40))
    model = finished(net, net.node(op_type, net.x), 0.02)
    assert names_of(model) == Counter({"quantize": 1, "q_lookup": 1})
    agree(model)


def test_a_chain_of_functions_is_one_table() -> None:
    net = Sketch((3, 40))
    y = net.node("Mul", net.x, net.node("Sigmoid", net.x))
    y = net.node(
        "Add", net.node("Mul", y, net.weight(np.array(0.7, np.float32))), net.weight(np.array(0.1, np.float32))
    )
    model = finished(net, net.node("Clip", y, net.weight(np.array(-0.1, np.float32))), 0.02)
    assert names_of(model) == Counter({"quantize": 1, "q_lookup": 1})
    agree(model)


@pytest.mark.parametrize(
    "op_type", ["MaxPool", "AveragePool", "AveragePoolPadded", "GlobalAveragePool", "GlobalMaxPool"]
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_pools(op_type: str, dtype: str) -> None:
    net = Sketch((2, 12, 7, 8), dtype)
    window: dict[str, Any] = {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]}
    if op_type == "AveragePoolPadded":
        y = net.node("AveragePool", net.x, **window)
    elif op_type == "AveragePool":
        y = net.node("AveragePool", net.x, kernel_shape=[2, 3], strides=[1, 2])
    else:
        y = net.node(op_type, net.x, **(window if op_type == "MaxPool" else {}))
    model = finished(net, y, 0.03 if "Max" in op_type else 0.013)
    assert sum(names_of(model)[name] for name in ("q_pool_max", "q_pool_avg")) == 1
    assert "dequantize" not in names_of(model)
    agree(model)


@pytest.mark.parametrize("axes", [(2, 3), (1,), (0, 3)])
def test_means(axes: tuple[int, ...]) -> None:
    net = Sketch((2, 12, 7, 8))
    model = finished(net, net.node("ReduceMean", net.x, net.ints(*axes), keepdims=0), 0.01)
    assert names_of(model)["q_pool_avg" if axes == (2, 3) else "q_mean"] == 1
    agree(model)


@pytest.mark.parametrize("axis", [1, -1])
def test_softmax(axis: int) -> None:
    net = Sketch((4, 6, 5))
    made = net.node("Softmax", net.x, axis=axis)
    zero, step = net.weight(np.array(-128, np.int8)), net.weight(np.array(1 / 256, np.float32))
    model = net.model((net.node("QuantizeLinear", made, step, zero), "int8"))
    assert names_of(model)["q_softmax"] == 1
    agree(model)


@pytest.mark.parametrize(
    ("source", "target"), [("int8", "int8"), ("uint8", "uint8"), ("int8", "uint8"), ("uint8", "int8")]
)
@pytest.mark.parametrize("step", [1 / 256, 1 / 255, 0.0039, 0.0023])
def test_softmax_as_onnxruntime_computes_it_fused_or_not(source: str, target: str, step: float) -> None:
    net = Sketch((40, 12), source)
    made = net.node("Softmax", net.x, axis=-1)
    attrs = net.weight(np.array(step, np.float32)), net.weight(np.array(-128 if target == "int8" else 0, target))
    model = net.model((net.node("QuantizeLinear", made, *attrs), target))
    assert names_of(model)["q_softmax"] == 1
    feeds = {"x": net.rng.normal(0, 1, (40, 12)).astype(np.float32)}
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.qdqisint8allowed", "1")  # else it makes uint8 of the operand alone
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    (right,) = session.run(None, feeds)
    (found,), _ = answers(model, feeds)
    apart = np.abs(found.astype(np.int64) - right.astype(np.int64))
    assert apart.max() <= 1
    assert (apart == 0).mean() >= 0.995


def moved(net: Sketch, op_type: str) -> str:
    match op_type:
        case "Transpose":
            return net.node("Transpose", net.x, perm=[0, 2, 3, 1])
        case "Reshape":
            return net.node("Reshape", net.x, net.ints(0, -1))
        case "Slice":
            return net.node("Slice", net.x, net.ints(1), net.ints(6), net.ints(2), net.ints(2))
        case "Pad":
            return net.node("Pad", net.x, net.ints(0, 0, 1, 2, 0, 0, 3, 0))
        case "Resize":
            scales = net.weight(np.array([1, 1, 2, 1.5], np.float32))
            return net.node("Resize", net.x, "", scales, mode="nearest")
        case "DepthToSpace":
            return net.node("DepthToSpace", net.x, blocksize=2)
        case "Gather":
            return net.node("Gather", net.x, net.ints(2, 0, 1), axis=1)
        case "Split":
            return net.node("Split", net.x, outputs=2, axis=1, num_outputs=2)
    return net.node(op_type, net.x)


@pytest.mark.parametrize("is_same", [True, False])
@pytest.mark.parametrize(
    "op_type", ["Transpose", "Reshape", "Slice", "Pad", "Resize", "DepthToSpace", "Gather", "Split", "Flatten"]
)
def test_what_only_moves_stays_in_8_bits(op_type: str, is_same: bool) -> None:
    net = Sketch((2, 4, 6, 8))
    y = moved(net, op_type)
    if is_same:
        attrs = net.nodes[0].input[1:]
        model = net.model((net.node("QuantizeLinear", y, *attrs), "int8"))
    else:
        model = finished(net, y, 0.03)
    names = names_of(model)
    assert names["q_lookup"] == (0 if is_same else 1)
    assert not names.keys() & {"dequantize", "cast"}
    agree(model)


def test_parts_of_a_concatenation_are_brought_to_its_scale() -> None:
    net = Sketch((2, 4, 6))
    other = net.through(net.node("Neg", net.x), 0.05)
    model = finished(net, net.node("Concat", net.x, other, axis=1), 0.04)
    assert names_of(model)["concat"] == 1
    assert "dequantize" not in names_of(model)
    agree(model)


def test_codes_that_are_moved_between_two_halves_of_a_pair() -> None:
    net = Sketch((2, 4, 6))
    made, attrs = net.quantised("x", 0.02)
    turned = net.node("Transpose", made, perm=[1, 0, 2])
    x = net.node("DequantizeLinear", turned, *attrs)
    model = finished(net, net.node("Relu", x), 0.02)
    assert "dequantize" not in names_of(model)
    agree(model)


def test_a_result_that_others_read_too_is_computed_in_floating_point() -> None:
    net = Sketch((1, 4, 9, 8))
    y = net.node("Conv", net.x, net.constant((6, 4, 3, 3), 0))
    made, _ = net.quantised(net.node("Relu", y), 0.02)
    model = net.model((made, "int8"), (y, "float32"))
    names = names_of(model)
    assert names["q_conv"] == 0
    assert names["conv"] == 1
    assert names["dequantize"] == 1


def test_what_has_no_integers_runs_between_dequantize_and_quantize() -> None:
    net = Sketch((3, 40))
    model = finished(net, net.node("CumSum", net.x, net.ints(1)), 0.3)
    names = names_of(model)
    assert (names["dequantize"], names["quantize"]) == (1, 2)


@pytest.mark.parametrize("name", ["QLinearConv", "QLinearMatMul"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_operators_on_integers(name: str, dtype: str) -> None:
    net = Sketch((3, 20) if name == "QLinearMatMul" else (1, 4, 9, 8), dtype)
    made, attrs = net.quantised("x", 0.02)
    rows = (20, 11) if name == "QLinearMatMul" else (6, 4, 3, 3)
    w = net.weight(net.rng.integers(-127, 128, rows).astype(np.int8))
    count = rows[0] if name == "QLinearConv" else 1
    ws = net.weight(net.rng.uniform(0.002, 0.004, count).astype(np.float32))
    wz = net.weight(np.zeros(count, np.int8))
    bias = [net.weight(net.rng.integers(-3000, 3000, 6).astype(np.int32))] if name == "QLinearConv" else []
    model = net.model((net.node(name, made, *attrs, w, ws, wz, *net.scale(0.02), *bias), dtype))
    assert names_of(model)["q_conv" if name == "QLinearConv" else "q_dense"] == 1
    agree(model)


@pytest.mark.parametrize("dtype", ["int4", "uint8", "uint8-odd"])
def test_weights_of_other_types(dtype: str) -> None:
    net = Sketch((1, 4, 9, 8))
    if dtype == "int4":
        whole = onnx.helper.make_tensor(
            "whole", onnx.TensorProto.INT4, (6, 4, 3, 3), net.rng.integers(-8, 8, 216).tolist()
        )
        net.weights.append(whole)
        w = net.node("DequantizeLinear", "whole", net.weight(np.full(6, 0.05, np.float32)), axis=0)
    else:
        w = net.constant((6, 4, 3, 3), None, "uint8", zero=128 if dtype == "uint8" else 90)
    model = finished(net, net.node("Conv", net.x, w), 0.03)
    assert names_of(model)["q_conv"] == (0 if dtype == "uint8-odd" else 1)
    agree(model)


def test_instructions_say_which_nodes_they_compute() -> None:
    net = Sketch((1, 4, 9, 8))
    y = net.node("Relu", net.node("Conv", net.x, net.constant((6, 4, 3, 3), 0)))
    model = finished(net, y, 0.02)
    graph = load_model(model)
    program = lower_integers(extract(graph, graph.position))
    (conv,) = (each for each in program.instructions if each.name == "q_conv")
    assert {graph.node(id_).op_type for id_ in conv.origin} == {"DequantizeLinear", "Conv", "Relu", "QuantizeLinear"}


@pytest.mark.parametrize("name", ["residual-qdq-tensor", "mobile-qdq-tensor-int8", "residual-qoperator"])
def test_whole_networks_have_no_floats_within(name: str) -> None:
    model = quantised(name)
    names = names_of(model)
    assert names["q_conv"] >= 21
    assert not names.keys() & {"conv", "matmul"}
    rng = np.random.default_rng(0)
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    (found,), (expected,) = answers(model, {model.graph.input[0].name: rng.normal(0, 0.7, shape).astype(np.float32)})
    assert np.abs(found - expected).max() < 0.15 * np.abs(expected).max()


def test_float_models_are_as_before() -> None:
    weight = numpy_helper.from_array(np.ones((4, 3), np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["h"], "product"), helper.make_node("Relu", ["h"], ["y"], "relu")],
        "plain",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (2, 4))],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, (2, 3))],
        [weight],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_operatorsetid("", 21)], ir_version=10)
    assert names_of(model) == Counter({"matmul": 1, "max": 1})
