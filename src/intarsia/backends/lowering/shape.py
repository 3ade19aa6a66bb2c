"""Operators that move elements and compute none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import prod

import numpy as np

from intarsia.backends.lowering.builder import Builder
from intarsia.backends.lowering.node_context import MOST_KNOWN, NodeContext, Rule, axes_of, axis_of
from intarsia.backends.lowering.program import Term, UnsupportedError


def _concat(ctx: NodeContext) -> Term:
    terms = ctx.operands()
    return ctx.builder.concat(terms, axis_of(ctx.get("axis"), terms[0].rank))


def _split(ctx: NodeContext) -> list[Term]:
    x = ctx.operand(0)
    axis = axis_of(ctx.get("axis", 0), x.rank)
    sizes = [ctx.shape_of_output(place)[axis] for place in range(len(ctx.node.outputs))]
    ends = list(accumulate(sizes))
    return [ctx.builder.part(x, axis, end - size, end) for size, end in zip(sizes, ends, strict=True)]


def _slice(ctx: NodeContext) -> Term:
    x = ctx.operand(0)
    starts, ends = ctx.numbers(1), ctx.numbers(2)
    axes = [axis_of(axis, x.rank) for axis in ctx.numbers(3)] if ctx.has(3) else range(len(starts))
    steps = ctx.numbers(4) if ctx.has(4) else [1] * len(starts)
    ranges = [(0, size, 1) for size in x.shape]
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        ranges[axis] = slice(start, end, step).indices(x.shape[axis])
        if step < 0 and end < -x.shape[axis]:
            ranges[axis] = (ranges[axis][0], -1, step)
    return ctx.builder.slice(x, *zip(*ranges, strict=True)) if ranges else x


def padded(b: Builder, x: Term, before: Sequence[int], after: Sequence[int], value: float = 0) -> Term:
    """Padding that may be negative: what is cut off is cut off first."""
    starts = [max(0, -a) for a in before]
    stops = [size - max(0, -a) for size, a in zip(x.shape, after, strict=True)]
    if any(stop < start for start, stop in zip(starts, stops, strict=True)):
        raise UnsupportedError("a padding that cuts off more than there is")
    cut = b.slice(x, starts, stops)
    return b.pad(cut, [max(0, a) for a in before], [max(0, a) for a in after], value)


def _pad(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    mode = ctx.get("mode", "constant")
    pads = ctx.numbers(1)
    axes = [axis_of(axis, x.rank) for axis in ctx.numbers(3)] if ctx.has(3) else list(range(x.rank))
    before, after = [0] * x.rank, [0] * x.rank
    for place, axis in enumerate(axes):
        before[axis], after[axis] = pads[place], pads[place + len(axes)]
    if mode == "constant":
        if not ctx.has(2) or ctx.node.inputs[2] in ctx.graph.weights:
            return padded(b, x, before, after, ctx.known(2).reshape(-1)[0].item() if ctx.has(2) else 0)
        if prod(ctx.shape_of_output()) > MOST_KNOWN:
            raise UnsupportedError("a large padding with a value that only running tells")
        widths = [(max(0, one), max(0, other)) for one, other in zip(before, after, strict=True)]
        shape = [size - sum(pair) for size, pair in zip(ctx.shape_of_output(), widths, strict=True)]
        inside = b.constant(np.pad(np.ones(shape, bool), widths))
        return b.where(inside, padded(b, x, before, after), b.reshape(ctx.operand(2), ()))
    # The other modes are rows of the tensor itself, taken again.
    for axis in range(x.rank):
        if before[axis] or after[axis]:
            x = _repeated(b, x, axis, before[axis], after[axis], mode)
    return x


def _repeated(b: Builder, x: Term, axis: int, before: int, after: int, mode: str) -> Term:
    rows = np.arange(x.shape[axis])
    rows = rows[max(0, -before) : len(rows) - max(0, -after)]
    rows = np.pad(rows, (max(0, before), max(0, after)), mode=mode)  # type: ignore[call-overload]
    return b.take(x, b.constant(rows.astype(np.int64)), axis)


def _tile(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    repeats = ctx.numbers(1)
    # Each dimension gets one of its own before it, along which it is repeated.
    parted = b.reshape(x, [size for each in x.shape for size in (1, each)])
    repeated = b.expand(parted, [s for times, size in zip(repeats, x.shape, strict=True) for s in (times, size)])
    return b.reshape(repeated, ctx.shape_of_output())


def _depth_to_space(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    block = ctx.get("blocksize")
    n, c, h, w = x.shape
    less = c // block**2
    if ctx.get("mode", "DCR") == "DCR":
        moved = b.transpose(b.reshape(x, (n, block, block, less, h, w)), (0, 3, 4, 1, 5, 2))
    else:
        moved = b.transpose(b.reshape(x, (n, less, block, block, h, w)), (0, 1, 4, 2, 5, 3))
    return b.reshape(moved, (n, less, h * block, w * block))


def _space_to_depth(ctx: NodeContext) -> Term:
    if "mode" in ctx.node.attributes and ctx.get("mode") != "DCR":
        raise UnsupportedError("a mode")
    b, x = ctx.builder, ctx.operand(0)
    block = ctx.get("blocksize")
    n, c, h, w = x.shape
    parted = b.reshape(x, (n, c, h // block, block, w // block, block))
    return b.reshape(b.transpose(parted, (0, 3, 5, 1, 2, 4)), (n, c * block**2, h // block, w // block))


def _constant_of_shape(ctx: NodeContext) -> Term:
    value = ctx.get("value")
    fill = np.zeros((), np.float32) if value is None else np.asarray(value).reshape(())
    return ctx.builder.expand(ctx.builder.constant(fill), ctx.shape_of_output())


def _whole_numbers(ctx: NodeContext, numbers: Sequence[int] | int) -> Term:
    return ctx.builder.constant(np.array(numbers, np.int64))


def _trilu(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    k = ctx.numbers(1)[0] if ctx.has(1) else 0
    rows, columns = x.shape[-2:]
    full = np.ones((rows, columns), bool)
    kept = np.triu(full, k) if ctx.get("upper", 1) else np.tril(full, k)
    zero = b.constant(np.array(False)) if x.dtype == "bool" else b.scalar(0, x)
    return b.where(b.constant(kept), x, zero)


def _eye_like(ctx: NodeContext) -> Term:
    rows, columns = ctx.operand(0).shape
    from intarsia.graph.dtypes import numpy_dtype

    return ctx.builder.constant(np.eye(rows, columns, ctx.get("k", 0), dtype=numpy_dtype(ctx.dtype_of_output())))


def _range(ctx: NodeContext) -> Term:
    start, limit, delta = (ctx.known(position).reshape(()).item() for position in range(3))
    return ctx.builder.constant(np.arange(start, limit, delta, dtype=ctx.known(0).dtype))


def _center_crop_pad(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    before, after = [0] * x.rank, [0] * x.rank
    for axis, size in zip(axes_of(ctx.get("axes"), x.rank), ctx.numbers(1), strict=True):
        more = size - x.shape[axis]
        before[axis] = more // 2 if more > 0 else -(-more // 2)
        after[axis] = more - before[axis]
    return padded(b, x, before, after)


RULES: Mapping[str, Rule] = {
    "CenterCropPad": _center_crop_pad,
    "Concat": _concat,
    "ConstantOfShape": _constant_of_shape,
    "DepthToSpace": _depth_to_space,
    "Expand": lambda ctx: ctx.builder.expand(ctx.operand(0), ctx.shape_of_output()),
    "EyeLike": _eye_like,
    "Pad": _pad,
    "Range": _range,
    **dict.fromkeys(
        ("Flatten", "Reshape", "Squeeze", "Unsqueeze"),
        lambda ctx: ctx.builder.reshape(ctx.operand(0), ctx.shape_of_output()),
    ),
    "Shape": lambda ctx: _whole_numbers(ctx, ctx.operand(0).shape[slice(ctx.get("start", 0), ctx.get("end"))]),
    "Size": lambda ctx: _whole_numbers(ctx, prod(ctx.operand(0).shape)),
    "Slice": _slice,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Tile": _tile,
    "Transpose": lambda ctx: ctx.builder.transpose(ctx.operand(0), ctx.get("perm") or range(ctx.operand(0).rank)[::-1]),
    "Trilu": _trilu,
}
