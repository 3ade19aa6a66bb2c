"""Each primitive of the shared lowering as a tensor expression of TVM: what an element of the result is.

A primitive is a function of the instruction, of those it reads (whose shapes are plain numbers), and of placeholders.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

from intarsia.backends.lowering.builder import Number
from intarsia.backends.lowering.interpreter import Kernel, Tensor
from intarsia.backends.lowering.program import CONSTANT, Attributes, Instruction
from intarsia.backends.tvm.elementwise import NARROW_FLOATS, SCALARS, Expr, bounded, is_nan, outermost, reducer
from intarsia.backends.tvm.schedules import TILE, VECTOR

Index = Sequence[Expr]
Reads = Sequence[Instruction]


def kernel_of(each: Instruction, reads: Reads) -> Kernel:
    """What computes an instruction: placeholders to the tensor expression over them."""
    from tvm import tirx

    if each.name == "erf" and each.dtype in ("float32", *NARROW_FLOATS):
        return partial(_erf, each)
    constants = [slot for slot, read in enumerate(reads) if read.name == CONSTANT]
    if each.name in ("max", "min") and constants:
        bound = constants[0]
        return partial(_computed, each, reads, lambda *x: bounded(tirx, each.name, x[bound], x[1 - bound]))
    if each.name in SCALARS:
        return partial(_computed, each, reads, partial(SCALARS[each.name], tirx, each))
    return partial(_OTHERS[each.name], each, reads)


def _te() -> Any:
    from tvm import te

    return te


def _topi() -> Any:
    from tvm import topi

    return topi


def _wide(each: Instruction) -> str:
    """What sums are computed in."""
    return "float32" if each.dtype in NARROW_FLOATS else each.dtype


def _computed(each: Instruction, reads: Reads, element: Callable[..., Expr], *operands: Tensor) -> Tensor:
    """Element by element, operands repeated as numpy does."""

    def at(*index: Expr) -> Expr:
        places = (_behind(index, each.shape, read.shape) for read in reads)
        return element(*(x[place] for x, place in zip(operands, places, strict=True)))

    return _te().compute(each.shape, at, each.name)


def _erf(each: Instruction, x: Tensor) -> Tensor:
    """By TVM's own polynomials, which run in vectors; the exact function is one of C's, called for each element."""
    from tvm import te, tirx

    full = te.compute(each.shape, lambda *index: x[index].astype("float32"), "full")
    near = _topi().fast_erf(full)

    def at(*index: Expr) -> Expr:
        return tirx.Select(is_nan(tirx, full[index], "float32"), full[index], near[index]).astype(each.dtype)

    return te.compute(each.shape, at, "erf")


def filled(each: Instruction, number: Number) -> Tensor:
    """A tensor of one number."""
    from tvm import te, tirx

    return te.compute(each.shape, lambda *_: tirx.const(number, each.dtype), "number")


def _behind(index: Index, whole: Sequence[int], shape: Sequence[int]) -> tuple[Expr, ...]:
    """The part of an index into a whole that counts for an operand of this shape, which is repeated to it."""
    first = len(whole) - len(shape)
    rows = zip(index[first:], whole[first:], shape, strict=True)
    # TVM fuses what reads at the very index that it writes: a 0 is put only where something is repeated.
    return tuple(place if size == own else 0 for place, size, own in rows)


# Shape and index


def _slice(each: Instruction, reads: Reads, x: Tensor) -> Tensor:
    rows = list(zip(each.attributes["starts"], each.attributes["steps"], strict=True))

    def at(*index: Expr) -> Expr:
        return x[tuple(start + place * step for place, (start, step) in zip(index, rows, strict=True))]

    return _te().compute(each.shape, at, "slice")


def padded(x: Tensor, shape: Sequence[int], before: Sequence[int], after: Sequence[int], value: Number = 0) -> Tensor:
    """More elements of this value around it."""
    from tvm import te, tirx

    around = tirx.const(value, x.dtype)
    sizes = [size + b + a for size, b, a in zip(shape, before, after, strict=True)]

    def at(*index: Expr) -> Expr:
        inside = [
            condition
            for place, size, b, a in zip(index, shape, before, after, strict=True)
            for condition in ([place >= b] if b else []) + ([place < size + b] if a else [])
        ]
        moved = x[tuple(place - b for place, b in zip(index, before, strict=True))]
        return tirx.if_then_else(tirx.all(*inside), moved, around)

    return te.compute(sizes, at, "pad") if any((*before, *after)) else x


def _held(index: Expr, size: int) -> Expr:
    """An index that lies within the dimension, so that no wrong one reads or writes what is not ours."""
    from tvm import tirx

    return tirx.max(tirx.const(0, "int64"), tirx.min(index, tirx.const(size - 1, "int64")))


def _take(each: Instruction, reads: Reads, x: Tensor, indices: Tensor) -> Tensor:
    axis, rank, size = each.attributes["axis"], len(reads[1].shape), reads[0].shape[each.attributes["axis"]]

    def at(*index: Expr) -> Expr:
        place = _held(indices[tuple(index[axis : axis + rank])], size)
        return x[(*index[:axis], place, *index[axis + rank :])]

    return _te().compute(each.shape, at, "take")


def _take_along(each: Instruction, reads: Reads, x: Tensor, indices: Tensor) -> Tensor:
    axis, size = each.attributes["axis"], reads[0].shape[each.attributes["axis"]]

    def at(*index: Expr) -> Expr:
        return x[(*index[:axis], _held(indices[tuple(index)], size), *index[axis + 1 :])]

    return _te().compute(each.shape, at, "take_along")


def _scatter_along(each: Instruction, reads: Reads, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    axis, reduction = each.attributes["axis"], each.attributes["reduction"]
    held = _te().compute(reads[1].shape, lambda *index: _held(indices[index], each.shape[axis]), "held")
    return _topi().scatter_elements(x, held, updates, axis, "update" if reduction == "none" else reduction)


def _argsort(each: Instruction, reads: Reads, x: Tensor) -> Tensor:
    axis, ascending, dtype = each.attributes["axis"], not each.attributes["descending"], reads[0].dtype
    wide = SORTED_AS.get(dtype, dtype)
    return _topi().argsort(x.astype(wide) if wide != dtype else x, None, axis, ascending, "int64")


SORTED_AS: Mapping[str, str] = {
    "float16": "float32", "bfloat16": "float32", "int8": "int32", "int16": "int32", "uint8": "int32",
    "uint16": "int32", "uint32": "int64", "bool": "int32",
}  # fmt: skip
"""TVM sorts float32, float64, int32 and int64."""


# Over dimensions


def _reduce(each: Instruction, reads: Reads, x: Tensor) -> Tensor:
    from tvm import te, tirx

    axes, shape, last = each.attributes["axes"], reads[0].shape, len(reads[0].shape) - 1
    name = each.name.removeprefix("reduce_")
    wide = each.dtype if name in ("max", "min") else _wide(each)
    over = reducer("sum" if name == "mean" else name, wide)
    inner = {axis: te.reduce_axis((0, shape[axis]), f"r{axis}") for axis in axes}

    def at(*index: Expr) -> Expr:
        whole = list(index)
        if not each.attributes["keep"]:
            for axis in axes:  # in rising order
                whole.insert(axis, None)
        place = tuple(inner.get(axis, outer) for axis, outer in enumerate(whole))
        return over(x[place].astype(wide), axis=list(inner.values()))

    total = te.compute(each.shape, at, each.name, attrs={VECTOR: -1 if last in axes else len(each.shape) - 1})
    if name == "mean":
        part = tirx.const(prod(shape[axis] for axis in axes), wide)
        return te.compute(each.shape, lambda *index: (total[index] / part).astype(each.dtype), "mean")
    return narrowed(total, each)


def _arg(each: Instruction, reads: Reads, x: Tensor) -> Tensor:
    return getattr(_topi(), each.name)(x, each.attributes["axis"], each.attributes["keep"]).astype("int64")


def _cumulate(each: Instruction, reads: Reads, x: Tensor) -> Tensor:
    return getattr(_topi(), each.name)(x, each.attributes["axis"], each.dtype)


# Layers


def _product(each: Instruction, reads: Reads, a: Tensor, b: Tensor) -> Tensor:
    te, rank, wide = _te(), len(each.shape), _wide(each)
    k = te.reduce_axis((0, reads[0].shape[-1]), "k")

    def at(*index: Expr) -> Expr:
        left = a[(*_behind(index[:-2], each.shape[:-2], reads[0].shape[:-2]), index[-2], k)]
        right = b[(*_behind(index[:-2], each.shape[:-2], reads[1].shape[:-2]), k, index[-1])]
        return te.sum(left.astype(wide) * right.astype(wide), axis=k)

    return narrowed(te.compute(each.shape, at, "matmul", attrs={VECTOR: rank - 1, TILE: rank - 2}), each)


def narrowed(x: Tensor, each: Instruction) -> Tensor:
    """A sum as the instruction's type."""
    if str(x.dtype) == each.dtype:
        return x
    return _te().compute(each.shape, lambda *index: x[index].astype(each.dtype), "narrow")


def _around(x: Tensor, shape: Sequence[int], attrs: Attributes, value: Number = 0) -> Tensor:
    """Padding of the dimensions behind batch and channels."""
    return padded(x, shape, [0, 0, *attrs["before"]], [0, 0, *attrs["after"]], value)


def _window(index: Index, taps: Index, attrs: Attributes) -> list[Expr]:
    """Where a tap of a window lies."""
    rows = zip(index, attrs["strides"], taps, attrs["dilations"], strict=True)
    return [place * stride + tap * apart for place, stride, tap, apart in rows]


def _taps(kernel: Sequence[int]) -> list[Expr]:
    return [_te().reduce_axis((0, size), f"k{axis}") for axis, size in enumerate(kernel)]


def _conv(each: Instruction, reads: Reads, x: Tensor, w: Tensor) -> Tensor:
    """With the attribute ``turned``, weights are (in / groups, ..., out): an output's neighbours are other channels."""
    te, attrs, wide = _te(), each.attributes, _wide(each)
    turned, rank = attrs.get("turned", False), len(each.shape)
    depth, *kernel = reads[1].shape[:-1] if turned else reads[1].shape[1:]
    per_group = each.shape[1] // attrs["groups"]
    order = {VECTOR: 1, TILE: rank - 1} if turned else {VECTOR: rank - 1, TILE: 1 if attrs["groups"] == 1 else rank - 2}
    around = _around(x, reads[0].shape, attrs)
    channel, taps = te.reduce_axis((0, depth), "c"), _taps(kernel)

    def at(n: Expr, out: Expr, *index: Expr) -> Expr:
        first = 0 if attrs["groups"] == 1 else out // per_group * depth
        seen = around[(n, first + channel, *_window(index, taps, attrs))]
        weight = w[(channel, *taps, out) if turned else (out, channel, *taps)]
        return te.sum(seen.astype(wide) * weight.astype(wide), axis=[channel, *taps])

    return narrowed(te.compute(each.shape, at, "conv", attrs=order), each)


def _conv_transpose(each: Instruction, reads: Reads, x: Tensor, w: Tensor) -> Tensor:
    """Of each element of the result, the inputs that a window there would come from."""
    from tvm import te, tirx

    attrs, wide = each.attributes, _wide(each)
    inputs, per_group, *kernel = reads[1].shape
    depth, sizes = inputs // attrs["groups"], reads[0].shape[2:]
    channel, taps = te.reduce_axis((0, depth), "c"), _taps(kernel)

    def at(n: Expr, out: Expr, *index: Expr) -> Expr:
        rows = zip(index, attrs["before"], taps, attrs["dilations"], strict=True)
        spread = [place + before - tap * apart for place, before, tap, apart in rows]
        places = [te.indexdiv(each, stride) for each, stride in zip(spread, attrs["strides"], strict=True)]
        met = [each >= 0 for each in spread]
        met += [place < size for place, size in zip(places, sizes, strict=True)]
        met += [te.indexmod(each, stride).equal(0) for each, stride in zip(spread, attrs["strides"], strict=True)]
        source = out // per_group * depth + channel
        seen = tirx.if_then_else(tirx.all(*met), x[(n, source, *places)], tirx.const(0, x.dtype))
        weight = w[(source, out % per_group, *taps)]
        return te.sum(seen.astype(wide) * weight.astype(wide), axis=[channel, *taps])

    return narrowed(te.compute(each.shape, at, "conv_transpose", attrs={VECTOR: -1, TILE: -1}), each)


def _pool(each: Instruction, reads: Reads, x: Tensor) -> Tensor:
    from tvm import te, tirx

    attrs, name = each.attributes, each.name.removeprefix("pool_")
    wide, filling = (_wide(each), 0) if name == "sum" else (each.dtype, outermost(tirx, name, each.dtype))
    around = _around(x, reads[0].shape, attrs, filling)
    taps = _taps(attrs["kernel"])

    def at(n: Expr, channel: Expr, *index: Expr) -> Expr:
        seen = around[(n, channel, *_window(index, taps, attrs))]
        return reducer(name, wide)(seen.astype(wide), axis=taps)

    last = len(each.shape) - 1 if attrs["strides"][-1] == 1 else -1
    return narrowed(te.compute(each.shape, at, each.name, attrs={VECTOR: last, TILE: -1}), each)


_OTHERS: Mapping[str, Callable[..., Tensor]] = {
    **dict.fromkeys(("argmax", "argmin"), _arg),
    "argsort": _argsort,
    "concat": lambda each, _, *terms: _topi().concatenate(terms, each.attributes["axis"]),
    "conv": _conv,
    "conv_transpose": _conv_transpose,
    **dict.fromkeys(("cumprod", "cumsum"), _cumulate),
    "matmul": _product,
    "pad": lambda each, reads, x: padded(x, reads[0].shape, **each.attributes),
    **dict.fromkeys(("pool_max", "pool_sum"), _pool),
    **dict.fromkeys(("reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum"), _reduce),
    "reshape": lambda each, _, x: _topi().reshape(x, each.shape),
    "scatter_along": _scatter_along,
    "slice": _slice,
    "take": _take,
    "take_along": _take_along,
    "transpose": lambda each, _, x: _topi().transpose(x, each.attributes["order"]),
}
"""Primitives that need more than the elements at one place."""
