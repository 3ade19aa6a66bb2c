"""Primitives that move elements, find them by index, or put several into one, in LiteRT's operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import numpy as np

from intarsia.backends.litert.builder import Laid, ModelBuilder, Order, last, plain, solid
from intarsia.backends.litert.elementwise import Writer
from intarsia.backends.lowering.program import Instruction

Axes = tuple[int, ...]


def _chunks(old: Sequence[int], new: Sequence[int]) -> Iterator[tuple[Axes, Axes]]:
    """Dimensions of two shapes of the same elements, in the smallest groups that hold as many; those of 1 in none."""
    left = [axis for axis, size in enumerate(old) if size != 1]
    right = [axis for axis, size in enumerate(new) if size != 1]
    while left:
        sides: tuple[list[int], list[int]] = ([left.pop(0)], [right.pop(0)])
        while (one := prod(old[axis] for axis in sides[0])) != (other := prod(new[axis] for axis in sides[1])):
            if one < other:
                sides[0].append(left.pop(0))
            else:
                sides[1].append(right.pop(0))
        yield tuple(sides[0]), tuple(sides[1])


def _with_ones(order: Sequence[int], rank: int) -> Order:
    """An order, and dimensions of one element that it lacks: each lies behind the dimension that is counted before."""
    full = list(order)
    for axis in range(rank):
        if axis not in order:
            full.insert(full.index(axis - 1) + 1 if axis else 0, axis)
    return tuple(full)


def _reshape(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    """Dimensions that are put together are brought to lie one behind the other; the rest stays where it lies."""
    (x,) = reads
    rank = len(each.shape)
    if 0 in each.shape:
        return Laid(d.reshaped(d.flat(x), each.shape), x.dtype, each.shape, plain(rank))
    chunks = sorted(_chunks(x.shape, each.shape), key=lambda pair: min(map(x.place, pair[0])))
    before = [axis for pair in chunks for axis in pair[0]]
    after = _with_ones([axis for pair in chunks for axis in pair[1]], rank)
    lying = x.tensor if before == solid(x.shape, x.order) else d.laid(x, _with_ones(before, x.rank)).tensor
    return Laid(d.reshaped(lying, [each.shape[axis] for axis in after]), x.dtype, each.shape, after)


def _transpose(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    (x,) = reads
    wanted = list(each.attributes["order"])
    return Laid(x.tensor, x.dtype, each.shape, tuple(wanted.index(axis) for axis in x.order))


def _expand(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    (x,) = reads
    more = len(each.shape) - x.rank
    order = (*range(more), *(axis + more for axis in x.order))
    stored = d.constant([each.shape[axis] for axis in order])
    return d.give("BROADCAST_TO", [x.tensor, stored], x.dtype, each.shape, order)


def _slice(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    (x,) = reads
    attributes = each.attributes
    starts, stops, steps = ([attributes[name][axis] for axis in x.order] for name in ("starts", "stops", "steps"))
    if all(step == 1 for step in steps):
        stored = [each.shape[axis] for axis in x.order]
        return d.give("SLICE", [x.tensor, d.constant(starts), d.constant(stored)], x.dtype, each.shape, x.order)
    # A stop of -1 would be counted from the end: there it goes on to the first element.
    whole = sum(1 << place for place, stop in enumerate(stops) if stop < 0)
    bounds = [d.constant(each) for each in (starts, stops, steps)]
    return d.give("STRIDED_SLICE", [x.tensor, *bounds], x.dtype, each.shape, x.order, endMask=whole)


def _concat(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    order = max(reads, key=lambda value: (not d.is_known(value), value.size, not value.is_plain)).order
    tensors = [d.laid(value, order).tensor for value in reads if value.size]
    axis = order.index(each.attributes["axis"])
    return d.give("CONCATENATION", tensors, each.dtype, each.shape, order, axis=axis)


def padded(d: ModelBuilder, x: Laid, before: Sequence[int], after: Sequence[int], value: float = 0) -> Laid:
    """A value with more elements at both ends of each dimension."""
    if not any(before) and not any(after):
        return x
    widths = d.constant([(before[axis], after[axis]) for axis in x.order])
    grown = tuple(size + one + other for size, one, other in zip(x.shape, before, after, strict=True))
    if value == 0:
        return d.give("PAD", [x.tensor, widths], x.dtype, grown, x.order)
    return d.give("PADV2", [x.tensor, widths, d.constant([value], x.dtype)], x.dtype, grown, x.order)


def _take(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    x, indices = reads
    axis, more = each.attributes["axis"], indices.rank
    order: list[int] = []
    for lying in x.order:
        order += range(axis, axis + more) if lying == axis else [lying + (more - 1 if lying > axis else 0)]
    return d.give("GATHER", [x.tensor, d.flat(indices)], x.dtype, each.shape, tuple(order), axis=x.place(axis))


def flat_places(d: ModelBuilder, indices: Laid, shape: Sequence[int], axis: int) -> int:
    """Where elements found by an index along one dimension lie, all dimensions made one."""
    strides = [prod(shape[place + 1 :]) for place in range(len(shape))]
    base = np.zeros([1 if place == axis else size for place, size in enumerate(indices.shape)], np.int64)
    for place, size in enumerate(base.shape):
        base += (np.arange(size) * strides[place]).reshape([-1 if other == place else 1 for other in plain(base.ndim)])
    start = Laid(d.constant(base, indices.dtype), indices.dtype, base.shape, plain(base.ndim))
    places = d.compute("ADD", d.compute("MUL", indices, strides[axis]), start)
    return d.reshaped(d.flat(places), [indices.size])


def _take_along(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    x, indices = reads
    places = flat_places(d, indices, x.shape, each.attributes["axis"])
    rows = d.reshaped(d.flat(x), [x.size])
    found = d.emit("GATHER", [rows, places], x.dtype, [indices.size], axis=0)
    return Laid(d.reshaped(found, each.shape), x.dtype, each.shape, plain(len(each.shape)))


def _opposite(d: ModelBuilder, x: Laid) -> Laid:
    """What is in the other order. The least of whole numbers has no negative, but all have a complement."""
    ones = {"int8": -1, "int16": -1, "int32": -1, "uint8": 255}.get(x.dtype)
    return d.compute("NEG", x) if ones is None else d.compute("BITWISE_XOR", x, ones)


def _argsort(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    """Sorted downwards; upwards by what is greatest the other way round, so that equal elements keep their order."""
    (x,) = reads
    axis = each.attributes["axis"]
    turned = x if each.attributes["descending"] else _opposite(d, x)
    lying = d.laid(turned, last(plain(x.rank), axis))
    size = d.constant(x.shape[axis])
    first = d.emit("TOPK_V2", [lying.tensor, size], x.dtype, lying.stored, more=1)
    order = Laid(first + 1, "int32", x.shape, lying.order)
    return d.compute("CAST", order, dtype="int64", inDataType="int32", outDataType="int64")


WRITERS: Mapping[str, Writer] = {
    "argsort": _argsort,
    "concat": _concat,
    "expand": _expand,
    "pad": lambda d, each, reads: padded(d, reads[0], **each.attributes),
    "reshape": _reshape,
    "slice": _slice,
    "take": _take,
    "take_along": _take_along,
    "transpose": _transpose,
}
