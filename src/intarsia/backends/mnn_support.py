"""Which ONNX operators MNN computes rightly: a table, and the limits found wrong. Pure; imports no engine.

Evidence: onnx 1.23.2's node tests (2,527 variants, inputs fed or constant, each in a process that may die) against
MNN 3.6.1. An operator is listed if all its cases within the limits stated here convert, run and agree. Of the rest 483
variants do not convert, 278 give no session, 234 are wrong, 112 fail in the run, 111 have a wrong shape, 82 crash.
A second set of 944 graphs with larger shapes, also between convolutions (MNN's blocked layout), settled the limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

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

Limit = Callable[["Node", "Graph"], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """Within which limits an operator is right.

    Attributes:
        dtypes: Element types of its data inputs.
        gives: Element types of its outputs; ``None`` for the same as ``dtypes``.
        constant: Input positions that must be weights (fed values are ignored, misread or crash).
        attributes: The values that an attribute may have; ``None`` among them stands for leaving it out.
        limit: What else is asked.
    """

    dtypes: frozenset[str] = FLOAT
    gives: frozenset[str] | None = None
    constant: tuple[int, ...] = ()
    attributes: Mapping[str, tuple[object, ...]] | None = None
    limit: Limit | None = None


def refusal(node: Node, graph: Graph) -> str | None:
    """Why MNN is not given this node, or ``None``."""
    support = SUPPORT.get(node.op_type) if node.domain in ("", "ai.onnx") else None
    if support is None:
        return f"MNN's {node.op_type} is missing, or wrong in some case"
    return (
        _constant_refusal(node, graph, support)
        or _value_refusal(node, graph, support)
        or _attribute_refusal(node, support)
        or (support.limit(node, graph) if support.limit else None)
    )


def _constant_refusal(node: Node, graph: Graph, support: Support) -> str | None:
    for position in support.constant:
        name = node.inputs[position] if position < len(node.inputs) else ""
        if name and not graph.values[name].is_weight:
            return f"input {position} of {node.op_type} must be a constant for MNN"
    if len([name for name in node.outputs if name]) > 1 and node.op_type not in ("Split", "TopK"):
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
            if value.shape is not None and len(value.shape) > MAX_RANK:
                return f"{name} has more than {MAX_RANK} dimensions"
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
    name = node.inputs[position] if position < len(node.inputs) else ""
    return bool(name) and bool((graph.weights[name].array() < 0).any())


def _pool(node: Node, graph: Graph) -> str | None:
    if "strides" not in node.attributes:
        return f"MNN's {node.op_type} divides by zero where strides are left out"
    if any(step != 1 for step in node.attributes.get("dilations", ())):
        return f"MNN's {node.op_type} ignores dilations"
    data, kernel = _shape(node, graph, 0), node.attributes["kernel_shape"]
    if len(data) != 4:
        return f"MNN's {node.op_type} is two-dimensional"
    pads = node.attributes.get("pads", (0, 0, 0, 0))
    if node.attributes.get("count_include_pad") and pads[:2] != pads[2:]:
        return f"MNN's {node.op_type} counts uneven padding wrongly"
    room = [data[2 + i] + pads[i] + pads[2 + i] - kernel[i] for i in (0, 1)]
    rounded = [-(-free // step) + 1 for free, step in zip(room, node.attributes["strides"], strict=True)]
    if node.attributes.get("ceil_mode") and graph.values[node.outputs[0]].shape != (*data[:2], *rounded):
        return f"MNN's {node.op_type} keeps a last window that lies in the padding"
    return None


def _prelu(node: Node, graph: Graph) -> str | None:
    data, slope = _shape(node, graph, 0), _shape(node, graph, 1)
    channels = data[1] if len(data) > 1 else 1
    per_channel = (channels, *(1 for _ in data[2:]))
    if prod(slope) == 1 or slope in (per_channel, (1, *per_channel)):
        return None
    return "MNN's PRelu takes one slope, or one per channel"


def _several(node: Node, graph: Graph) -> str | None:
    return None if len(node.inputs) > 1 else f"MNN's {node.op_type} crashes on a single input"


def _matrices(node: Node, graph: Graph) -> str | None:
    vector = any(len(_shape(node, graph, position)) < 2 for position in (0, 1))
    return "MNN's MatMul takes no vector" if vector else None


def _axes(node: Node, graph: Graph) -> str | None:
    empty = len(node.inputs) > 1 and bool(node.inputs[1]) and prod(_shape(node, graph, 1)) == 0
    return f"MNN's {node.op_type} is wrong with an empty list of axes" if empty else None


def _even(node: Node, graph: Graph) -> str | None:
    parts = node.attributes.get("num_outputs")
    uneven = parts is not None and _shape(node, graph, 0)[node.attributes.get("axis", 0)] % parts
    return "MNN's Split into a number of parts must be even" if uneven else None


def _forward(node: Node, graph: Graph) -> str | None:
    return "MNN's Slice crashes on negative steps" if _negative(node, graph, 4) else None


def _ordered(node: Node, graph: Graph) -> str | None:
    low, high = (graph.weights.get(name) for name in (*node.inputs[1:], "", "")[:2])
    crossed = low is not None and high is not None and bool((low.array() > high.array()).any())
    return "MNN's Clip gives the lower bound where it exceeds the upper" if crossed else None


def _outward(node: Node, graph: Graph) -> str | None:
    if len(node.inputs) > 3 and node.inputs[3]:
        return "MNN's Pad takes no axes"
    return "MNN's Pad does not crop" if _negative(node, graph, 1) else None


def _narrowing(node: Node, graph: Graph) -> str | None:
    to_int64 = graph.values[node.inputs[0]].dtype == "float32" and node.attributes["to"] == ONNX_INT64
    return "MNN's int64 has 32 bits" if to_int64 else None


def _planar(node: Node, graph: Graph) -> str | None:
    return None if len(_shape(node, graph, 0)) == 4 else f"MNN's {node.op_type} is two-dimensional"


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


def _unstretched(node: Node, graph: Graph) -> str | None:
    result = graph.values[node.outputs[0]].shape
    condition, *choices = (_shape(node, graph, position) for position in (0, 1, 2))
    if condition == result and all(shape == result or prod(shape) == 1 for shape in choices):
        return None
    return f"MNN's {node.op_type} misreads an input that is broadcast"


def _stated(*names: str) -> Limit:
    def limit(node: Node, graph: Graph) -> str | None:
        missing = [name for name in names if name not in node.attributes]
        return f"MNN's {node.op_type} does not know the default of {', '.join(missing)}" if missing else None

    return limit


_SAME_TYPE: Iterable[str] = (
    *("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Celu", "Cos", "Cosh", "Div", "Elu", "Erf"),
    *("Exp", "Floor", "GlobalAveragePool", "GlobalMaxPool", "HardSigmoid", "HardSwish", "LRN", "LeakyRelu", "Log"),
    *("Neg", "Pow", "Reciprocal", "Relu", "Selu", "Sigmoid", "Sign", "Sin", "Sinh", "Softmax", "Softplus", "Softsign"),
    *("Sqrt", "Tan", "Tanh", "ThresholdedRelu"),
)
_UNPADDED = {"auto_pad": (None, "NOTSET")}

SUPPORT: Mapping[str, Support] = {
    **dict.fromkeys(_SAME_TYPE, Support()),
    **dict.fromkeys(("Add", "Sub", "Mul"), Support(dtypes=NUMBER)),
    **dict.fromkeys(("Max", "Min", "Sum"), Support(limit=_several)),
    **dict.fromkeys(("Equal", "Less"), Support(dtypes=INTEGER, gives=BOOL)),  # floats are compared wrongly near 0
    **dict.fromkeys(("Greater", "GreaterOrEqual", "LessOrEqual"), Support(dtypes=NUMBER | INTEGER, gives=BOOL)),
    **dict.fromkeys(("And", "Or", "Xor", "Not"), Support(dtypes=BOOL)),
    "Where": Support(dtypes=ANY, limit=_unstretched),
    "Cast": Support(dtypes=ANY, attributes={"to": (ONNX_FLOAT, ONNX_INT32, ONNX_INT64)}, limit=_narrowing),
    "Identity": Support(dtypes=ANY),
    "Clip": Support(constant=(1, 2), limit=_ordered),
    "PRelu": Support(constant=(1,), limit=_prelu),
    "LogSoftmax": Support(limit=_stated("axis")),
    **dict.fromkeys(
        ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"), Support(constant=(1,), limit=_axes)
    ),
    **dict.fromkeys(("ArgMax", "ArgMin"), Support(gives=INTEGER, attributes={"select_last_index": (None, 0)})),
    "TopK": Support(gives=NUMBER | INTEGER, constant=(1,)),
    "CumSum": Support(constant=(1,)),
    "Trilu": Support(constant=(1,)),
    **dict.fromkeys(("Concat", "Flatten", "Gather", "Transpose"), Support(dtypes=ANY)),
    **dict.fromkeys(("Expand", "Reshape", "Squeeze", "Tile", "Unsqueeze"), Support(dtypes=ANY, constant=(1,))),
    "Slice": Support(dtypes=ANY, constant=(1, 2, 3, 4), limit=_forward),
    "Split": Support(dtypes=ANY, constant=(1,), limit=_even),
    "Pad": Support(constant=(1, 2, 3), attributes={"mode": (None, "constant", "reflect", "edge")}, limit=_outward),
    "DepthToSpace": Support(limit=_planar),
    "SpaceToDepth": Support(attributes={"mode": (None, "DCR")}, limit=_planar),
    "BatchNormalization": Support(
        constant=(1, 2, 3, 4), attributes={"training_mode": (None, 0)}, limit=_stated("epsilon")
    ),
    **dict.fromkeys(
        ("InstanceNormalization", "LayerNormalization"), Support(constant=(1, 2), limit=_stated("epsilon"))
    ),
    "Conv": Support(constant=(1, 2), attributes=_UNPADDED, limit=_planar),
    "ConvTranspose": Support(constant=(1, 2), attributes={**_UNPADDED, "output_shape": (None,)}, limit=_planar),
    "Gemm": Support(attributes={"transA": (None, 0)}),
    "MatMul": Support(limit=_matrices),
    "MaxPool": Support(attributes=_UNPADDED, limit=_pool),
    "AveragePool": Support(attributes=_UNPADDED, limit=_pool),
    "Resize": Support(
        constant=(1, 2, 3),
        attributes={"antialias": (None, 0), "axes": (None,), "keep_aspect_ratio_policy": (None, "stretch")},
        limit=_resize,
    ),
}
"""What MNN computes rightly. Left out though it converts: Gelu (an approximation off by 5e-4), Round and Mod (ties,
signs), Scatter*, GatherElements (negative indices), GridSample, OneHot, ReduceL1/L2/LogSum/SumSquare (axes ignored)."""
