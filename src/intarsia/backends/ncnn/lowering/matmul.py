"""Matrix products: one row by a weight, many rows by a weight, and two computed matrices."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from intarsia.backends.ncnn.lowering.builder import Builder, blob_shape
from intarsia.backends.ncnn.lowering.layer import Block, Refused, Shape

if TYPE_CHECKING:
    from intarsia.graph import Node

_NO_BIAS, _BIAS_PER_COLUMN = -1, 4


def matmul(build: Builder, node: Node) -> None:
    """``MatMul``; a weight may be the right operand."""
    left, right = node.inputs
    a, b = build.shape(left), build.shape(right)
    if len(a) < 2 or len(b) < 2:
        raise Refused("a product with a vector is not taken")
    if build.is_constant(left):
        raise Refused("a weight is taken as the right operand only")
    if build.is_constant(right) and len(b) == 2:
        _by_weight(build, node, replace(build.weight(right), view=b, order=(1, 0), tagged=True), None, b[1])
        return
    if a[:-2] != b[:-2]:
        raise Refused(f"ncnn multiplies matrix by matrix, and {a} and {b} would be broadcast")
    result = (*a[:-1], b[-1])
    cut = 1 if len(a) > 2 and a[0] == 1 else 0
    operands = (build.blob(left, a[cut:]), build.blob(right, b[cut:]))
    build.bind(node.outputs[0], build.emit("MatMul", operands, result[cut:]))


def gemm(build: Builder, node: Node) -> None:
    """``Gemm`` of computed rows by a weight, with a bias for each column."""
    left, right = node.inputs[0], node.inputs[1]
    if node.attributes.get("transA", 0) or build.is_constant(left):
        raise Refused("a weight is taken as the right operand only, and the left one not transposed")
    b = build.shape(right)
    transposed = bool(node.attributes.get("transB", 0))
    columns = b[0] if transposed else b[1]
    block = build.weight(right) if transposed else replace(build.weight(right), view=b, order=(1, 0))
    alpha, beta = (float(node.attributes.get(name, 1.0)) for name in ("alpha", "beta"))
    if alpha != 1.0:
        block = replace(block, factor=lambda: np.full(columns, alpha))
    _by_weight(build, node, replace(block, tagged=True), _bias(build, node, columns, beta), columns)


def _bias(build: Builder, node: Node, columns: int, beta: float) -> Block | None:
    name = build.optional(node, 2)
    if not name:
        return None
    shape = build.shape(name)
    if math.prod(shape) not in (1, columns) or (shape and shape[-1] not in (1, columns)):
        raise Refused(f"a bias of shape {shape} is not one number for each of {columns} columns")
    if math.prod(shape) == columns and shape[-1:] != (columns,):
        raise Refused(f"a bias of shape {shape} is not one number for each of {columns} columns")
    block = build.weight(name)
    if beta == 1.0 and math.prod(shape) == columns:
        return block
    return Block(derived=lambda: beta * build.vector(name, columns))


def _by_weight(build: Builder, node: Node, weight: Block, bias: Block | None, columns: int) -> None:
    """Rows times a weight that is laid out as (columns, inner)."""
    shape = build.shape(node.inputs[0])
    rows, inner = math.prod(shape[:-1]), shape[-1]
    blob_shape(shape)
    if rows == 1:
        params = {0: columns, 1: int(bias is not None), 2: inner * columns}
        blocks = (weight, bias) if bias else (weight,)
        blob = build.emit("InnerProduct", (build.blob(node.inputs[0], (inner,)),), (columns,), params, blocks)
    else:
        blob = _rows_by_weight(build, build.blob(node.inputs[0], (rows, inner)), weight, bias, columns)
    build.bind(node.outputs[0], blob)


def _rows_by_weight(build: Builder, blob: str, weight: Block, bias: Block | None, columns: int) -> str:
    rows, inner = build.shapes[blob]
    shape: Shape = (rows, columns)
    params = {3: 1, 5: 1, 6: 1, 8: columns, 9: inner, 10: _BIAS_PER_COLUMN if bias else _NO_BIAS}
    blocks = (weight, replace(bias, tagged=True)) if bias else (weight,)
    return build.emit("Gemm", (blob,), shape, params, blocks)
