"""Operators that sum up over dimensions, and the normalisations made of such sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from intarsia.backends.lowering.builder import Builder
from intarsia.backends.lowering.composites import log_softmax, normalised, per_channel, reciprocal, softmax, square
from intarsia.backends.lowering.node_context import NodeContext, Rule, axes_of, axis_of
from intarsia.backends.lowering.program import Term, UnsupportedError


def _axes(ctx: NodeContext, x: Term) -> list[int]:
    axes = ctx.numbers(1) if ctx.has(1) else None
    if not axes:
        return [] if ctx.get("noop_with_empty_axes", 0) else list(range(x.rank))
    return axes_of(axes, x.rank)


def _reduced(over: Callable[[Builder, Term, Sequence[int], bool], Term], ctx: NodeContext) -> Term:
    x = ctx.operand(0)
    if 0 in x.shape:
        raise UnsupportedError("a reduction of no elements")
    return over(ctx.builder, x, _axes(ctx, x), bool(ctx.get("keepdims", 1)))


def _plain(name: str) -> Rule:
    return partial(_reduced, lambda b, x, axes, keep: b.reduce(name, x, axes, keep))


def _extreme(name: str) -> Rule:
    def over(b: Builder, x: Term, axes: Sequence[int], keep: bool) -> Term:
        if x.dtype != "bool":
            return b.reduce(name, x, axes, keep)
        return b.cast(b.reduce(name, b.cast(x, "uint8"), axes, keep), "bool")

    return partial(_reduced, over)


def _l1(b: Builder, x: Term, axes: Sequence[int], keep: bool) -> Term:
    return b.reduce("sum", b.unary("abs", x), axes, keep)


def _sum_square(b: Builder, x: Term, axes: Sequence[int], keep: bool) -> Term:
    return b.reduce("sum", square(b, x), axes, keep)


def _l2(b: Builder, x: Term, axes: Sequence[int], keep: bool) -> Term:
    return b.unary("sqrt", _sum_square(b, x, axes, keep))


def _log_sum_exp(b: Builder, x: Term, axes: Sequence[int], keep: bool) -> Term:
    most = b.reduce("max", x, axes)
    total = b.unary("log", b.reduce("sum", b.unary("exp", b.binary("sub", x, most)), axes))
    found = b.binary("add", total, most)
    return found if keep else b.reshape(found, [size for axis, size in enumerate(x.shape) if axis not in axes])


def _mean(b: Builder, x: Term, axes: Sequence[int], keep: bool) -> Term:
    if not x.is_float:
        raise UnsupportedError(f"a mean of {x.dtype}")
    return b.reduce("mean", x, axes, keep)


def _cumulated(name: str) -> Rule:
    def rule(ctx: NodeContext) -> Term:
        b, x = ctx.builder, ctx.operand(0)
        axis = axis_of(ctx.numbers(1)[0], x.rank)
        x = b.flip(x, axis) if ctx.get("reverse", 0) else x
        found = b.cumulate(name, x, axis)
        if ctx.get("exclusive", 0):
            before = [int(place == axis) for place in range(x.rank)]
            kept = b.part(found, axis, 0, x.shape[axis] - 1)
            found = b.pad(kept, before, [0] * x.rank, 0 if name == "sum" else 1)
        return b.flip(found, axis) if ctx.get("reverse", 0) else found

    return rule


def _soft(of: Callable[[Builder, Term, int], Term]) -> Rule:
    def rule(ctx: NodeContext) -> Term:
        x = ctx.operand(0)
        return of(ctx.builder, x, axis_of(ctx.get("axis", -1), x.rank))

    return rule


def _batch_normalization(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    if ctx.get("training_mode", 0):
        raise UnsupportedError("training")
    scale, shift, mean, variance = (b.cast(ctx.operand(place), x.dtype) for place in range(1, 5))
    inverse = reciprocal(b, b.unary("sqrt", b.binary("add", variance, ctx.get("epsilon", 1e-5))))
    factor = b.binary("mul", scale, inverse)
    offset = b.binary("sub", shift, b.binary("mul", mean, factor))
    return b.binary("add", b.binary("mul", x, per_channel(b, factor, x.rank)), per_channel(b, offset, x.rank))


def _in_full(b: Builder, x: Term) -> Term:
    """As float32 where it is less: what sums of squares are computed in."""
    return b.cast(x, "float32") if x.dtype in ("float16", "bfloat16") else x


def _instance_normalization(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    full, _, _ = normalised(b, _in_full(b, x), range(2, x.rank), ctx.get("epsilon", 1e-5))
    scale, shift = (per_channel(b, ctx.operand(place), x.rank) for place in (1, 2))
    return b.binary("add", b.binary("mul", b.cast(full, x.dtype), scale), shift)


def _layer_normalization(ctx: NodeContext) -> list[Term | None]:
    b, x = ctx.builder, ctx.operand(0)
    axis = axis_of(ctx.get("axis", -1), x.rank)
    epsilon = ctx.get("epsilon", 1e-5)
    scale, shift = ctx.operand(1), ctx.optional(2)
    if "layer_norm" in b.natives and not ctx.wants(1) and not ctx.wants(2) and scale.shape == x.shape[axis:]:
        reads = [x, scale] if shift is None else [x, scale, shift]
        return [b.emit("layer_norm", reads, x.dtype, x.shape, axis=axis, epsilon=epsilon)]
    full, mean, inverse = normalised(b, _in_full(b, x), range(axis, x.rank), epsilon)
    found = b.binary("mul", b.cast(full, x.dtype), scale)
    return [found if shift is None else b.binary("add", found, shift), mean, inverse]


def _rms_normalization(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    axes = range(axis_of(ctx.get("axis", -1), x.rank), x.rank)
    full = _in_full(b, x)
    variance = b.binary("add", b.reduce("mean", square(b, full), axes), ctx.get("epsilon", 1e-5))
    scaled = b.binary("mul", full, reciprocal(b, b.unary("sqrt", variance)))
    return b.binary("mul", b.cast(scaled, x.dtype), ctx.operand(1))


def _group_normalization(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    groups = ctx.get("num_groups")
    parted = b.reshape(_in_full(b, x), (x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]))
    full, _, _ = normalised(b, parted, range(2, parted.rank), ctx.get("epsilon", 1e-5))
    scale, shift = (per_channel(b, ctx.operand(place), x.rank) for place in (1, 2))
    return b.binary("add", b.binary("mul", b.cast(b.reshape(full, x.shape), x.dtype), scale), shift)


def _mean_variance(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    axes = axes_of(ctx.get("axes", (0, 2, 3)), x.rank)
    centred = b.binary("sub", x, b.reduce("mean", x, axes))
    deviation = b.unary("sqrt", b.reduce("mean", square(b, centred), axes))
    return b.binary("div", centred, b.binary("add", deviation, 1e-9))


def _lp_normalization(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    over = _l1 if ctx.get("p", 2) == 1 else _l2
    length = over(b, x, [axis_of(ctx.get("axis", -1), x.rank)], True)
    safe = b.where(b.compare("eq", length, 0), b.scalar(1, x), length)
    return b.binary("div", x, safe)


RULES: Mapping[str, Rule] = {
    "BatchNormalization": _batch_normalization,
    "CumProd": _cumulated("prod"),
    "CumSum": _cumulated("sum"),
    "GroupNormalization": _group_normalization,
    "InstanceNormalization": _instance_normalization,
    "LayerNormalization": _layer_normalization,
    "LogSoftmax": _soft(log_softmax),
    "LpNormalization": _lp_normalization,
    "MeanVarianceNormalization": _mean_variance,
    "RMSNormalization": _rms_normalization,
    "ReduceL1": partial(_reduced, _l1),
    "ReduceL2": partial(_reduced, _l2),
    "ReduceLogSum": partial(_reduced, lambda b, x, axes, keep: b.unary("log", b.reduce("sum", x, axes, keep))),
    "ReduceLogSumExp": partial(_reduced, _log_sum_exp),
    "ReduceMax": _extreme("max"),
    "ReduceMean": partial(_reduced, _mean),
    "ReduceMin": _extreme("min"),
    "ReduceProd": _plain("prod"),
    "ReduceSum": _plain("sum"),
    "ReduceSumSquare": partial(_reduced, _sum_square),
    "Softmax": _soft(softmax),
}
