"""What ONNX Runtime's CPU provider does not take, as data: kernels by element type, and cases it computes wrongly.

The kernels are read off ``get_all_opkernel_def()`` of onnxruntime 1.31.1 at opset 21, by the type of an operator's
first input (of its output where it has none); the cases are ONNX node tests that it fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from intarsia.backends.contract.node_facts import (
    Case,
    first_reason,
    has_input,
    has_output,
    inner_operators,
    input_dtype,
    input_rank,
    is_mod_of_floats,
    products_of,
    refused,
    resizes_by_part_of_a_pixel,
    words,
)

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node

_DOMAINS = frozenset({"", "ai.onnx", "ai.onnx.ml", "com.microsoft"})
_OWN = frozenset({"", "ai.onnx"})

_REAL = "float32 float64"
_SIGNED = "int8 int16 int32 int64"
_INTEGERS = f"{_SIGNED} uint8 uint16 uint32 uint64"
_NUMBERS = f"{_REAL} {_INTEGERS}"
_VALUES = f"{_NUMBERS} bool string"
_MOVED = f"{_VALUES} float16 bfloat16"
_FLOAT8 = "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz"

_ROWS: tuple[tuple[str, str], ...] = (
    (
        "float32",
        "Acos Acosh Asin Asinh Atan Atanh AveragePool Bernoulli CenterCropPad Celu Col2Im Conv ConvTranspose Cosh Det "
        "DynamicQuantizeLinear Elu Erf Gelu GlobalAveragePool GlobalLpPool GlobalMaxPool GroupNormalization "
        "HardSigmoid HardSwish Hardmax InstanceNormalization LRN LeakyRelu LpPool MaxRoiPool MaxUnpool Mean "
        "MeanVarianceNormalization Mish Multinomial NegativeLogLikelihoodLoss NonMaxSuppression PRelu RNN Selu Sinh "
        "SoftmaxCrossEntropyLoss Softplus Softsign Tan ThresholdedRelu",
    ),
    ("float32 float16", "Attention QuantizeLinear RotaryEmbedding"),
    (
        _REAL,
        "AffineGrid BatchNormalization Ceil Cos DFT DeformConv Dropout Exp Floor GRU Gemm GridSample LSTM Log "
        "LogSoftmax LpNormalization RMSNormalization RandomNormal RandomUniform Reciprocal RoiAlign Round Sigmoid "
        "Sin Softmax Sqrt Sum Tanh",
    ),
    (f"{_REAL} bfloat16", "LayerNormalization"),
    (f"{_REAL} bfloat16 {_FLOAT8}", "IsInf IsNaN"),
    (f"{_REAL} int8 uint8", "DepthToSpace MaxPool SpaceToDepth"),
    (f"{_REAL} int8 int32", "Relu"),
    (f"{_REAL} int16 int32 int64", "Range"),
    (
        f"{_REAL} int32 int64",
        "CumSum Einsum Pow ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMean ReduceProd ReduceSum "
        "ReduceSumSquare",
    ),
    (f"{_REAL} int32 int64 bool", "Trilu"),
    (f"{_REAL} int32 int64 bool string", "SplitToSequence"),
    (f"{_REAL} int32 int64 int8 uint8", "ArgMax ArgMin"),
    (f"{_REAL} int32 int64 int8 uint8 bool", "ReduceMax ReduceMin"),
    (f"{_REAL} int32 int64 uint64", "EyeLike"),
    (f"{_REAL} int32 int64 uint32 uint64", "CumProd MatMul"),
    (f"{_REAL} int32 int64 int8 uint8 uint32 uint64", "Clip Max Min"),
    (f"{_REAL} int32 int64 int8 uint8 uint32 uint64 bool", "Pad"),
    (f"{_REAL} int64 int8 string", "Unique"),
    (f"{_REAL} {_SIGNED}", "Neg"),
    (f"{_REAL} {_SIGNED} uint8", "TopK"),
    (_NUMBERS, "Abs Add Div Greater GreaterOrEqual Less LessOrEqual Mod Mul Sub"),
    (f"{_NUMBERS} bfloat16", "BitCast Shrink Sign"),
    (_VALUES, "Equal Expand Size Tile"),
    (f"{_NUMBERS} bool bfloat16", "TensorScatter"),
    (
        _MOVED,
        "Compress Concat Flatten Gather GatherElements GatherND RandomNormalLike RandomUniformLike ReverseSequence "
        "ScatterElements ScatterND Slice Split Squeeze Unsqueeze SequenceConstruct Optional OptionalGetElement "
        "OptionalHasElement",
    ),
    (f"{_MOVED} {_FLOAT8}", "Identity Reshape Scan Shape"),
    (f"{_MOVED} {_FLOAT8} int4 uint4", "Transpose"),
    (f"{_MOVED} {_FLOAT8} int4 uint4 int2 uint2", "Cast CastLike"),
    ("float32 int32 int8 uint8", "Resize"),
    ("float32 int32 int64", "OneHot"),
    ("float32 int32 int64 uint8 bool", "NonZero"),
    ("bool", "And If Not Or Xor Where"),
    (_INTEGERS, "BitwiseAnd BitwiseNot BitwiseOr BitwiseXor"),
    ("int64", "ConstantOfShape Loop"),
    ("int32 int64", "BlackmanWindow HammingWindow HannWindow MelWeightMatrix"),
    ("int32 int64 string", "TfIdfVectorizer"),
    ("int8 uint8", "ConvInteger MatMulInteger QLinearConv QLinearMatMul"),
    (f"{_FLOAT8} int8 uint8 int16 uint16 int32 int4 uint4 int2 uint2", "DequantizeLinear"),
    ("uint8 uint32 uint64", "BitShift"),
    ("string", "RegexFullMatch StringConcat StringSplit"),
)

KERNELS: Mapping[str, frozenset[str]] = {
    op_type: words(dtypes) for dtypes, op_types in _ROWS for op_type in op_types.split()
}
"""Operator -> element types. float16 is in it only where a kernel is native: elsewhere ORT computes in float32."""

_BY_POINTER = ("bfloat", "float8", "int4", "uint4", "int2", "uint2")
"""Beginnings of the names of types that numpy lacks."""
_NO_TENSOR_FIRST = words(
    "ConcatFromSequence Constant SequenceAt SequenceEmpty SequenceErase SequenceInsert SequenceLength SequenceMap"
)
"""Operators with a kernel whose first input is no tensor."""


def refusal(node: Node, graph: Graph, *, has_custom_ops: bool = False) -> str | None:
    """Why ONNX Runtime does not take this node, or ``None``; with libraries it may know operators of any domain."""
    for domain, op_type in ((node.domain, node.op_type), *inner_operators(node)):
        if domain not in _DOMAINS and not has_custom_ops:
            return (
                f"onnxruntime knows no operators of the domain {domain!r}; if a library brings them, name it with "
                "--custom-ops"
            )
        if domain in _OWN and op_type not in KERNELS and op_type not in _NO_TENSOR_FIRST:
            return f"onnxruntime has no CPU kernel for {op_type}"
    if node.domain not in _OWN:
        return None
    return _late_pointer(node, graph) or _kernel(node, graph) or first_reason(_CASES, node, graph)


def _late_pointer(node: Node, graph: Graph) -> str | None:
    for name in filter(None, (*node.reads, *node.outputs)):
        value = graph.values[name]
        if value.shape is None and str(value.dtype).startswith(_BY_POINTER):
            return f"onnxruntime hands out {value.dtype} by pointer only, and the shape of {name} is not known before"
    return None


def _kernel(node: Node, graph: Graph) -> str | None:
    kernels = KERNELS.get(node.op_type)
    named = [name for name in (*node.inputs, *node.outputs) if name]
    if kernels is None or not named:
        return None
    dtype = graph.values[named[0]].dtype
    computed = "float32" if dtype == "float16" else dtype
    if dtype in kernels or computed in kernels:
        return None
    return f"onnxruntime has no CPU kernel for {node.op_type} on {dtype}"


def _dequantise(node: Node, graph: Graph) -> str | None:
    """Its integer product scales columns: several scales along the other axis do not fit them."""
    scale = graph.values[node.inputs[1]].shape or ()
    if node.inputs[0] not in graph.weights or len(scale) != 1 or scale == (1,):
        return None
    axis = node.attributes.get("axis", 1) % len(graph.weights[node.inputs[0]].shape)
    if any(product.op_type == "MatMul" and axis == summed for product, summed in products_of(node, graph)):
        return "onnxruntime multiplies by whole numbers with scales for the columns, and these are for the rows"
    return None


def _attention(node: Node, graph: Graph) -> str | None:
    if has_output(node, 3) and has_input(node, 3) and node.attributes.get("is_causal", 0):
        return "onnxruntime gives a wrong fourth output of a causal Attention with a mask"
    if has_input(node, 3) and has_input(node, 6):
        return "onnxruntime fails on an Attention with both a mask and padded keys"
    if {"left_window_size", "right_window_size"} & node.attributes.keys():
        return "onnxruntime's Attention knows no window"
    return None


def _where(node: Node, graph: Graph) -> str | None:
    dtype = input_dtype(node, graph, 1)
    return None if dtype in _WHERE else f"onnxruntime has no CPU kernel for Where on {dtype}"


def _pow(node: Node, graph: Graph) -> str | None:
    dtype = input_dtype(node, graph, 1)
    return (
        None if dtype in KERNELS["Pow"] | {"float16"} else f"onnxruntime has no CPU kernel for an exponent of {dtype}"
    )


_WHERE = words("float16 float32 float64 int32 int64 uint8 string")
_CASES: Mapping[str, Case] = {
    "Attention": _attention,
    **dict.fromkeys(
        ("Bernoulli", "RandomUniformLike", "RoiAlign"),
        refused("onnxruntime has no CPU kernel for {} since opset 22", lambda _, graph: graph.opsets.get("", 0) >= 22),
    ),
    "ConvInteger": refused(
        "onnxruntime's ConvInteger takes one zero point, not one per channel",
        lambda node, graph: has_input(node, 3) and input_rank(node, graph, 3) != 0,
    ),
    "DequantizeLinear": _dequantise,
    "Dropout": refused("Dropout in training draws random numbers", lambda node, _: has_input(node, 2)),
    **dict.fromkeys(
        ("GRU", "LSTM", "RNN"),
        refused(
            "onnxruntime takes no batch-first recurrence (layout=1)", lambda node, _: node.attributes.get("layout", 0)
        ),
    ),
    "MaxUnpool": refused(
        "onnxruntime's MaxUnpool misplaces values for a given output shape", lambda node, _: has_input(node, 2)
    ),
    "Mod": refused("onnxruntime takes Mod on floats only as fmod", is_mod_of_floats),
    "Pow": _pow,
    "Range": refused(
        "onnxruntime's Range takes nothing but scalars",
        lambda node, graph: any(input_rank(node, graph, position) != 0 for position in range(3)),
    ),
    **dict.fromkeys(
        ("ReduceMax", "ReduceMin"),
        refused(
            "onnxruntime's {} is not defined on no flags at all",
            lambda node, graph: (
                input_dtype(node, graph, 0) == "bool" and 0 in (graph.values[node.inputs[0]].shape or ())
            ),
        ),
    ),
    "Resize": refused(
        "onnxruntime aligns corners by rounded sizes, not by the scales given", resizes_by_part_of_a_pixel
    ),
    "SpaceToDepth": refused("onnxruntime's SpaceToDepth knows no mode", lambda node, _: "mode" in node.attributes),
    "Where": _where,
}
