"""Operators on quantised tensors, spelled out in the numbers they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from intarsia.backends.lowering.builder import Builder, along_axis
from intarsia.backends.lowering.composites import clip, per_channel, product
from intarsia.backends.lowering.layers import convolved
from intarsia.backends.lowering.node_context import NodeContext, Rule, axis_of
from intarsia.backends.lowering.program import Term, UnsupportedError

_BOUNDS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "uint16": (0, 65535)}


def _along(ctx: NodeContext, x: Term, parameter: Term) -> Term:
    """A scale or zero point as it meets each element: one for all, one a slice, or one a block."""
    b = ctx.builder
    axis = axis_of(ctx.get("axis", 1), x.rank)
    block = ctx.get("block_size", 0)
    if block:
        each = b.reshape(parameter, [*parameter.shape[: axis + 1], 1, *parameter.shape[axis + 1 :]])
        shape = [*parameter.shape[: axis + 1], block, *parameter.shape[axis + 1 :]]
        whole = [size * (block if place == axis else 1) for place, size in enumerate(parameter.shape)]
        return b.part(b.reshape(b.expand(each, shape), whole), axis, 0, x.shape[axis])
    if prod(parameter.shape) == 1:
        return b.reshape(parameter, ())
    return b.reshape(parameter, along_axis(x.shape[axis], axis, x.rank))


def _quantised(b: Builder, scaled: Term, zero: Term | None, dtype: str) -> Term:
    """Rounded half to even, moved, held within the type."""
    if dtype not in _BOUNDS:
        raise UnsupportedError(f"quantised to {dtype}")
    whole = b.unary("round", scaled)
    moved = whole if zero is None else b.binary("add", whole, b.cast(zero, whole.dtype))
    low, high = _BOUNDS[dtype]
    return b.cast(clip(b, moved, float(low), float(high)), dtype)


def _quantize(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    scale = _along(ctx, x, ctx.operand(1))
    zero = _along(ctx, x, ctx.operand(2)) if ctx.has(2) else None
    exact = "float64" if "float64" in (x.dtype, scale.dtype) else "float32"
    scaled = b.binary("div", b.cast(x, exact), b.cast(scale, exact))
    return _quantised(b, scaled, zero, ctx.dtype_of_output())


def _dequantize(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    if x.dtype not in (*_BOUNDS, "int32"):
        raise UnsupportedError(f"dequantised from {x.dtype}")
    scale = _along(ctx, x, ctx.operand(1))
    zero = ctx.optional(2)
    numbers = b.cast(x, "int32")
    if zero is not None:
        numbers = b.binary("sub", numbers, b.cast(_along(ctx, x, zero), "int32"))
    return b.cast(b.binary("mul", b.cast(numbers, scale.dtype), scale), ctx.dtype_of_output())


def _dynamic(ctx: NodeContext) -> list[Term]:
    b, x = ctx.builder, ctx.operand(0)
    axes = range(x.rank)
    low = b.binary("min", b.reduce("min", x, axes, keep=False), 0.0)
    high = b.binary("max", b.reduce("max", x, axes, keep=False), 0.0)
    scale = b.binary("div", b.binary("sub", high, low), 255.0)
    zero = b.unary("round", clip(b, b.binary("div", b.unary("neg", low), scale), 0.0, 255.0))
    return [_quantised(b, b.binary("div", x, scale), zero, "uint8"), scale, b.cast(zero, "uint8")]


def _whole(ctx: NodeContext, position: int, zero: int, dtype: str) -> Term:
    """An input less its zero point: numbers without fraction."""
    b, x = ctx.builder, ctx.operand(position)
    wide = b.cast(x, dtype)
    offset = ctx.optional(zero)
    if offset is None:
        return wide
    offset = b.cast(offset, dtype)
    # One zero point a row of the first factor, a column of the second, an output channel of a kernel.
    if prod(offset.shape) == 1:
        return b.binary("sub", wide, b.reshape(offset, ()))
    if ctx.node.op_type in ("ConvInteger", "QLinearConv"):
        offset = b.reshape(offset, [offset.shape[0], *[1] * (x.rank - 1)])
    elif offset.rank == 1 and position == 0:
        offset = b.reshape(offset, (*offset.shape, 1))
    return b.binary("sub", wide, offset)


def _conv_integer(ctx: NodeContext) -> Term:
    # float64 holds every sum of products of 8-bit numbers exactly, and convolutions of whole numbers are rare.
    x, w = _whole(ctx, 0, 2, "float64"), _whole(ctx, 1, 3, "float64")
    return ctx.builder.cast(convolved(ctx, x, w), "int32")


def _rescaled(ctx: NodeContext, total: Term, scales: tuple[int, int, int], zero: int, channels: int | None) -> Term:
    b = ctx.builder
    x, y, out = (b.cast(ctx.operand(place), "float64") for place in scales)
    if channels is not None and prod(y.shape) > 1:
        y = per_channel(b, y, total.rank, channels)
    elif prod(y.shape) == 1:
        y = b.reshape(y, ())
    x, out = (b.reshape(each, ()) if prod(each.shape) == 1 else each for each in (x, out))
    scaled = b.binary("div", b.binary("mul", b.binary("mul", total, x), y), out)
    point = ctx.operand(zero)
    return _quantised(b, scaled, b.reshape(point, ()) if prod(point.shape) == 1 else point, ctx.dtype_of_output())


def _qlinear_matmul(ctx: NodeContext) -> Term:
    if any(prod(ctx.operand(place).shape) != 1 for place in (1, 2, 4, 5, 6, 7)):
        raise UnsupportedError("a scale for each row")
    total = product(ctx.builder, _whole(ctx, 0, 2, "float64"), _whole(ctx, 3, 5, "float64"))
    return _rescaled(ctx, total, (1, 4, 6), 7, None)


def _qlinear_conv(ctx: NodeContext) -> Term:
    b = ctx.builder
    x, w = _whole(ctx, 0, 2, "float64"), _whole(ctx, 3, 5, "float64")
    bias = ctx.optional(8)
    total = convolved(ctx, x, w, None if bias is None else b.cast(bias, "float64"))
    return _rescaled(ctx, total, (1, 4, 6), 7, 1)


RULES: Mapping[str, Rule] = {
    "ConvInteger": _conv_integer,
    "DequantizeLinear": _dequantize,
    "DynamicQuantizeLinear": _dynamic,
    "MatMulInteger": lambda ctx: product(ctx.builder, _whole(ctx, 0, 2, "int32"), _whole(ctx, 1, 3, "int32")),
    "QLinearConv": _qlinear_conv,
    "QLinearMatMul": _qlinear_matmul,
    "QuantizeLinear": _quantize,
}
