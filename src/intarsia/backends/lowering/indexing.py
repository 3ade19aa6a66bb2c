"""Operators that find elements by index, and those that put them in order."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from intarsia.backends.lowering.builder import Builder, along_axis
from intarsia.backends.lowering.node_context import NodeContext, Rule, axis_of
from intarsia.backends.lowering.program import Term, UnsupportedError


def _counted(b: Builder, indices: Term, size: Term | int) -> Term:
    """Indices into so many elements, counted from the front, as int64."""
    wide = b.cast(indices, "int64")
    return b.where(b.compare("lt", wide, 0), b.binary("add", wide, size), wide)


def _indices(ctx: NodeContext, position: int, size: int) -> Term:
    """An input's indices from the front; those known beforehand are counted there and then."""
    name = ctx.node.inputs[position]
    if name in ctx.graph.weights and prod(ctx.graph.weights[name].shape) <= 1 << 16:
        known = ctx.known(position).astype(np.int64)
        return ctx.builder.constant(np.where(known < 0, known + size, known))
    return _counted(ctx.builder, ctx.operand(position), size)


def _at(ctx: NodeContext) -> tuple[Term, Term, int]:
    """What is looked into, the indices, and along which dimension."""
    x = ctx.operand(0)
    axis = axis_of(ctx.get("axis", 0), x.rank)
    return x, _indices(ctx, 1, x.shape[axis]), axis


def _scatter_elements(ctx: NodeContext) -> Term:
    x, indices, axis = _at(ctx)
    return ctx.builder.scatter_along(x, indices, ctx.operand(2), axis, ctx.get("reduction", "none"))


def _flat(b: Builder, indices: Term, shape: tuple[int, ...]) -> Term:
    """Rows of indices, one for each of the first dimensions, as one index into those made one."""
    strides = [prod(shape[place + 1 :]) for place in range(len(shape))]
    counted = _counted(b, indices, b.constant(np.array(shape, np.int64)))
    weighted = b.binary("mul", counted, b.constant(np.array(strides, np.int64)))
    return b.reduce("sum", weighted, [indices.rank - 1], keep=False)


def _gather_nd(ctx: NodeContext) -> Term:
    b, x, indices = ctx.builder, ctx.operand(0), ctx.operand(1)
    batch = ctx.get("batch_dims", 0)
    depth = indices.shape[-1]
    lead, found = x.shape[batch : batch + depth], x.shape[batch + depth :]
    if not depth:
        raise UnsupportedError("indices of no dimension")
    flat = _flat(b, indices, lead)
    batches = prod(x.shape[:batch])
    if batch:
        each = b.reshape(flat, (batches, prod(flat.shape) // max(1, batches)))
        base = np.arange(batches, dtype=np.int64)[:, None] * prod(lead)
        flat = b.binary("add", each, b.constant(base))
    rows = b.reshape(x, (batches * prod(lead), *found))
    return b.reshape(b.take(rows, b.reshape(flat, (prod(flat.shape),)), 0), ctx.shape_of_output())


def _scatter_nd(ctx: NodeContext) -> Term:
    b, x, indices, updates = ctx.builder, ctx.operand(0), ctx.operand(1), ctx.operand(2)
    depth = indices.shape[-1]
    lead, rest = x.shape[:depth], prod(x.shape[depth:])
    rows = prod(indices.shape[:-1])
    flat = b.reshape(_flat(b, indices, lead), (rows, 1))
    found = b.scatter_along(
        b.reshape(x, (prod(lead), rest)),
        b.expand(flat, (rows, rest)),
        b.reshape(updates, (rows, rest)),
        0,
        ctx.get("reduction", "none"),
    )
    return b.reshape(found, x.shape)


def _compress(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    axis = ctx.get("axis")
    kept = np.flatnonzero(ctx.known(1)).astype(np.int64)
    if axis is None:
        return b.take(b.reshape(x, (prod(x.shape),)), b.constant(kept), 0)
    return b.take(x, b.constant(kept), axis_of(axis, x.rank))


def _equal_place(b: Builder, indices: Term, axis: int) -> Term:
    """Where an element's own place along a dimension is the index that it holds."""
    size = indices.shape[axis]
    places = np.arange(size, dtype=np.int64).reshape(along_axis(size, axis, indices.rank))
    return b.compare("eq", indices, b.constant(places))


def _one_hot(ctx: NodeContext) -> Term:
    b = ctx.builder
    indices, values = ctx.operand(0), ctx.operand(2)
    shape = ctx.shape_of_output()
    axis = axis_of(ctx.get("axis", -1), len(shape))
    depth = shape[axis]
    places = _counted(b, b.reshape(indices, (*indices.shape[:axis], 1, *indices.shape[axis:])), depth)
    hit = _equal_place(b, b.expand(places, shape), axis)
    off, on = (b.reshape(b.part(values, 0, place, place + 1), ()) for place in range(2))
    return b.where(hit, on, off)


def _reverse_sequence(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    lengths = ctx.known(1).astype(np.int64)
    time, batch = ctx.get("time_axis", 0), ctx.get("batch_axis", 1)
    steps = np.tile(np.arange(x.shape[time], dtype=np.int64), (x.shape[batch], 1))
    for row, length in zip(steps, lengths, strict=True):
        row[:length] = row[:length][::-1]
    order = steps if batch < time else steps.T
    shape = [size if axis in (time, batch) else 1 for axis, size in enumerate(x.shape)]
    return b.take_along(x, b.expand(b.constant(order.reshape(shape)), x.shape), time)


def _top_k(ctx: NodeContext) -> list[Term]:
    b, x = ctx.builder, ctx.operand(0)
    axis = axis_of(ctx.get("axis", -1), x.rank)
    count = ctx.numbers(1)[0]
    order = b.part(b.argsort(x, axis, bool(ctx.get("largest", 1))), axis, 0, count)
    return [b.take_along(x, order, axis), order]


def _arg(name: str) -> Rule:
    def rule(ctx: NodeContext) -> Term:
        b, x = ctx.builder, ctx.operand(0)
        axis, keep = axis_of(ctx.get("axis", 0), x.rank), bool(ctx.get("keepdims", 1))
        if not ctx.get("select_last_index", 0):
            return b.arg(name, x, axis, keep)
        from_behind = b.arg(name, b.flip(x, axis), axis, keep)
        return b.binary("sub", b.scalar(x.shape[axis] - 1, from_behind), from_behind)

    return rule


def _hardmax(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    axis = axis_of(ctx.get("axis", -1), x.rank)
    return b.cast(_equal_place(b, b.expand(b.arg("max", x, axis, True), x.shape), axis), x.dtype)


RULES: Mapping[str, Rule] = {
    "ArgMax": _arg("max"),
    "ArgMin": _arg("min"),
    "Compress": _compress,
    "Gather": lambda ctx: ctx.builder.take(*_at(ctx)),
    "GatherElements": lambda ctx: ctx.builder.take_along(*_at(ctx)),
    "GatherND": _gather_nd,
    "Hardmax": _hardmax,
    "OneHot": _one_hot,
    "ReverseSequence": _reverse_sequence,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "TopK": _top_k,
}
