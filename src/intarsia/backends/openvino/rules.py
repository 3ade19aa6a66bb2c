"""What OpenVINO's ONNX reader and CPU plug-in take, as data.

An operator is in the table if every ONNX node test of it (onnx 1.23.2, openvino 2026.4.1) came out right, or all but
those that a rule below describes. What is not in the table is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING

from intarsia.backends.contract.node_facts import (
    Case,
    first_reason,
    has_input,
    has_window_in_padding,
    inner_operators,
    input_dtype,
    input_rank,
    is_constant,
    is_mod_of_floats,
    products_of,
    refused,
    resizes_by_part_of_a_pixel,
    words,
)
from intarsia.backends.openvino import open_size_rules, shape_rules

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node

OPERATORS = words(
    # Element by element.
    "Abs Acos Acosh Add And Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike "
    "Ceil Celu Clip Cos Cosh Div Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish Identity "
    "IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mod Mul Neg Not Or PRelu Pow Reciprocal Relu Round "
    "Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Sum Swish Tan Tanh ThresholdedRelu Where Xor "
    "Dropout "
    # Layers.
    "Attention AveragePool BatchNormalization Conv ConvInteger ConvTranspose Einsum GRU Gemm GlobalAveragePool "
    "GlobalMaxPool GroupNormalization InstanceNormalization LRN LSTM LayerNormalization LogSoftmax LpNormalization "
    "LpPool MatMul MatMulInteger MaxPool MeanVarianceNormalization NegativeLogLikelihoodLoss RMSNormalization RNN "
    "RotaryEmbedding Softmax SoftmaxCrossEntropyLoss Hardmax "
    # Reductions.
    "ArgMax ArgMin CumSum ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd "
    "ReduceSum ReduceSumSquare TopK "
    # Moving data.
    "AffineGrid CenterCropPad Col2Im Compress Concat Constant ConstantOfShape DepthToSpace Expand EyeLike Flatten "
    "Gather GatherElements GatherND GridSample NonMaxSuppression NonZero OneHot Pad Range Reshape Resize "
    "ReverseSequence RoiAlign ScatterElements ScatterND Shape Size Slice SpaceToDepth Split Squeeze Tile Transpose "
    "Trilu Unique Unsqueeze BlackmanWindow HammingWindow HannWindow "
    # Quantised, and control flow.
    "DequantizeLinear QLinearConv QLinearMatMul QuantizeLinear If Loop Scan"
)

_THROUGH_FLOAT = words(
    "Div Gemm MatMul Mod Pow ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd "
    "ReduceSum ReduceSumSquare Relu"
)
_MOVING = words("Identity Reshape Squeeze Transpose Unsqueeze")
_RIGHT_IF_EMPTY = words(
    "Abs Cast CastLike Concat Exp Log Mul ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean "
    "ReduceMin ReduceProd ReduceSum ReduceSumSquare Reshape Shape Split Trilu"
)
_NARROW = frozenset({"int8", "uint8", "int16", "uint16"})
_EXACT_IF_NARROW = words("Div Mod")
"""Computed in float32 too, which holds each quotient and each rest of 16-bit integers."""


def refusal(node: Node, graph: Graph) -> str | None:
    """Why OpenVINO does not take this node, or ``None``."""
    for domain, op_type in ((node.domain, node.op_type), *inner_operators(node)):
        if domain not in {"", "ai.onnx"}:
            return f"openvino is used for ONNX's own operators only, not for the domain {domain!r}"
        if op_type not in OPERATORS:
            return f"openvino does not convert {op_type}, or computes it wrongly"
    return (
        _empty(node, graph)
        or (open_size_rules if graph.sizes else shape_rules).refusal(node, graph)
        or _integers(node, graph)
        or first_reason(_CASES, node, graph)
    )


def _empty(node: Node, graph: Graph) -> str | None:
    if node.op_type in _RIGHT_IF_EMPTY:
        return _empty_constant(node, graph)
    for name in filter(None, (*node.reads, *node.outputs)):
        if name not in graph.weights and 0 in (graph.values[name].shape or ()):
            return f"openvino computes no empty tensors ({name})"
    return None


def _empty_constant(node: Node, graph: Graph) -> str | None:
    for name in node.inputs if node.op_type == "Concat" else node.inputs[:1]:
        if name in graph.weights and 0 in graph.weights[name].shape:
            return f"openvino reads the empty constant {name} as a scalar"
    return None


def _integers(node: Node, graph: Graph) -> str | None:
    dtype = input_dtype(node, graph, 0)
    if dtype is None or not dtype.startswith(("int", "uint")):
        return None
    is_exact = dtype in _NARROW or all(open_size_rules.is_size(name, graph) for name in node.inputs[:1])
    if node.op_type in _THROUGH_FLOAT and not (node.op_type in _EXACT_IF_NARROW and is_exact):
        return f"openvino computes {node.op_type} on integers in float32"
    return None


def _conv(node: Node, graph: Graph) -> str | None:
    kernel = (graph.values[node.inputs[1]].shape or ())[2:]
    dilations = node.attributes.get("dilations") or ()
    if any(size == 1 and dilation > 1 for size, dilation in zip(kernel, dilations, strict=False)):
        return "openvino crashes in some convolutions that dilate a kernel of one element"
    return None


def _pool(node: Node, graph: Graph) -> str | None:
    if has_window_in_padding(node, graph):
        return f"openvino's {node.op_type} with ceil_mode keeps a window that starts in the padding"
    if node.attributes.get("ceil_mode", 0) and graph.values[node.inputs[0]].shape is None:
        return f"openvino's {node.op_type} with ceil_mode may keep a window in the padding, as sizes are open"
    return None


def _recurrent(node: Node, graph: Graph) -> str | None:
    if node.attributes.get("layout", 0):
        return "openvino computes batch-first recurrence (layout=1) wrongly"
    if node.op_type == "LSTM" and has_input(node, 7):
        return "openvino ignores the peepholes of an LSTM"
    return None


def _resize(node: Node, graph: Graph) -> str | None:
    attributes = node.attributes
    if attributes.get("coordinate_transformation_mode") in {"tf_crop_and_resize", "half_pixel_symmetric"}:
        return f"openvino's Resize knows no {attributes['coordinate_transformation_mode']}"
    for name, usual in (("antialias", 0), ("exclude_outside", 0), ("keep_aspect_ratio_policy", "stretch")):
        if attributes.get(name, usual) != usual:
            return f"openvino's Resize ignores {name}"
    if resizes_by_part_of_a_pixel(node, graph):
        return "openvino aligns corners by rounded sizes, not by the scales given"
    return None


def _attention(node: Node, graph: Graph) -> str | None:
    attributes = node.attributes
    queries, keys = (graph.values[name].shape for name in node.inputs[:2])
    if attributes.get("is_causal", 0) and has_input(node, 4) and (not queries or not keys or queries[-2] != keys[-2]):
        return "openvino shifts the mask of a causal Attention whose queries and keys behind a past differ in number"
    if any(attributes.get(name, -1) >= 0 for name in ("left_window_size", "right_window_size")):
        return "openvino ignores the window of an Attention"
    return None


def _dropout(node: Node, graph: Graph) -> str | None:
    if has_input(node, 2):
        return "Dropout in training draws random numbers"
    if not is_constant(node, graph, 1):
        return "openvino drops the ratio of a Dropout, and with it an input of the model"
    return None


def _quantise(node: Node, graph: Graph) -> str | None:
    if node.attributes.get("block_size", 0) and not has_input(node, 2):
        return "openvino fails on a QuantizeLinear in blocks without a zero point"
    if graph.values[node.inputs[1]].producer is not None:
        return "openvino multiplies by 1 / scale, which shows where the scale is made from the data"
    return None


def _dequantise(node: Node, graph: Graph) -> str | None:
    """It keeps the weights of a matrix product as whole numbers, and takes several scales for those of its columns."""
    scale = graph.values[node.inputs[1]].shape or ()
    if node.inputs[0] not in graph.weights or prod(scale) == 1:
        return None
    rank = len(graph.weights[node.inputs[0]].shape)
    axis, is_blocked = node.attributes.get("axis", 1) % max(rank, 1), len(scale) > 1
    if is_blocked and graph.weights[node.inputs[0]].shape[axis] % node.attributes.get("block_size", 1):
        return "openvino dequantises whole blocks only, and the last one here is shorter"
    readers = {graph.nodes[index].op_type for index in graph.values[node.outputs[0]].consumers}
    if rank > 1 and (moved := sorted(readers & _MOVING)):
        return f"openvino dequantises weights wrongly that reach a product by way of {moved[0]}"
    for product, summed in products_of(node, graph):
        if (axis == summed) != is_blocked:
            return f"openvino dequantises the weights of {product.op_type} wrongly along axis {axis}"
    return None


_CASES: Mapping[str, Case] = {
    "Attention": _attention,
    **dict.fromkeys(
        ("Cast", "CastLike"),
        refused(
            "openvino is made to saturate float8",
            lambda node, graph: (
                str(graph.values[node.outputs[0]].dtype).startswith("float8") and not node.attributes.get("saturate", 1)
            ),
        ),
    ),
    "Celu": refused(
        "openvino takes Celu only on float32", lambda node, graph: input_dtype(node, graph, 0) != "float32"
    ),
    "Col2Im": refused(
        "openvino's Col2Im makes images only", lambda node, graph: graph.values[node.inputs[1]].shape != (2,)
    ),
    "Conv": _conv,
    "DequantizeLinear": _dequantise,
    "Dropout": _dropout,
    **dict.fromkeys(("GRU", "LSTM", "RNN"), _recurrent),
    "GridSample": refused(
        "openvino's GridSample takes images only", lambda node, graph: input_rank(node, graph, 0) != 4
    ),
    **dict.fromkeys(("AveragePool", "LpPool", "MaxPool"), _pool),
    "Mod": refused("openvino takes Mod on floats only as fmod", is_mod_of_floats),
    "Pad": refused("openvino's Pad does not wrap", lambda node, _: node.attributes.get("mode") == "wrap"),
    "QuantizeLinear": _quantise,
    "Resize": _resize,
    "RoiAlign": refused(
        "openvino's RoiAlign takes another maximum than ONNX", lambda node, _: node.attributes.get("mode") == "max"
    ),
    "SpaceToDepth": refused(
        "openvino's SpaceToDepth knows only DCR", lambda node, _: node.attributes.get("mode", "DCR") != "DCR"
    ),
}
