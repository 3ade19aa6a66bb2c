"""Which ONNX operators MNN computes rightly: a table, and the limits found wrong. Pure; imports no engine.

Evidence: onnx 1.23.2's node tests (2,527 variants, inputs fed or constant, each in a process that may die) against
MNN 3.6.1. An operator is listed if all its cases within the limits stated here convert, run and agree. Of the rest 483
variants do not convert, 278 give no session, 234 are wrong, 112 fail in the run, 111 have a wrong shape, 82 crash.
A second set of 944 graphs with larger shapes, also between convolutions (MNN's blocked layout), settled the limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from intarsia.backends.contract.node_facts import Case, has_input, refused, words
from intarsia.wording import counted

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node

FLOAT = frozenset({"float32"})
NUMBER = frozenset({"float32", "int32"})
INTEGER = frozenset({"int32", "int64"})
BOOL = frozenset({"bool"})
ANY = frozenset({"float32", "int32", "int64", "bool"})

ONNX_FLOAT, ONNX_INT32, ONNX_INT64 = 1, 6, 7
"""Numbers of element types in ``Cast``."""

MAX_RANK = 6
_LOSS_RANK = 8
_SEVERAL_OUTPUTS = ("LayerNormalization", "Split", "TopK")

LARGEST_WEIGHT = (1 << 31) - 1
"""Bytes. Its process dies of SIGSEGV on one of 3.2 GB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """Within which limits an operator is right.

    Attributes:
        dtypes: Element types of its data inputs.
        gives: Element types of its outputs; ``None`` for the same as ``dtypes``.
        constant: Input positions that must be weights (fed values are ignored, misread or crash).
        attributes: The values that an attribute may have; ``None`` among them stands for leaving it out.
        max_rank: Dimensions that its values may have.
        limit: What else is asked.
    """

    dtypes: frozenset[str] = FLOAT
    gives: frozenset[str] | None = None
    constant: tuple[int, ...] = ()
    attributes: Mapping[str, tuple[object, ...]] | None = None
    max_rank: int = MAX_RANK
    limit: Case | None = None


def refusal(node: Node, graph: Graph) -> str | None:
    """Why MNN is not given this node, or ``None``."""
    support = SUPPORT.get(node.op_type) if node.domain in ("", "ai.onnx") else None
    if support is None:
        return f"MNN's {node.op_type} is missing, or wrong in some case"
    large = (name for name in node.reads if name in graph.weights and graph.weights[name].nbytes > LARGEST_WEIGHT)
    return (
        next((f"MNN crashes on a weight of more than 2 GB ({name})" for name in large), None)
        or _constant_refusal(node, graph, support)
        or _value_refusal(node, graph, support)
        or _attribute_refusal(node, support)
        or (support.limit(node, graph) if support.limit else None)
    )


def _constant_refusal(node: Node, graph: Graph, support: Support) -> str | None:
    for position in support.constant:
        if has_input(node, position) and not graph.values[node.inputs[position]].is_weight:
            return f"input {position} of {node.op_type} must be a constant for MNN"
    if len([name for name in node.outputs if name]) > 1 and node.op_type not in _SEVERAL_OUTPUTS:
        return f"MNN's {node.op_type} is wrong in its second output"
    if all(graph.values[name].is_weight for name in node.reads):
        return "MNN fails on operators without an input that is computed"
    return None


def _value_refusal(node: Node, graph: Graph, support: Support) -> str | None:
    data = [name for position, name in enumerate(node.inputs) if name and position not in support.constant]
    for names, dtypes in ((data, support.dtypes), (node.outputs, support.gives or support.dtypes)):
        for name in filter(None, names):
            value = graph.values[name]
            if value.dtype not in dtypes:
                return f"MNN's {node.op_type} takes no {value.dtype} ({name})"
            if value.shape is not None and len(value.shape) > support.max_rank:
                return f"{name} has more than {counted(support.max_rank, 'dimension')}"
            if value.shape is not None and prod(value.shape) == 0:
                return f"MNN takes no empty tensor ({name})"
    return None


def _attribute_refusal(node: Node, support: Support) -> str | None:
    for name, allowed in (support.attributes or {}).items():
        value = node.attributes.get(name)
        if value not in allowed:
            return f"MNN's {node.op_type} is wrong with {name}={value}"
    return None


def _shape(node: Node, graph: Graph, position: int) -> tuple[int, ...]:
    return graph.values[node.inputs[position]].shape or ()


def _negative(node: Node, graph: Graph, position: int) -> bool:
    return has_input(node, position) and bool((graph.weights[node.inputs[position]].array() < 0).any())


def _pool(node: Node, graph: Graph) -> str | None:
    data = _shape(node, graph, 0)
    if any(step != 1 for step in node.attributes.get("dilations", ())):
        return f"MNN's {node.op_type} ignores dilations"
    if len(data) == 3 and not node.attributes.get("ceil_mode"):
        return None
    if len(data) != 4:
        return f"MNN's {node.op_type} is two-dimensional"
    if "strides" not in node.attributes:
        return f"MNN's {node.op_type} divides by zero where strides are left out"
    return _padded_pool(node, graph)


def _padded_pool(node: Node, graph: Graph) -> str | None:
    pads = node.attributes.get("pads", (0, 0, 0, 0))
    automatic = node.attributes.get("auto_pad", "NOTSET") != "NOTSET"
    if node.attributes.get("count_include_pad") and (automatic or pads[:2] != pads[2:]):
        return f"MNN's {node.op_type} counts uneven padding wrongly"
    if not node.attributes.get("ceil_mode"):
        return None
    data, kernel = _shape(node, graph, 0), node.attributes["kernel_shape"]
    room = [data[2 + i] + pads[i] + pads[2 + i] - kernel[i] for i in (0, 1)]
    rounded = [-(-free // step) + 1 for free, step in zip(room, node.attributes["strides"], strict=True)]
    if automatic or graph.values[node.outputs[0]].shape != (*data[:2], *rounded):
        return f"MNN's {node.op_type} keeps a last window that lies in the padding"
    return None


def _power_pool(node: Node, graph: Graph) -> str | None:
    pads = node.attributes.get("pads", ())
    if any(step != 1 for step in node.attributes.get("dilations", ())):
        return f"MNN's {node.op_type} ignores dilations"
    if len(_shape(node, graph, 0)) not in (3, 4) or pads[: len(pads) // 2] != pads[len(pads) // 2 :]:
        return f"MNN's {node.op_type} has one or two dimensions, and the same pads on both sides"
    return None


def _prelu(node: Node, graph: Graph) -> str | None:
    if node.inputs[1] not in graph.weights:
        return None
    data, slope = _shape(node, graph, 0), _shape(node, graph, 1)
    channels = data[1] if len(data) > 1 else 1
    per_channel = (channels, *(1 for _ in data[2:]))
    if prod(slope) == 1 or slope in (per_channel, (1, *per_channel)):
        return None
    return "MNN's PRelu takes one constant slope, or one per channel"


def _axes(node: Node, graph: Graph) -> str | None:
    empty = has_input(node, 1) and prod(_shape(node, graph, 1)) == 0
    return f"MNN's {node.op_type} is wrong with an empty list of axes" if empty else None


def _even(node: Node, graph: Graph) -> str | None:
    parts = node.attributes.get("num_outputs")
    uneven = parts is not None and _shape(node, graph, 0)[node.attributes.get("axis", 0)] % parts
    return "MNN's Split into a number of parts must be even" if uneven else None


def _outward(node: Node, graph: Graph) -> str | None:
    if has_input(node, 3):
        return "MNN's Pad takes no axes"
    return "MNN's Pad does not crop" if _negative(node, graph, 1) else None


def _narrowing(node: Node, graph: Graph) -> str | None:
    given, wanted = graph.values[node.inputs[0]].dtype, graph.values[node.outputs[0]].dtype
    if wanted == "bool":
        return "MNN has no Cast to bool"
    return "MNN's int64 has 32 bits" if (given, wanted) == ("float32", "int64") else None


_planar = refused("MNN's {} is two-dimensional", lambda node, graph: len(_shape(node, graph, 0)) != 4)


def _convolution(node: Node, graph: Graph) -> str | None:
    if len(_shape(node, graph, 0)) not in (3, 4):
        return "MNN's Conv has one or two dimensions"
    spread = any(step != 1 for step in node.attributes.get("dilations", ()))
    if spread and node.inputs[1] not in graph.weights and node.attributes.get("group", 1) != 1:
        return "MNN's Conv with groups and dilations takes no weight that is computed"
    return _bias(node, graph)


def _bias(node: Node, graph: Graph) -> str | None:
    names = [name for name in node.inputs[1:] if name]
    if names[0] in graph.weights and not all(name in graph.weights for name in names):
        return f"MNN's {node.op_type} adds no computed bias to a constant weight's"
    return None


def _transposed(node: Node, graph: Graph) -> str | None:
    if node.inputs[1] not in graph.weights and node.attributes.get("group", 1) != 1:
        return "MNN's ConvTranspose mixes the groups of a weight that is computed"
    return _planar(node, graph) or _bias(node, graph)


def _resize(node: Node, graph: Graph) -> str | None:
    asked = {"mode": "nearest", "coordinate_transformation_mode": "half_pixel", "nearest_mode": "round_prefer_floor"}
    asked.update({name: node.attributes[name] for name in asked if name in node.attributes})
    mode, transform, rounding = asked.values()
    data, result = _shape(node, graph, 0), graph.values[node.outputs[0]].shape or ()
    whole = all(after % before == 0 for before, after in zip(data, result, strict=False))
    right = (
        (mode == "linear" and transform in ("half_pixel", "pytorch_half_pixel") and min(result[2:], default=0) > 1)
        or (mode, transform, rounding) == ("nearest", "half_pixel", "round_prefer_floor")
        or ((mode, transform, rounding) == ("nearest", "asymmetric", "floor") and whole)
    )
    if not right:
        return f"MNN's Resize is wrong for {mode}, {transform}, {rounding} to {result}"
    return _planar(node, graph)


def _losses(node: Node, graph: Graph) -> str | None:
    is_mean = node.attributes.get("reduction", "mean") == "mean"
    if is_mean and not has_input(node, 2) and "ignore_index" in node.attributes:
        return f"MNN's {node.op_type} counts what it should ignore"
    return None


def _stated(*names: str) -> Case:
    def limit(node: Node, graph: Graph) -> str | None:
        missing = [name for name in names if name not in node.attributes]
        return f"MNN's {node.op_type} does not know the default of {', '.join(missing)}" if missing else None

    return limit


_SAME_TYPE = words(
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Celu Clip Cos Cosh Div Elu Erf Exp Floor Gelu Gemm GlobalAveragePool "
    "GlobalMaxPool HardSigmoid HardSwish LRN LeakyRelu Log LpNormalization MatMul Mean Neg Pow Reciprocal Relu Selu "
    "Sigmoid Sign Sin Sinh Softmax Softplus Softsign Sqrt Tan Tanh ThresholdedRelu"
)
_UNPADDED = {"auto_pad": (None, "NOTSET")}
_PADDED = {"auto_pad": (None, "NOTSET", "VALID", "SAME_UPPER")}

SUPPORT: Mapping[str, Support] = {
    **dict.fromkeys(_SAME_TYPE, Support()),
    **dict.fromkeys(("Add", "Sub"), Support(dtypes=NUMBER | INTEGER)),
    "Mul": Support(dtypes=NUMBER),
    **dict.fromkeys(
        ("Max", "Min", "Sum"),
        Support(limit=refused("MNN's {} crashes on a single input", lambda node, _: len(node.inputs) == 1)),
    ),
    **dict.fromkeys(
        ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"), Support(dtypes=NUMBER | INTEGER, gives=BOOL)
    ),
    **dict.fromkeys(("And", "Or", "Xor", "Not"), Support(dtypes=BOOL)),
    "Cast": Support(dtypes=ANY, attributes={"to": (ONNX_FLOAT, ONNX_INT32, ONNX_INT64)}, limit=_narrowing),
    "CastLike": Support(dtypes=ANY, limit=_narrowing),
    **dict.fromkeys(("Shape", "Size"), Support(dtypes=ANY, gives=INTEGER)),
    "Mod": Support(dtypes=INTEGER, attributes={"fmod": (None, 0)}),
    "PRelu": Support(limit=_prelu),
    "LogSoftmax": Support(limit=_stated("axis")),
    **dict.fromkeys(
        ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"), Support(constant=(1,), limit=_axes)
    ),
    **dict.fromkeys(("ArgMax", "ArgMin"), Support(gives=INTEGER)),
    "TopK": Support(gives=NUMBER | INTEGER, constant=(1,)),
    "CumSum": Support(constant=(1,)),
    "GatherND": Support(dtypes=ANY, attributes={"batch_dims": (None, 0)}),
    "ScatterElements": Support(dtypes=NUMBER | INTEGER, attributes={"reduction": (None, "none")}),
    **dict.fromkeys(
        ("Concat", "EyeLike", "Flatten", "Gather", "GatherElements", "Identity", "Transpose", "Trilu", "Where"),
        Support(dtypes=ANY),
    ),
    **dict.fromkeys(("Expand", "Reshape", "Squeeze", "Tile", "Unsqueeze"), Support(dtypes=ANY, constant=(1,))),
    "Slice": Support(
        dtypes=ANY,
        constant=(1, 2, 3, 4),
        limit=refused("MNN's Slice crashes on negative steps", lambda node, graph: _negative(node, graph, 4)),
    ),
    "Split": Support(dtypes=ANY, constant=(1,), limit=_even),
    "Pad": Support(constant=(1, 2, 3), attributes={"mode": (None, "constant", "reflect", "edge")}, limit=_outward),
    "DepthToSpace": Support(limit=_planar),
    "SpaceToDepth": Support(attributes={"mode": (None, "DCR")}, limit=_planar),
    "BatchNormalization": Support(
        constant=(1, 2, 3, 4), attributes={"training_mode": (None, 0)}, limit=_stated("epsilon")
    ),
    **dict.fromkeys(("InstanceNormalization", "LayerNormalization"), Support(limit=_stated("epsilon"))),
    **dict.fromkeys(
        ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"),
        Support(dtypes=NUMBER | INTEGER, gives=FLOAT, max_rank=_LOSS_RANK, limit=_losses),
    ),
    "Conv": Support(limit=_convolution),
    "ConvTranspose": Support(limit=_transposed),
    "GridSample": Support(attributes={"mode": (None, "linear", "bilinear"), "padding_mode": (None, "zeros", "border")}),
    **dict.fromkeys(("AveragePool", "MaxPool"), Support(attributes=_PADDED, limit=_pool)),
    "LpPool": Support(attributes={**_UNPADDED, "ceil_mode": (None, 0)}, limit=_power_pool),
    "Resize": Support(
        constant=(1, 2, 3),
        attributes={"antialias": (None, 0), "axes": (None,), "keep_aspect_ratio_policy": (None, "stretch")},
        limit=_resize,
    ),
}
"""What MNN computes rightly. Left out though it converts: Round, and Mod of floats or with fmod (ties, signs);
ScatterND; OneHot; ReduceL1/L2/LogSum/SumSquare (axes ignored); integer Max, Min and Div (computed with floats);
BitShift (by more bits than there are); RoiAlign (some boxes crash)."""
