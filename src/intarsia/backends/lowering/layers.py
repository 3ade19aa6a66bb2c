"""Products of matrices, convolutions, pools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from intarsia.backends.lowering.builder import Builder
from intarsia.backends.lowering.composites import per_channel, product, square
from intarsia.backends.lowering.einsum import einsum
from intarsia.backends.lowering.node_context import NodeContext, Rule
from intarsia.backends.lowering.program import Term, UnsupportedError


def _gemm(ctx: NodeContext) -> Term:
    b = ctx.builder
    x, y = ctx.operand(0), ctx.operand(1)
    x = b.transpose(x, (1, 0)) if ctx.get("transA", 0) else x
    y = b.transpose(y, (1, 0)) if ctx.get("transB", 0) else y
    found = b.matmul(x, y)
    if (alpha := ctx.get("alpha", 1.0)) != 1.0:
        found = b.binary("mul", found, alpha)
    more, beta = ctx.optional(2), ctx.get("beta", 1.0)
    if more is None:
        return found
    return b.binary("add", found, more if beta == 1.0 else b.binary("mul", more, beta))


def _stated(ctx: NodeContext, rank: int) -> tuple[list[int], list[int], list[int]]:
    """Strides, dilations and pads, or what stands for them where they are left out."""
    defaults = {"strides": [1] * rank, "dilations": [1] * rank, "pads": [0] * 2 * rank}
    strides, dilations, pads = (list(ctx.get(name) or default) for name, default in defaults.items())
    return strides, dilations, pads


def window_of(
    ctx: NodeContext, sizes: Sequence[int], kernel: Sequence[int], out: Sequence[int]
) -> dict[str, list[int]]:
    """Strides, dilations and padding; the padding that ``auto_pad`` asks for is worked out."""
    rank = len(kernel)
    strides, dilations, pads = _stated(ctx, rank)
    auto = ctx.get("auto_pad", "NOTSET")
    if auto.startswith("SAME"):
        for axis in range(rank):
            reach = (out[axis] - 1) * strides[axis] + dilations[axis] * (kernel[axis] - 1) + 1
            total = max(0, reach - sizes[axis])
            less = total // 2
            pads[axis], pads[axis + rank] = (total - less, less) if auto == "SAME_LOWER" else (less, total - less)
    elif auto == "VALID":
        pads = [0] * 2 * rank
    return {"strides": strides, "dilations": dilations, "before": pads[:rank], "after": pads[rank:]}


def convolved(ctx: NodeContext, x: Term, w: Term, bias: Term | None = None) -> Term:
    """The convolution that the node's attributes describe."""
    shape = ctx.shape_of_output()
    if x.rank < 3:
        raise UnsupportedError("a convolution over no dimension")
    window = window_of(ctx, x.shape[2:], w.shape[2:], shape[2:])
    return ctx.builder.conv(x, w, bias, shape, **window, groups=ctx.get("group", 1))


def _conv_transpose(ctx: NodeContext) -> Term:
    b, x, w = ctx.builder, ctx.operand(0), ctx.operand(1)
    shape = ctx.shape_of_output()
    kernel = w.shape[2:]
    rank = len(kernel)
    strides, dilations, pads = _stated(ctx, rank)
    more = list(ctx.get("output_padding") or [0] * rank)
    full = [(x.shape[2 + a] - 1) * strides[a] + dilations[a] * (kernel[a] - 1) + 1 for a in range(rank)]
    auto = ctx.get("auto_pad", "NOTSET")
    if auto.startswith("SAME") or ctx.get("output_shape"):
        for axis in range(rank):
            total = full[axis] + more[axis] - shape[2 + axis]
            less = total // 2
            pads[axis], pads[axis + rank] = (less, total - less) if auto == "SAME_UPPER" else (total - less, less)
    after = [pads[axis + rank] - more[axis] for axis in range(rank)]
    window = {"strides": strides, "dilations": dilations, "before": pads[:rank], "after": after}
    if any(full[a] - window["before"][a] - after[a] != shape[2 + a] for a in range(rank)):
        raise UnsupportedError("a transposed convolution of another size than its padding leaves")
    found = b.conv_transpose(x, w, shape, **window, groups=ctx.get("group", 1))
    bias = ctx.optional(2)
    return found if bias is None else b.binary("add", found, per_channel(b, bias, x.rank))


def pool_window(ctx: NodeContext, x: Term) -> dict[str, Any]:
    """The window of a pool; where sizes are rounded, ``after`` is what its last window reaches, and may be negative."""
    shape = ctx.shape_of_output()
    kernel = list(ctx.get("kernel_shape"))
    window = window_of(ctx, x.shape[2:], kernel, shape[2:])
    for axis, size in enumerate(x.shape[2:]):
        reach = (shape[2 + axis] - 1) * window["strides"][axis] + window["dilations"][axis] * (kernel[axis] - 1) + 1
        # Where sizes are rounded up the last window reaches behind the padding; where down, not to its end.
        window["after"][axis] = reach - size - window["before"][axis]
    return {"kernel": kernel, **window}


def _pooled(b: Builder, name: str, x: Term, shape: Sequence[int], window: dict[str, Any]) -> Term:
    """A negative padding behind is cut off first."""
    cut = [min(0, after) for after in window["after"]]
    x = b.slice(x, [0] * x.rank, [*x.shape[:2], *(size + less for size, less in zip(x.shape[2:], cut, strict=True))])
    after = [max(0, after) for after in window["after"]]
    return b.pool(name, x, shape, **{**window, "after": after})


def _max_pool(ctx: NodeContext) -> Term:
    if ctx.wants(1):
        raise UnsupportedError("the indices of a MaxPool")
    x = ctx.operand(0)
    return _pooled(ctx.builder, "max", x, ctx.shape_of_output(), pool_window(ctx, x))


def counts_of(ctx: NodeContext, x: Term, window: dict[str, Any]) -> np.ndarray:
    """How many elements count in each window."""
    shape = ctx.shape_of_output()
    rank = len(shape) - 2
    declared = window_of(ctx, x.shape[2:], window["kernel"], shape[2:])
    counts = np.ones((), np.float32)
    for axis in range(rank):
        first, last = 0, x.shape[2 + axis]
        if ctx.get("count_include_pad", 0):
            first, last = -declared["before"][axis], last + declared["after"][axis]
        starts = np.arange(shape[2 + axis]) * window["strides"][axis] - window["before"][axis]
        taps = starts[:, None] + np.arange(window["kernel"][axis]) * window["dilations"][axis]
        along = ((taps >= first) & (taps < last)).sum(1).astype(np.float32)
        counts = counts[..., None] * along
    if not counts.all():
        raise UnsupportedError("a window that lies in the padding")
    return counts


def _average_pool(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    window = pool_window(ctx, x)
    counts = counts_of(ctx, x, window)
    total = _pooled(b, "sum", x, ctx.shape_of_output(), window)
    if (counts == counts.flat[0]).all():
        return b.binary("div", total, float(counts.flat[0]))
    return b.binary("div", total, b.cast(b.constant(counts), x.dtype))


def _lp_pool(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    p = ctx.get("p", 2)
    powers = b.binary("pow", b.unary("abs", x), p)
    total = _pooled(b, "sum", powers, ctx.shape_of_output(), pool_window(ctx, x))
    return b.binary("pow", total, 1 / p)


def _global(name: str, ctx: NodeContext) -> Term:
    x = ctx.operand(0)
    return ctx.builder.reduce(name, x, range(2, x.rank))


def _global_lp(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    p = ctx.get("p", 2)
    return b.binary("pow", b.reduce("sum", b.binary("pow", b.unary("abs", x), p), range(2, x.rank)), 1 / p)


def _lrn(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    size = ctx.get("size")
    before = (size - 1) // 2
    around = [(0, 0)] * x.rank
    around[1] = (before, size - 1 - before)
    squares = b.pad(square(b, x), [each[0] for each in around], [each[1] for each in around])
    total = b.part(squares, 1, 0, x.shape[1])
    for shift in range(1, size):
        total = b.binary("add", total, b.part(squares, 1, shift, shift + x.shape[1]))
    scale = b.binary("add", b.binary("mul", total, ctx.get("alpha", 1e-4) / size), ctx.get("bias", 1.0))
    return b.binary("div", x, b.binary("pow", scale, ctx.get("beta", 0.75)))


def _col2im(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    image, block = ctx.numbers(1), ctx.numbers(2)
    rank = len(image)
    window = window_of(ctx, image, block, image)
    channels = x.shape[1] // prod(block)
    counts = [
        (image[a] + window["before"][a] + window["after"][a] - window["dilations"][a] * (block[a] - 1) - 1)
        // window["strides"][a]
        + 1
        for a in range(rank)
    ]
    grid = [np.arange(block[a])[:, None] * window["dilations"][a] + np.arange(counts[a]) * window["strides"][a]
            for a in range(rank)]  # fmt: skip
    padded = [image[a] + window["before"][a] + window["after"][a] for a in range(rank)]
    flat = np.zeros((*block, *counts), np.int64)
    for a in range(rank):
        shape = [1] * (2 * rank)
        shape[a], shape[rank + a] = block[a], counts[a]
        flat = flat * padded[a] + grid[a].reshape(shape)
    rows = x.shape[0] * channels
    updates = b.reshape(x, (rows, prod(block) * prod(counts)))
    places = b.expand(b.constant(flat.reshape(1, -1)), updates.shape)
    zero = b.expand(b.scalar(0, x), (rows, prod(padded)))
    summed = b.reshape(b.scatter_along(zero, places, updates, 1, "add"), (x.shape[0], channels, *padded))
    starts = [0, 0, *window["before"]]
    stops = [x.shape[0], channels, *(before + size for before, size in zip(window["before"], image, strict=True))]
    return b.slice(summed, starts, stops)


RULES: Mapping[str, Rule] = {
    "AveragePool": _average_pool,
    "Col2Im": _col2im,
    "Conv": lambda ctx: convolved(ctx, ctx.operand(0), ctx.operand(1), ctx.optional(2)),
    "ConvTranspose": _conv_transpose,
    "Einsum": lambda ctx: einsum(ctx.builder, ctx.get("equation"), ctx.operands()),
    "Gemm": _gemm,
    "GlobalAveragePool": partial(_global, "mean"),
    "GlobalLpPool": _global_lp,
    "GlobalMaxPool": partial(_global, "max"),
    "LRN": _lrn,
    "LpPool": _lp_pool,
    "MatMul": lambda ctx: product(ctx.builder, ctx.operand(0), ctx.operand(1)),
    "MaxPool": _max_pool,
}
