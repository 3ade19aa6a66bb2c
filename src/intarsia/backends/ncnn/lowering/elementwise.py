"""Arithmetic on two or more operands, with broadcasting.

ncnn broadcasts blobs of equal rank as numpy does, and blobs of unequal rank the other way round: every operand is
brought to the rank of the result first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from intarsia.backends.ncnn.lowering.builder import Builder, blob_shape, drops_batch
from intarsia.backends.ncnn.lowering.layer import Block, Refused, Shape, Vector

if TYPE_CHECKING:
    from intarsia.graph import Node

_ADD, _SUB, _MUL, _DIV, _MAX, _MIN, _RSUB, _RDIV = 0, 1, 2, 3, 4, 5, 7, 8
_TYPES: Mapping[str, int] = {"Add": _ADD, "Sum": _ADD, "Sub": _SUB, "Mul": _MUL, "Div": _DIV, "Max": _MAX, "Min": _MIN}
_SWAPPED: Mapping[int, int] = {_SUB: _RSUB, _DIV: _RDIV}
_SQUARE, _SQRT, _RECIPROCAL = 4, 5, 15
_POWERS: Mapping[float, int] = {2.0: _SQUARE, 0.5: _SQRT, -1.0: _RECIPROCAL}


def arithmetic(build: Builder, node: Node) -> None:
    """``Add Sub Mul Div Max Min Sum``, operand by operand from the left."""
    kind = _TYPES[node.op_type]
    if len(node.inputs) == 1:
        build.bind(node.outputs[0], build.blob(node.inputs[0]))
        return
    output = build.shape(node.outputs[0])
    left = _Operand(build, node.inputs[0], output)
    for name in node.inputs[1:-1]:
        left = _combine(build, kind, left, _Operand(build, name, output), output, last=False)
    left = _combine(build, kind, left, _Operand(build, node.inputs[-1], output), output, last=True)
    build.bind(node.outputs[0], left.blob())


def power(build: Builder, node: Node) -> None:
    """``Pow`` with the exponents that ncnn has an exact layer for: its general one is wrong for negative numbers."""
    exponent = build.constant(node.inputs[1])
    kind = _POWERS.get(float(exponent.reshape(-1)[0])) if exponent.size == 1 else None
    if kind is None:
        raise Refused("ncnn's power is wrong for negative numbers; only exponents 2, 0.5 and -1 are taken")
    blob = build.blob(node.inputs[0])
    build.bind(node.outputs[0], build.emit("UnaryOp", (blob,), build.shapes[blob], {0: kind}))


def scale_layer(build: Builder, blob: str, factor: Vector, offset: Vector) -> str:
    """One factor and one offset for each index of the blob's first dimension."""
    shape = build.shapes[blob]
    blocks = (Block(derived=factor), Block(derived=offset))
    return build.emit("Scale", (blob,), shape, {0: shape[0], 1: 1}, blocks)


class _Operand:
    """A value seen in the rank of the result."""

    def __init__(self, build: Builder, name: str, output: Shape, made: str = "") -> None:
        self._build = build
        self._made = made
        self.name = name
        result = blob_shape(output)
        shape = build.shapes[made] if made else build.shape(name)
        if not made:
            shape = (1,) * (len(output) - len(shape)) + shape
            shape = shape[1:] if drops_batch(output) else shape
        self.shape = shape
        self.is_constant = not made and build.is_constant(name)
        self.is_single = self.is_constant and int(np.prod(shape)) == 1
        self.is_per_row = self.is_constant and shape == (result[0], *(1,) * (len(result) - 1))

    def blob(self) -> str:
        return self._made or self._build.blob(self.name, self.shape)

    def values(self, size: int) -> np.ndarray:
        return self._build.vector(self.name, size)


def _combine(build: Builder, kind: int, left: _Operand, right: _Operand, output: Shape, *, last: bool) -> _Operand:
    shape = blob_shape(output) if last else np.broadcast_shapes(left.shape, right.shape)
    swapped = left.is_constant and not right.is_constant
    first, second = (right, left) if swapped else (left, right)
    code = _SWAPPED.get(kind, kind) if swapped else kind
    if first.shape == shape and second.is_single:
        number = float(second.values(1)[0])
        blob = build.emit("BinaryOp", (first.blob(),), shape, {0: code, 1: 1, 2: number})
    elif first.shape == shape and second.is_per_row and kind not in (_MAX, _MIN) and code != _RDIV:
        blob = _per_row(build, code, first.blob(), second)
    else:
        blob = build.emit("BinaryOp", (left.blob(), right.blob()), shape, {0: kind})
    return _Operand(build, "", output, made=blob)


def _per_row(build: Builder, code: int, blob: str, rows: _Operand) -> str:
    size = build.shapes[blob][0]
    rows.values(size)  # refuses weights that are not float32
    ones, zeros = np.ones(size), np.zeros(size)
    vectors: Mapping[int, tuple[Vector, Vector]] = {
        _ADD: (lambda: ones, lambda: rows.values(size)),
        _SUB: (lambda: ones, lambda: -rows.values(size)),
        _RSUB: (lambda: -ones, lambda: rows.values(size)),
        _MUL: (lambda: rows.values(size), lambda: zeros),
        _DIV: (lambda: 1.0 / rows.values(size), lambda: zeros),
    }
    return scale_layer(build, blob, *vectors[code])
