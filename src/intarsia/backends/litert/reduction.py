"""Primitives that put many elements into one, in LiteRT's operators: sums, products of matrices, soft maxima."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from intarsia.backends.litert.builder import Laid, ModelBuilder, last, plain
from intarsia.backends.litert.elementwise import Writer
from intarsia.backends.litert.shape import flat_places, padded
from intarsia.backends.lowering.program import Instruction

_REDUCTIONS = {
    "reduce_max": "REDUCE_MAX", "reduce_mean": "MEAN", "reduce_min": "REDUCE_MIN", "reduce_prod": "REDUCE_PROD",
    "reduce_sum": "SUM",
}  # fmt: skip


def _without(order: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """An order when some dimensions are gone."""
    return tuple(axis - sum(gone < axis for gone in axes) for axis in order if axis not in axes)


def _reduce(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    (x,) = reads
    axes, keep = each.attributes["axes"], each.attributes["keep"]
    order = x.order if keep else _without(x.order, axes)
    places = d.constant(sorted(x.place(axis) for axis in axes))
    return d.give(_REDUCTIONS[each.name], [x.tensor, places], x.dtype, each.shape, order, keepDims=keep)


def _arg(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    (x,) = reads
    axis, keep = each.attributes["axis"], each.attributes["keep"]
    name, place = ("ARG_MAX" if each.name == "argmax" else "ARG_MIN"), x.place(axis)
    shape = [size for number, size in enumerate(x.stored) if number != place]
    found = d.emit(name, [x.tensor, d.constant(place)], "int64", shape, outputType="int64")
    order = x.order if keep else _without(x.order, [axis])
    return Laid(d.reshaped(found, [each.shape[a] for a in order]), "int64", each.shape, order)


def _cumsum(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    (x,) = reads
    place = d.constant(x.place(each.attributes["axis"]))
    return d.give("CUMSUM", [x.tensor, place], x.dtype, x.shape, x.order)


def _cumprod(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    """Each element with the one before it, then with what two before have, four, eight."""
    (x,) = reads
    axis = each.attributes["axis"]
    shift = 1
    while shift < x.shape[axis]:
        sizes = [size - shift if place == axis else size for place, size in enumerate(x.shape)]
        begin, stored = d.constant([0] * x.rank), d.constant([sizes[place] for place in x.order])
        early = d.give("SLICE", [x.tensor, begin, stored], x.dtype, sizes, x.order)
        room = [shift if place == axis else 0 for place in range(x.rank)]
        x = d.compute("MUL", x, padded(d, early, room, [0] * x.rank, 1))
        shift *= 2
    return x


def _soft(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    """Over what lies last."""
    (x,) = reads
    x = d.laid(x, last(x.order, each.attributes["axis"]))
    options = {"beta": 1.0} if each.name == "softmax" else {}
    return d.give(each.name.upper(), [x.tensor], x.dtype, x.shape, x.order, **options)


def _matmul(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    x, y = reads
    order = plain(len(each.shape))
    if y.rank == 2 and d.is_known(y):
        rows = d.laid(y, (1, 0)).tensor
        return d.give("FULLY_CONNECTED", [d.flat(x), rows], x.dtype, each.shape, order, keepNumDims=True)
    turned = (*plain(y.rank - 2), y.rank - 1, y.rank - 2)
    is_turned = y.order == turned
    other = y.tensor if is_turned else d.flat(y)
    return d.give("BATCH_MATMUL", [d.flat(x), other], x.dtype, each.shape, order, adjX=False, adjY=is_turned)


def _scatter_along(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    """Element by element into a single dimension; how they are combined stands in a graph of its own."""
    x, indices, updates = reads
    places = flat_places(d, indices, x.shape, each.attributes["axis"])
    rows = d.reshaped(places, [indices.size, 1])
    tensors = [d.reshaped(d.flat(x), [x.size]), rows, d.reshaped(d.flat(updates), [updates.size])]
    options: dict[str, Any] = {
        "insertedWindowDims": [0],
        "scatterDimsToOperandDims": [0],
        "indexVectorDim": 1,
        "updateWindowDims": [],
    }
    combined = each.attributes["reduction"]
    found = d.emit("STABLEHLO_SCATTER", tensors, x.dtype, [x.size], updateComputationSubgraphIndex=combined, **options)
    return Laid(d.reshaped(found, each.shape), x.dtype, each.shape, plain(x.rank))


WRITERS: Mapping[str, Writer] = {
    **dict.fromkeys(("argmax", "argmin"), _arg),
    "cumprod": _cumprod,
    "cumsum": _cumsum,
    "matmul": _matmul,
    "scatter_along": _scatter_along,
    **dict.fromkeys(("log_softmax", "softmax"), _soft),
    **dict.fromkeys(_REDUCTIONS, _reduce),
}
