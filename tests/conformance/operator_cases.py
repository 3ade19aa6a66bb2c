"""Operators, with the shapes and attributes that real networks use and some that engines stumble over."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.conformance.cases import Case, Content, Feed, f32, i64, node, one, scalar

_IMAGE = f32(1, 8, 14, 14)
_TOKENS = f32(1, 12, 32)
_POSITIVE = f32(2, 3, 8, low=0.1, high=3.0)
_UNIT = f32(2, 3, 8, low=-0.9, high=0.9)


def _convolutions() -> list[Case]:
    def conv(name: str, feed: Feed, weight: tuple[int, ...], *, bias: bool = False, **attributes: Any) -> Case:
        bias_shape = {"b": (weight[0],)} if bias else {}
        return one("Conv", name, {"x": feed, "w": weight, **bias_shape}, **attributes)

    return [
        conv("1x1", _IMAGE, (16, 8, 1, 1)),
        conv("3x3-bias", _IMAGE, (16, 8, 3, 3), bias=True, pads=[1, 1, 1, 1]),
        conv("3x3-stride-2", _IMAGE, (16, 8, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1]),
        conv("3x3-uneven-pads", _IMAGE, (6, 8, 3, 3), pads=[0, 1, 2, 1]),
        conv("3x3-dilated", _IMAGE, (8, 8, 3, 3), dilations=[2, 2], pads=[2, 2, 2, 2]),
        conv("3x3-odd-channels", f32(1, 3, 13, 17), (7, 3, 3, 3), bias=True),
        conv("5x3", _IMAGE, (4, 8, 5, 3), pads=[2, 1, 2, 1]),
        conv("7x7-stride-2", f32(1, 3, 32, 32), (16, 3, 7, 7), strides=[2, 2], pads=[3, 3, 3, 3]),
        conv("depthwise", _IMAGE, (8, 1, 3, 3), bias=True, group=8, pads=[1, 1, 1, 1]),
        conv("grouped", _IMAGE, (16, 2, 3, 3), group=4, pads=[1, 1, 1, 1]),
        conv("same-upper", f32(1, 4, 9, 9), (4, 4, 3, 3), auto_pad="SAME_UPPER", strides=[2, 2]),
        conv("batch-2", f32(2, 4, 9, 9), (8, 4, 3, 3)),
        conv("1d", f32(1, 8, 20), (8, 8, 3), pads=[1, 1]),
        conv("3d", f32(1, 3, 6, 8, 8), (4, 3, 3, 3, 3), pads=[1] * 6),
        one("ConvTranspose", "stride-2", {"x": f32(1, 8, 7, 7), "w": (8, 4, 4, 4)}, strides=[2, 2], pads=[1, 1, 1, 1]),
        one(
            "ConvTranspose",
            "output-padding",
            {"x": f32(1, 4, 5, 5), "w": (4, 4, 3, 3), "b": (4,)},
            strides=[2, 2],
            pads=[1, 1, 1, 1],
            output_padding=[1, 1],
        ),
    ]


def _pools() -> list[Case]:
    return [
        one("MaxPool", "2x2", {"x": _IMAGE}, kernel_shape=[2, 2], strides=[2, 2]),
        one("MaxPool", "3x3-padded", {"x": _IMAGE}, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        one("MaxPool", "ceil", {"x": f32(1, 4, 8, 8)}, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
        one("AveragePool", "2x2", {"x": _IMAGE}, kernel_shape=[2, 2], strides=[2, 2]),
        one("AveragePool", "edges-left-out", {"x": _IMAGE}, kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        one("AveragePool", "edges-counted", {"x": _IMAGE}, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
        one("GlobalAveragePool", "image", {"x": _IMAGE}),
        one("GlobalMaxPool", "image", {"x": _IMAGE}),
    ]


def _products() -> list[Case]:
    return [
        one("Gemm", "dense", {"x": f32(2, 24), "w": (10, 24), "b": (10,)}, transB=1),
        one("Gemm", "scaled", {"x": f32(3, 8), "w": (8, 5), "b": (5,)}, alpha=0.5, beta=2.0),
        one("MatMul", "tokens-by-weight", {"x": _TOKENS, "w": (32, 48)}),
        one("MatMul", "two-inputs", {"a": f32(2, 4, 6, 8), "b": f32(2, 4, 8, 5)}),
        one("MatMul", "broadcast", {"a": f32(3, 4, 6), "b": f32(6, 5)}),
        one("Einsum", "heads", {"a": f32(2, 5, 3, 4), "b": f32(2, 6, 3, 4)}, equation="bqhd,bkhd->bhqk"),
    ]


def _elementwise() -> list[Case]:
    any_value = (
        "Abs",
        "Ceil",
        "Cos",
        "Elu",
        "Erf",
        "Exp",
        "Floor",
        "HardSigmoid",
        "HardSwish",
        "Identity",
        "LeakyRelu",
    )
    more = ("Mish", "Neg", "Relu", "Selu", "Sigmoid", "Sign", "Sin", "Softplus", "Softsign", "Tanh", "Gelu", "Round")
    cases = [one(op_type, "any", {"x": f32(2, 3, 8, low=-3.0, high=3.0)}) for op_type in (*any_value, *more)]
    cases += [one(op_type, "positive", {"x": _POSITIVE}) for op_type in ("Log", "Sqrt", "Reciprocal")]
    cases += [one(op_type, "unit", {"x": _UNIT}) for op_type in ("Acos", "Asin", "Atan", "Tan")]
    for op_type in ("Add", "Sub", "Mul", "Div", "Max", "Min"):
        cases.append(one(op_type, "same-shape", {"a": f32(2, 3, 4, 5), "b": f32(2, 3, 4, 5, low=0.5)}))
        cases.append(one(op_type, "broadcast", {"a": f32(2, 3, 4, 5), "b": f32(3, 1, 1, low=0.5)}))
    return [
        *cases,
        one("Add", "outer", {"a": f32(4, 1), "b": f32(1, 5)}),
        one("Add", "scalar", {"a": f32(2, 3), "b": scalar(1.5)}),
        one("Add", "int64", {"a": Feed(shape=(2, 3), dtype="int64", low=-9, high=9), "b": i64(1, 2, 3)}),
        one("Pow", "square", {"x": f32(2, 8), "e": scalar(2.0)}),
        one("PRelu", "per-channel", {"x": _IMAGE, "s": (8, 1, 1)}),
        one("Clip", "relu-6", {"x": f32(2, 8, low=-9, high=9), "lo": scalar(0.0), "hi": scalar(6.0)}),
        one("Where", "broadcast", {"c": Feed(shape=(4, 5), dtype="bool"), "a": f32(4, 5), "b": f32(1, 5)}),
        one("Greater", "floats", {"a": f32(4, 5), "b": f32(5)}),
        one("Not", "flags", {"x": Feed(shape=(4, 5), dtype="bool")}),
        one("Cast", "to-int32", {"x": f32(4, 5, low=-9, high=9)}, to=TensorProto.INT32),
        one("Cast", "from-int64", {"x": Feed(shape=(4, 5), dtype="int64", low=-9, high=9)}, to=TensorProto.FLOAT),
        one("Div", "int32", {"a": Feed(shape=(8,), dtype="int32", low=10**8, high=10**9), "b": scalar(7, "int32")}),
        one("Add", "int8-wraps", {"a": Feed(shape=(8,), dtype="int8", low=90, high=120), "b": scalar(100, "int8")}),
    ]


def _normalisations() -> list[Case]:
    moments: dict[str, Content] = {
        "scale": (8,),
        "bias": (8,),
        "mean": (8,),
        "var": np.linspace(0.5, 1.5, 8, dtype=np.float32),
    }
    return [
        one("BatchNormalization", "inference", {"x": _IMAGE, **moments}),
        one("InstanceNormalization", "image", {"x": _IMAGE, "scale": (8,), "bias": (8,)}),
        one("LayerNormalization", "tokens", {"x": _TOKENS, "scale": (32,), "bias": (32,)}),
        one("GroupNormalization", "image", {"x": _IMAGE, "scale": (8,), "bias": (8,)}, num_groups=4),
        one("LRN", "image", {"x": _IMAGE}, size=5),
        one("LpNormalization", "last-axis", {"x": f32(4, 8)}),
        one("Softmax", "last-axis", {"x": f32(2, 4, 16)}),
        one("Softmax", "channels", {"x": f32(1, 6, 5, 5)}, axis=1),
        one("LogSoftmax", "last-axis", {"x": f32(2, 16)}),
    ]


def _reductions() -> list[Case]:
    named = ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2")
    cases = [one(op_type, "image", {"x": _IMAGE, "axes": i64(2, 3)}) for op_type in named]
    return [
        *cases,
        one("ReduceMean", "dropped-axis", {"x": _TOKENS, "axes": i64(1)}, keepdims=0),
        one("ReduceSum", "everything", {"x": f32(3, 4)}, keepdims=0),
        one("ReduceProd", "last-axis", {"x": f32(3, 4, low=0.5), "axes": i64(-1)}),
        one("ReduceMax", "int32", {"x": Feed(shape=(4, 6), dtype="int32", low=10**8, high=10**9), "axes": i64(1)}),
        one("ArgMax", "last-axis", {"x": f32(4, 16)}, axis=1, keepdims=0),
        one("CumSum", "axis-1", {"x": f32(3, 7), "axis": scalar(1, "int64")}),
        Case(
            name="TopK-3",
            nodes=(node("TopK", "x k", "y at"),),
            inputs={"x": f32(4, 16)},
            weights={"k": i64(3)},
            outputs=("y", "at"),
        ),
    ]


def _movements() -> list[Case]:
    return [
        one("Transpose", "nchw-nhwc", {"x": _IMAGE}, perm=[0, 2, 3, 1]),
        one("Transpose", "heads", {"x": f32(1, 12, 4, 8)}, perm=[0, 2, 1, 3]),
        one("Reshape", "flatten", {"x": f32(2, 3, 4), "shape": i64(2, -1)}),
        one("Flatten", "axis-1", {"x": f32(2, 3, 4)}),
        one("Squeeze", "axis-2", {"x": f32(2, 3, 1, 4), "axes": i64(2)}),
        one("Unsqueeze", "axis-1", {"x": f32(2, 3), "axes": i64(1)}),
        one("Concat", "channels", {"a": f32(1, 3, 5, 5), "b": f32(1, 4, 5, 5)}, axis=1),
        one("Concat", "last-axis", {"a": f32(2, 3), "b": f32(2, 5)}, axis=-1),
        one("Slice", "strided", {"x": f32(4, 10), "s": i64(1), "e": i64(9), "a": i64(1), "t": i64(2)}),
        one("Slice", "backwards", {"x": f32(4, 10), "s": i64(-1), "e": i64(-9), "a": i64(1), "t": i64(-2)}),
        Case(
            name="Split-uneven",
            nodes=(node("Split", "x n", "y z", axis=1),),
            inputs={"x": f32(1, 8, 6, 6)},
            weights={"n": i64(3, 5)},
            outputs=("y", "z"),
        ),
        one("Gather", "rows", {"w": (20, 8), "i": Feed(shape=(2, 5), dtype="int64", low=0, high=20)}),
        one("Gather", "fixed-column", {"x": f32(3, 6), "i": scalar(2, "int64")}, axis=1),
        one(
            "GatherElements", "axis-1", {"x": f32(3, 6), "i": Feed(shape=(3, 4), dtype="int64", low=0, high=6)}, axis=1
        ),
        one("Expand", "rows", {"x": f32(1, 4), "shape": i64(3, 4)}),
        one("Tile", "columns", {"x": f32(2, 3), "n": i64(1, 2)}),
        one("Pad", "constant", {"x": _IMAGE, "p": i64(0, 0, 1, 2, 0, 0, 3, 4), "v": scalar(0.5)}),
        one("Pad", "reflect", {"x": _IMAGE, "p": i64(0, 0, 2, 2, 0, 0, 2, 2)}, mode="reflect"),
        one("DepthToSpace", "pixel-shuffle", {"x": f32(1, 8, 4, 5)}, blocksize=2, mode="CRD"),
        one("SpaceToDepth", "blocks", {"x": f32(1, 2, 6, 8)}, blocksize=2),
        one("Trilu", "lower", {"x": f32(5, 5)}, upper=0),
        *(_resize(name, **attributes) for name, attributes in _RESIZES.items()),
    ]


_RESIZES: dict[str, dict[str, Any]] = {
    "nearest": {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
    "linear-half-pixel": {"mode": "linear"},
    "linear-corners": {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
    "cubic": {"mode": "cubic"},
}


def _resize(name: str, **attributes: Any) -> Case:
    return Case(
        name=f"Resize-{name}",
        nodes=(node("Resize", "x - scales", **attributes),),
        inputs={"x": f32(1, 4, 6, 7)},
        weights={"scales": np.array([1, 1, 2, 2], np.float32)},
    )


def _recurrences() -> list[Case]:
    def cell(op_type: str, gates: int, direction: str = "forward", **attributes: Any) -> Case:
        ways, hidden, width = (2 if direction == "bidirectional" else 1), 6, 5
        return Case(
            name=f"{op_type}-{direction}",
            nodes=(node(op_type, "x w r b", "y h", hidden_size=hidden, direction=direction, **attributes),),
            inputs={"x": f32(4, 1, width)},
            weights={
                "w": (ways, gates * hidden, width),
                "r": (ways, gates * hidden, hidden),
                "b": (ways, 2 * gates * hidden),
            },
            outputs=("y", "h"),
        )

    return [
        cell("LSTM", 4),
        cell("LSTM", 4, "bidirectional"),
        cell("GRU", 3, linear_before_reset=1),
        cell("GRU", 3, "bidirectional", linear_before_reset=1),
        cell("RNN", 1, "reverse"),
    ]


def _control_flow() -> list[Case]:
    def info(name: str, shape: list[int], elem_type: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, elem_type, shape)

    branches = {
        "then_branch": helper.make_graph([node("Add", "x w", "p")], "then", [], [info("p", [3, 4])]),
        "else_branch": helper.make_graph([node("Mul", "x v", "q")], "else", [], [info("q", [3, 4])]),
    }
    body = helper.make_graph(
        [node("Add", "state w", "next"), node("Identity", "on", "still")],
        "body",
        [info("turn", [], TensorProto.INT64), info("on", [], TensorProto.BOOL), info("state", [3, 4])],
        [info("still", [], TensorProto.BOOL), info("next", [3, 4])],
    )
    return [
        Case(
            name="If-captures",
            nodes=(node("If", "c", **branches),),
            inputs={"c": Feed(shape=(), dtype="bool"), "x": f32(3, 4), "v": f32(3, 4)},
            weights={"w": (3, 4)},
        ),
        Case(
            name="Loop-captures",
            nodes=(node("Loop", "n - x", body=body),),
            inputs={"x": f32(3, 4)},
            weights={"w": (3, 4), "n": scalar(3, "int64")},
        ),
    ]


def _quantised() -> list[Case]:
    scale, zero = scalar(0.05), scalar(3, "uint8")
    return [
        Case(
            name="QuantizeLinear-there-and-back",
            nodes=(node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z")),
            inputs={"x": f32(2, 16)},
            weights={"s": scale, "z": zero},
        ),
        Case(
            name="float16-dense",
            nodes=(node("MatMul", "x w", "m"), node("Relu", "m")),
            inputs={"x": Feed(shape=(4, 16), dtype="float16")},
            weights={"w": (np.linspace(-1, 1, 16 * 8).reshape(16, 8)).astype(np.float16)},
        ),
    ]


OPERATOR_CASES = (
    *_convolutions(),
    *_pools(),
    *_products(),
    *_elementwise(),
    *_normalisations(),
    *_reductions(),
    *_movements(),
    *_recurrences(),
    *_control_flow(),
    *_quantised(),
)
