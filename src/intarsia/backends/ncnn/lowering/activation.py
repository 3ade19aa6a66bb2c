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


def _gelu(node: Node) -> Mapping[int, Parameter]:
    return {0: int(node.attributes.get("approximate", "none") == "tanh")}


def _swish(node: Node) -> Mapping[int, Parameter]:
    if _attribute(node, "alpha", 1.0) != 1.0:
        raise Refused("ncnn's Swish has no alpha")
    return {}


def _no_params(_: Node) -> Mapping[int, Parameter]:
    return {}


_LAYERS: Mapping[str, tuple[str, _Attributes]] = {
    "Relu": ("ReLU", _no_params),
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
    "Sigmoid": ("Sigmoid", _no_params),
    "Tanh": ("TanH", _no_params),
    "HardSigmoid": ("HardSigmoid", lambda node: {0: _attribute(node, "alpha", 0.2), 1: _attribute(node, "beta", 0.5)}),
    "HardSwish": ("HardSwish", lambda _: {0: 1.0 / 6.0, 1: 0.5}),
    "Mish": ("Mish", _no_params),
    "Gelu": ("GELU", _gelu),
    "Swish": ("Swish", _swish),
    "Erf": ("Erf", _no_params),
    "Abs": ("UnaryOp", lambda _: {0: 0}),
    "Neg": ("UnaryOp", lambda _: {0: 1}),
    "Floor": ("UnaryOp", lambda _: {0: 2}),
    "Ceil": ("UnaryOp", lambda _: {0: 3}),
    "Sqrt": ("UnaryOp", lambda _: {0: 5}),
    "Exp": ("UnaryOp", lambda _: {0: 7}),
    "Log": ("UnaryOp", lambda _: {0: 8}),
    "Reciprocal": ("UnaryOp", lambda _: {0: 15}),
    "Round": ("UnaryOp", lambda _: {0: 18}),
}
UNARY = tuple(_LAYERS)
"""Every operator that `unary` lowers."""


def unary(build: Builder, node: Node) -> None:
    """An operator that is one layer of ncnn."""
    kind, params = _LAYERS[node.op_type]
    blob = build.blob(node.inputs[0])
    build.bind(node.outputs[0], build.emit(kind, (blob,), build.shapes[blob], params(node)))


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
