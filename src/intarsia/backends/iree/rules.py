"""What IREE's ONNX importer and its compiler take, as data.

An operator is in the table if the ONNX node tests of it (onnx 1.23.2; where shapes follow from inputs, some of them
with these as constants) came out right with IREE 3.13.0, or all but those that a rule below describes.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    refused,
    resizes_by_part_of_a_pixel,
    words,
)

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node

TYPES = words("float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool")
OPERATORS = words(
    # Element by element.
    "Abs Acos Acosh Add And Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike "
    "Ceil Celu Clip Cos Cosh Div Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish Identity "
    "IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mod Mul Neg Not Or PRelu Pow Reciprocal Relu Round "
    "Selu Shrink Sigmoid Sign Sin Sinh Softplus Sqrt Sub Sum Tan Tanh ThresholdedRelu Where Xor Dropout "
    # Layers.
    "AveragePool BatchNormalization Conv ConvInteger ConvTranspose Einsum GRU Gemm GlobalAveragePool "
    "GlobalMaxPool GroupNormalization InstanceNormalization LRN LSTM LayerNormalization LogSoftmax "
    "LpPool MatMul MatMulInteger MaxPool MeanVarianceNormalization NegativeLogLikelihoodLoss RNN Softmax "
    "SoftmaxCrossEntropyLoss Hardmax TfIdfVectorizer "
    # Reductions.
    "ArgMax ArgMin CumSum ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd "
    "ReduceSum ReduceSumSquare TopK "
    # Moving data.
    "Concat Constant ConstantOfShape DepthToSpace Expand EyeLike Flatten Gather "
    "GatherElements GatherND OneHot Pad Reshape Resize ScatterElements ScatterND Shape Size Slice SpaceToDepth Split "
    "Squeeze Tile Transpose Trilu Unsqueeze "
    # Quantised, and control flow.
    "DequantizeLinear DynamicQuantizeLinear QLinearConv QLinearMatMul QuantizeLinear If Scan"
)

_BY_NUMBERS = frozenset({"NOTSET", "VALID"})
"""The ways of padding that leave nothing to be worked out."""

_USUAL_RESIZE: Mapping[str, object] = {
    "antialias": 0,
    "axes": None,
    "cubic_coeff_a": -0.75,
    "exclude_outside": 0,
    "keep_aspect_ratio_policy": "stretch",
}


def refusal(node: Node, graph: Graph) -> str | None:
    """Why IREE does not take this node, or ``None``."""
    for domain, op_type in ((node.domain, node.op_type), *inner_operators(node)):
        if domain not in {"", "ai.onnx"}:
            return f"iree is used for ONNX's own operators only, not for the domain {domain!r}"
        if op_type not in OPERATORS:
            return f"iree does not compile {op_type}, or computes it wrongly"
    narrow = [name for name in node.reads if name in graph.weights and graph.weights[name].dtype not in TYPES]
    return f"iree has no {graph.weights[narrow[0]].dtype}" if narrow else first_reason(_CASES, node, graph)


_window = refused("iree's {} with ceil_mode keeps a window that starts in the padding", has_window_in_padding)


def _pads_itself(node: Node, graph: Graph) -> bool:
    return node.attributes.get("auto_pad", "NOTSET") not in _BY_NUMBERS


def _average_pool(node: Node, graph: Graph) -> str | None:
    if node.attributes.get("ceil_mode", 0) and node.attributes.get("count_include_pad", 0):
        return "iree's AveragePool with ceil_mode counts padding that ONNX does not count"
    return _window(node, graph)


def _lp_pool(node: Node, graph: Graph) -> str | None:
    if _pads_itself(node, graph):
        return "iree's LpPool pads by numbers only"
    if any(dilation != 1 for dilation in node.attributes.get("dilations") or ()):
        return "iree's LpPool dilates no kernel"
    return _window(node, graph)


def _conv_transpose(node: Node, graph: Graph) -> str | None:
    if _pads_itself(node, graph):
        return "iree's ConvTranspose pads by numbers only"
    return "iree does not compile a ConvTranspose in groups" if node.attributes.get("group", 1) != 1 else None


def _matmul(node: Node, graph: Graph) -> str | None:
    ranks = sorted(input_rank(node, graph, position) or 0 for position in (0, 1))
    return "iree does not multiply a vector by a stack of matrices" if ranks[0] == 1 and ranks[1] > 2 else None


def _loss(node: Node, graph: Graph) -> str | None:
    if input_rank(node, graph, 0) != 2:
        return f"iree takes {node.op_type} only for one label in each row"
    mean = node.attributes.get("reduction", "mean") == "mean"
    if node.op_type == "SoftmaxCrossEntropyLoss" and mean and has_input(node, 2):
        return "iree's mean of SoftmaxCrossEntropyLoss with weights is infinite"
    return None


def _recurrent(node: Node, graph: Graph) -> str | None:
    attributes = node.attributes
    directions = {"forward", "bidirectional"} if node.op_type == "LSTM" else {"forward"}
    if attributes.get("direction", "forward") not in directions:
        return f"iree's {node.op_type} does not run {attributes['direction']}"
    for name in ("activations", "activation_alpha", "activation_beta", "clip", "input_forget"):
        if attributes.get(name):
            return f"iree's {node.op_type} ignores {name}"
    if has_input(node, 4):
        return f"iree's {node.op_type} ignores the lengths of sequences"
    return "iree ignores the peepholes of an LSTM" if has_input(node, 7) else None


def _resize(node: Node, graph: Graph) -> str | None:
    attributes = node.attributes
    for name, usual in _USUAL_RESIZE.items():
        if attributes.get(name, usual) != usual:
            return f"iree's Resize knows no {name}"
    transformation = attributes.get("coordinate_transformation_mode", "half_pixel")
    if transformation == "tf_crop_and_resize" or resizes_by_part_of_a_pixel(node, graph):
        return f"iree's Resize knows no {transformation} of these sizes"
    if attributes.get("mode", "nearest") == "nearest" and transformation == "align_corners":
        return "iree's Resize to the nearest pixel aligns no corners"
    return None


def _pad(node: Node, graph: Graph) -> str | None:
    mode = node.attributes.get("mode", "constant")
    return None if mode in {"constant", "reflect"} else f"iree's Pad is not used for the mode {mode}"


def _scatter(node: Node, graph: Graph) -> str | None:
    reduction = node.attributes.get("reduction", "none")
    return f"iree's ScatterElements knows no {reduction}" if reduction in {"min", "max"} else None


_CASES: Mapping[str, Case] = {
    "AveragePool": _average_pool,
    "ConvInteger": refused(
        "iree's ConvInteger does not pad",
        lambda node, graph: any(node.attributes.get("pads") or ()) or _pads_itself(node, graph),
    ),
    "ConvTranspose": _conv_transpose,
    "CumSum": refused("iree wants the axis of {} as a constant", lambda node, graph: not is_constant(node, graph, 1)),
    "DepthToSpace": refused(
        "iree's DepthToSpace in the order CRD is wrong for blocks of more than 2",
        lambda node, _: node.attributes.get("mode", "DCR") == "CRD" and node.attributes["blocksize"] > 2,
    ),
    "Dropout": refused("iree's Dropout does not train", lambda node, _: has_input(node, 2)),
    **dict.fromkeys(("GRU", "LSTM", "RNN"), _recurrent),
    "LpPool": _lp_pool,
    "MatMul": _matmul,
    "MaxPool": refused(
        "iree's MaxPool knows no column-major indices", lambda node, _: node.attributes.get("storage_order", 0)
    ),
    "Mod": refused(
        "iree's Mod of float64 calls a function that nothing defines (fmod)",
        lambda node, graph: input_dtype(node, graph, 0) == "float64" and not node.attributes.get("fmod", 0),
    ),
    **dict.fromkeys(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"), _loss),
    "Pad": _pad,
    "QLinearMatMul": refused(
        "iree computes QLinearMatMul wrongly on more than 2 dimensions",
        lambda node, graph: input_rank(node, graph, 0) != 2,
    ),
    "Resize": _resize,
    "Scan": refused("iree knows Scan only as of opset 9, without lengths", lambda node, _: not node.inputs[0]),
    "ScatterElements": _scatter,
}
