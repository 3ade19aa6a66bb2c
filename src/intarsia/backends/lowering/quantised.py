"""Operators on quantised tensors, spelled out in the numbers they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from intarsia.backends.lowering.builder import Builder
from intarsia.backends.lowering.composites import clip, per_channel, product
from intarsia.backends.lowering.layers import convolved
from intarsia.backends.lowering.program import Term, UnsupportedError
from intarsia.backends.lowering.site import Rule, Site, axis_of

_BOUNDS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "uint16": (0, 65535)}


def _along(site: Site, x: Term, parameter: Term) -> Term:
    """A scale or zero point as it meets each element: one for all, one a slice, or one a block."""
    b = site.builder
    axis = axis_of(site.get("axis", 1), x.rank)
    block = site.get("block_size", 0)
    if block:
        each = b.reshape(parameter, [*parameter.shape[: axis + 1], 1, *parameter.shape[axis + 1 :]])
        shape = [*parameter.shape[: axis + 1], block, *parameter.shape[axis + 1 :]]
        whole = [size * (block if place == axis else 1) for place, size in enumerate(parameter.shape)]
        return b.part(b.reshape(b.expand(each, shape), whole), axis, 0, x.shape[axis])
    if prod(parameter.shape) == 1:
        return b.reshape(parameter, ())
    return b.reshape(parameter, [size if place == axis else 1 for place, size in enumerate(x.shape)])


def _quantised(b: Builder, scaled: Term, zero: Term | None, dtype: str) -> Term:
    """Rounded half to even, moved, held within the type."""
    if dtype not in _BOUNDS:
        raise UnsupportedError(f"quantised to {dtype}")
    whole = b.unary("round", scaled)
    moved = whole if zero is None else b.binary("add", whole, b.cast(zero, whole.dtype))
    low, high = _BOUNDS[dtype]
    return b.cast(clip(b, moved, float(low), float(high)), dtype)


def _quantize(site: Site) -> Term:
    b, x = site.builder, site.operand(0)
    scale = _along(site, x, site.operand(1))
    zero = site.optional(2)
    zero = None if zero is None else _along(site, x, zero)
    exact = "float64" if "float64" in (x.dtype, scale.dtype) else "float32"
    scaled = b.binary("div", b.cast(x, exact), b.cast(scale, exact))
    return _quantised(b, scaled, zero, site.dtype_of_output())


def _dequantize(site: Site) -> Term:
    b, x = site.builder, site.operand(0)
    if x.dtype not in (*_BOUNDS, "int32"):
        raise UnsupportedError(f"dequantised from {x.dtype}")
    scale = _along(site, x, site.operand(1))
    zero = site.optional(2)
    numbers = b.cast(x, "int32")
    if zero is not None:
        numbers = b.binary("sub", numbers, b.cast(_along(site, x, zero), "int32"))
    return b.cast(b.binary("mul", b.cast(numbers, scale.dtype), scale), site.dtype_of_output())


def _dynamic(site: Site) -> list[Term]:
    b, x = site.builder, site.operand(0)
    axes = range(x.rank)
    low = b.binary("min", b.reduce("min", x, axes, keep=False), 0.0)
    high = b.binary("max", b.reduce("max", x, axes, keep=False), 0.0)
    scale = b.binary("div", b.binary("sub", high, low), 255.0)
    zero = b.unary("round", clip(b, b.binary("div", b.unary("neg", low), scale), 0.0, 255.0))
    return [_quantised(b, b.binary("div", x, scale), zero, "uint8"), scale, b.cast(zero, "uint8")]


def _whole(site: Site, position: int, zero: int, dtype: str) -> Term:
    """An input less its zero point: numbers without fraction."""
    b, x = site.builder, site.operand(position)
    wide = b.cast(x, dtype)
    offset = site.optional(zero)
    if offset is None:
        return wide
    offset = b.cast(offset, dtype)
    # One zero point a row of the first factor, a column of the second, an output channel of a kernel.
    if prod(offset.shape) == 1:
        return b.binary("sub", wide, b.reshape(offset, ()))
    if site.node.op_type in ("ConvInteger", "QLinearConv"):
        offset = b.reshape(offset, [offset.shape[0], *[1] * (x.rank - 1)])
    elif offset.rank == 1 and position == 0:
        offset = b.reshape(offset, (*offset.shape, 1))
    return b.binary("sub", wide, offset)


def _matmul_integer(site: Site) -> Term:
    x, y = _whole(site, 0, 2, "int32"), _whole(site, 1, 3, "int32")
    return product(site.builder, x, y)


def _conv_integer(site: Site) -> Term:
    # float64 holds every sum of products of 8-bit numbers exactly, and convolutions of whole numbers are rare.
    x, w = _whole(site, 0, 2, "float64"), _whole(site, 1, 3, "float64")
    return site.builder.cast(convolved(site, x, w), "int32")


def _rescaled(site: Site, total: Term, scales: tuple[int, int, int], zero: int, channels: int | None) -> Term:
    b = site.builder
    x, y, out = (b.cast(site.operand(place), "float64") for place in scales)
    if channels is not None and prod(y.shape) > 1:
        y = per_channel(b, y, total.rank, channels)
    elif prod(y.shape) == 1:
        y = b.reshape(y, ())
    x, out = (b.reshape(each, ()) if prod(each.shape) == 1 else each for each in (x, out))
    scaled = b.binary("div", b.binary("mul", b.binary("mul", total, x), y), out)
    point = site.operand(zero)
    return _quantised(b, scaled, b.reshape(point, ()) if prod(point.shape) == 1 else point, site.dtype_of_output())


def _qlinear_matmul(site: Site) -> Term:
    if any(prod(site.operand(place).shape) != 1 for place in (1, 2, 4, 5, 6, 7)):
        raise UnsupportedError("a scale for each row")
    total = product(site.builder, _whole(site, 0, 2, "float64"), _whole(site, 3, 5, "float64"))
    return _rescaled(site, total, (1, 4, 6), 7, None)


def _qlinear_conv(site: Site) -> Term:
    b = site.builder
    x, w = _whole(site, 0, 2, "float64"), _whole(site, 3, 5, "float64")
    bias = site.optional(8)
    total = convolved(site, x, w, None if bias is None else b.cast(bias, "float64"))
    return _rescaled(site, total, (1, 4, 6), 7, 1)


RULES: Mapping[str, Rule] = {
    "ConvInteger": _conv_integer,
    "DequantizeLinear": _dequantize,
    "DynamicQuantizeLinear": _dynamic,
    "MatMulInteger": _matmul_integer,
    "QLinearConv": _qlinear_conv,
    "QLinearMatMul": _qlinear_matmul,
    "QuantizeLinear": _quantize,
}
