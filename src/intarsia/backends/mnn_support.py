"""Which ONNX operators MNN computes rightly: a table, and the limits found wrong. Pure; imports no engine.

Evidence: onnx 1.23.2's node tests (2,527 variants, inputs fed or constant, each in a process that may die) against
MNN 3.6.1. An operator is listed if all its cases within the limits stated here convert, run and agree. Of the rest 483
variants do not convert, 278 give no session, 234 are wrong, 112 fail in the run, 111 have a wrong shape, 82 crash.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node

FLOAT = frozenset({"float32"})
NUMBER = frozenset({"float32", "int32"})
BOOL = frozenset({"bool"})
ANY = frozenset({"float32", "int32", "int64", "bool"})

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
        value = value.decode() if isinstance(value, bytes) else value
        if value not in allowed:
            return f"MNN's {node.op_type} is wrong with {name}={value}"
    return None


def _shape(node: Node, graph: Graph, position: int) -> tuple[int, ...]:
    return graph.values[node.inputs[position]].shape or ()


def _pool(node: Node, graph: Graph) -> str | None:
    if len(_shape(node, graph, 0)) != 4:
        return f"MNN's {node.op_type} is two-dimensional"
    if "strides" not in node.attributes:
        return f"MNN's {node.op_type} divides by zero where strides are left out"
    if any(step != 1 for step in node.attributes.get("dilations", ())):
        return f"MNN's {node.op_type} ignores dilations"
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


def _axes_stated(node: Node, graph: Graph) -> str | None:
    if len(node.inputs) < 2 or not node.inputs[1] or prod(_shape(node, graph, 1)) == 0:
        return f"MNN's {node.op_type} is wrong without axes"
    return None


def _even(node: Node, graph: Graph) -> str | None:
    parts = node.attributes.get("num_outputs")
    axis = node.attributes.get("axis", 0)
    uneven = parts is not None and _shape(node, graph, 0)[axis] % parts
    return "MNN's Split into a number of parts must be even" if uneven else None


def _four_dimensions(node: Node, graph: Graph) -> str | None:
    return None if len(_shape(node, graph, 0)) == 4 else f"MNN's {node.op_type} is two-dimensional"


def _resize(node: Node, graph: Graph) -> str | None:
    asked = {"mode": "nearest", "coordinate_transformation_mode": "half_pixel", "nearest_mode": "round_prefer_floor"}
    asked.update({name: str(node.attributes[name]) for name in asked if name in node.attributes})
    mode, transform = asked["mode"], asked["coordinate_transformation_mode"]
    right = (mode, transform) == ("linear", "half_pixel") or (
        (mode, transform, asked["nearest_mode"]) == ("nearest", "asymmetric", "floor")
    )
    return _four_dimensions(node, graph) if right else f"MNN's Resize is wrong for {', '.join(asked.values())}"


def _no_axes(node: Node, graph: Graph) -> str | None:
    return "MNN's Pad takes no axes" if len(node.inputs) > 3 and node.inputs[3] else None


_UNARY = (
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish LeakyRelu Log "
    "Neg Reciprocal Relu Selu Sigmoid Sign Sin Sinh Softmax Softplus Softsign Sqrt Tan Tanh ThresholdedRelu "
    "GlobalAveragePool GlobalMaxPool LRN"
).split()
_COMPARE = ("Equal", "Greater", "GreaterOrEqual", "LessOrEqual")
_POOL = {"auto_pad": (None, "NOTSET")}

SUPPORT: Mapping[str, Support] = {
    **dict.fromkeys(_UNARY, Support()),
    **dict.fromkeys(("Add", "Sub", "Mul"), Support(dtypes=NUMBER)),
    **dict.fromkeys(("Div", "Pow"), Support()),
    **dict.fromkeys(("Max", "Min", "Sum"), Support(limit=_several)),
    **dict.fromkeys(_COMPARE, Support(dtypes=NUMBER, gives=BOOL)),
    **dict.fromkeys(("And", "Or", "Xor", "Not"), Support(dtypes=BOOL)),
    "Where": Support(dtypes=ANY),
    "Cast": Support(dtypes=ANY, attributes={"to": (1, 6, 7)}),
    "Identity": Support(dtypes=ANY),
    "Clip": Support(constant=(1, 2)),
    "PRelu": Support(constant=(1,), limit=_prelu),
    "LogSoftmax": Support(
        limit=lambda node, _: None if "axis" in node.attributes else "MNN's LogSoftmax needs an axis"
    ),
    **dict.fromkeys(
        ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"),
        Support(constant=(1,), limit=_axes_stated),
    ),
    **dict.fromkeys(
        ("ArgMax", "ArgMin"), Support(gives=frozenset({"int64"}), attributes={"select_last_index": (None, 0)})
    ),
    "TopK": Support(gives=frozenset({"float32", "int64"}), constant=(1,)),
    "CumSum": Support(constant=(1,)),
    "Trilu": Support(constant=(1,)),
    **dict.fromkeys(("Concat", "Flatten", "Transpose"), Support(dtypes=ANY)),
    **dict.fromkeys(("Expand", "Reshape", "Squeeze", "Tile", "Unsqueeze"), Support(dtypes=ANY, constant=(1,))),
    "Slice": Support(dtypes=ANY, constant=(1, 2, 3, 4)),
    "Split": Support(dtypes=ANY, constant=(1,), limit=_even),
    "Pad": Support(constant=(1, 2), attributes={"mode": (None, "constant", "reflect", "edge")}, limit=_no_axes),
    "Gather": Support(dtypes=ANY),
    "DepthToSpace": Support(limit=_four_dimensions),
    "SpaceToDepth": Support(attributes={"mode": (None, "DCR")}, limit=_four_dimensions),
    "BatchNormalization": Support(constant=(1, 2, 3, 4), attributes={"training_mode": (None, 0)}),
    "InstanceNormalization": Support(constant=(1, 2)),
    "LayerNormalization": Support(constant=(1, 2)),
    "Conv": Support(constant=(1, 2), attributes={"auto_pad": (None, "NOTSET")}, limit=_four_dimensions),
    "ConvTranspose": Support(
        constant=(1, 2), attributes={"auto_pad": (None, "NOTSET"), "output_shape": (None,)}, limit=_four_dimensions
    ),
    "Gemm": Support(attributes={"transA": (None, 0)}),
    "MatMul": Support(limit=_matrices),
    "MaxPool": Support(attributes=_POOL, limit=_pool),
    "AveragePool": Support(attributes=_POOL, limit=_pool),
    "Resize": Support(
        constant=(1, 2, 3),
        attributes={"antialias": (None, 0), "axes": (None,), "keep_aspect_ratio_policy": (None, "stretch")},
        limit=_resize,
    ),
}
