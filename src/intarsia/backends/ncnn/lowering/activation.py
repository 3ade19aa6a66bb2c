"""Functions of one number, applied to each element."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from intarsia.backends.ncnn.lowering.builder import Builder
from intarsia.backends.ncnn.lowering.layer import Parameter, Refused

if TYPE_CHECKING:
    from intarsia.graph import Node

_Attributes = Callable[["Node"], Mapping[int, Parameter]]
LARGEST = float(np.finfo(np.float32).max)


def _attribute(node: Node, name: str, default: float) -> float:
    return float(node.attributes.get(name, default))


def _swish(node: Node) -> Mapping[int, Parameter]:
    if _attribute(node, "alpha", 1.0) != 1.0:
        raise Refused("ncnn's Swish has no alpha")
    return {}


_LAYERS: Mapping[str, tuple[str, _Attributes]] = {
    "Relu": ("ReLU", lambda _: {}),
    "LeakyRelu": ("ReLU", lambda node: {0: _attribute(node, "alpha", 0.01)}),
    "Elu": ("ELU", lambda node: {0: _attribute(node, "alpha", 1.0)}),
    "Celu": ("CELU", lambda node: {0: _attribute(node, "alpha", 1.0)}),
    "Selu": (
        "SELU",
        lambda node: {
            0: _attribute(node, "alpha", 1.67326319217681884765625),
            1: _attribute(node, "gamma", 1.05070102214813232421875),
        },
    ),
    "Sigmoid": ("Sigmoid", lambda _: {}),
    "Tanh": ("TanH", lambda _: {}),
    "HardSigmoid": ("HardSigmoid", lambda node: {0: _attribute(node, "alpha", 0.2), 1: _attribute(node, "beta", 0.5)}),
    "HardSwish": ("HardSwish", lambda _: {0: 1.0 / 6.0, 1: 0.5}),
    "Mish": ("Mish", lambda _: {}),
    "Gelu": ("GELU", lambda node: {0: int(node.attributes.get("approximate", "none") == "tanh")}),
    "Swish": ("Swish", _swish),
    "Erf": ("Erf", lambda _: {}),
}
_UNARY_OP = {
    "Abs": 0, "Neg": 1, "Floor": 2, "Ceil": 3, "Sqrt": 5, "Exp": 7, "Log": 8, "Reciprocal": 15, "Round": 18,
}  # fmt: skip
"""Operators that are one layer ``UnaryOp``, with ncnn's number for each."""
UNARY = (*_LAYERS, *_UNARY_OP)
"""Every operator that `unary` lowers."""


def unary(build: Builder, node: Node) -> None:
    """An operator that is one layer of ncnn."""
    kind, params_of = _LAYERS.get(node.op_type, ("UnaryOp", lambda node: {0: _UNARY_OP[node.op_type]}))
    blob = build.blob(node.inputs[0])
    build.bind(node.outputs[0], build.emit(kind, (blob,), build.shapes[blob], params_of(node)))


def clip(build: Builder, node: Node) -> None:
    """``Clip`` with constant bounds; a missing one is the largest float32."""
    low, high = (_bound(build, build.optional(node, index), sign) for index, sign in ((1, -1.0), (2, 1.0)))
    blob = build.blob(node.inputs[0])
    build.bind(node.outputs[0], build.emit("Clip", (blob,), build.shapes[blob], {0: low, 1: high}))


def prelu(build: Builder, node: Node) -> None:
    """``PRelu`` with one slope, or one for each channel."""
    x, slope = node.inputs
    blob, rank = build.blob(x), len(build.shape(x))
    rows = build.shapes[blob][0]
    shape = (1,) * (rank - len(build.shape(slope))) + build.shape(slope)
    per_channel = (1, rows, *(1,) * (rank - 2))
    count = int(np.prod(shape))
    if count != 1 and (shape != per_channel or build.shape(x)[0] != 1):
        raise Refused(f"ncnn's slopes are one or one for each channel, not {build.shape(slope)}")
    layer = build.emit("PReLU", (blob,), build.shapes[blob], {0: count}, (build.weight(slope),))
    build.bind(node.outputs[0], layer)


def _bound(build: Builder, name: str, sign: float) -> float:
    if not name:
        return sign * LARGEST
    return float(np.clip(float(build.vector(name, 1)[0]), -LARGEST, LARGEST))
