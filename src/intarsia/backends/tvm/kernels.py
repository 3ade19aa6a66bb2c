"""Each primitive of the shared lowering as a tensor expression of TVM: what an element of the result is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from types import MappingProxyType
from typing import Any

from intarsia.backends.lowering.builder import Number
from intarsia.backends.lowering.interpreter import Kernel, Tensor
from intarsia.backends.lowering.program import CONSTANT, Instruction
from intarsia.backends.tvm.elementwise import NARROW_FLOATS, SCALARS, Expr, bounded, is_nan, outermost, reducer
from intarsia.backends.tvm.schedules import TILE, VECTOR

Index = Sequence[Expr]
Maker = Callable[[Instruction, Sequence[Instruction]], Kernel]


def kernel_of(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    """What computes an instruction: placeholders to the tensor expression over them."""
    if each.name == "erf" and each.dtype in ("float32", *NARROW_FLOATS):
        return _erf(each)
    constants = [slot for slot, read in enumerate(reads) if read.name == CONSTANT]
    if each.name in ("max", "min") and constants:
        bound = constants[0]
        return _computed(each, reads, lambda *operands: bounded(each.name, operands[bound], operands[1 - bound]))
    if each.name in SCALARS:
        return _computed(each, reads, partial(SCALARS[each.name], each))
    return _MAKERS[each.name](each, reads)


def _computed(each: Instruction, reads: Sequence[Instruction], element: Callable[..., Expr]) -> Kernel:
    """Element by element, operands repeated as numpy does."""
    from tvm import te

    def run(*operands: Tensor) -> Tensor:
        def at(*index: Expr) -> Expr:
            places = (_behind(index, each.shape, read.shape) for read in reads)
            return element(*(x[place] for x, place in zip(operands, places, strict=True)))

        return te.compute(each.shape, at, each.name)

    return run


def _erf(each: Instruction) -> Kernel:
    """By TVM's own polynomials, which run in vectors; the exact function is one of C's, called for each element."""
    from tvm import te, tirx, topi

    def run(x: Tensor) -> Tensor:
        full = te.compute(each.shape, lambda *index: x[index].astype("float32"), "full")
        near = topi.fast_erf(full)

        def at(*index: Expr) -> Expr:
            return tirx.Select(is_nan(full[index], "float32"), full[index], near[index]).astype(each.dtype)

        return te.compute(each.shape, at, "erf")

    return run


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


def _reshape(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    from tvm import topi

    return lambda x: topi.reshape(x, each.shape)


def _transpose(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    from tvm import topi

    return lambda x: topi.transpose(x, each.attributes["order"])


def _slice(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    from tvm import te

    rows = list(zip(each.attributes["starts"], each.attributes["steps"], strict=True))

    def at(x: Tensor, *index: Expr) -> Expr:
        return x[tuple(start + place * step for place, (start, step) in zip(index, rows, strict=True))]

    return lambda x: te.compute(each.shape, partial(at, x), "slice")


def _concat(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    from tvm import topi

    return lambda *terms: topi.concatenate(terms, each.attributes["axis"])


def _pad(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    told = each.attributes
    return lambda x: padded(x, reads[0].shape, told["before"], told["after"], told["value"])


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


def _take(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    from tvm import te

    axis, rank, size = each.attributes["axis"], len(reads[1].shape), reads[0].shape[each.attributes["axis"]]

    def at(x: Tensor, indices: Tensor, *index: Expr) -> Expr:
        place = _held(indices[tuple(index[axis : axis + rank])], size)
        return x[(*index[:axis], place, *index[axis + rank :])]

    return lambda x, indices: te.compute(each.shape, partial(at, x, indices), "take")


def _take_along(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    from tvm import te

    axis, size = each.attributes["axis"], reads[0].shape[each.attributes["axis"]]

    def at(x: Tensor, indices: Tensor, *index: Expr) -> Expr:
        return x[(*index[:axis], _held(indices[tuple(index)], size), *index[axis + 1 :])]

    return lambda x, indices: te.compute(each.shape, partial(at, x, indices), "take_along")


def _scatter_along(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    from tvm import te, topi

    axis, shape = each.attributes["axis"], reads[1].shape
    how = {"none": "update"}.get(each.attributes["reduction"], each.attributes["reduction"])

    def run(x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        held = te.compute(shape, lambda *index: _held(indices[index], each.shape[axis]), "held")
        return topi.scatter_elements(x, held, updates, axis, how)

    return run


def _argsort(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    from tvm import topi

    axis, ascending = each.attributes["axis"], not each.attributes["descending"]
    wide = SORTED_AS.get(reads[0].dtype, reads[0].dtype)
    return lambda x: topi.argsort(x.astype(wide) if wide != reads[0].dtype else x, None, axis, ascending, "int64")


SORTED_AS: Mapping[str, str] = MappingProxyType(
    {"float16": "float32", "bfloat16": "float32", "int8": "int32", "int16": "int32", "uint8": "int32"}
    | {"uint16": "int32", "uint32": "int64", "bool": "int32"}
)
"""TVM sorts float32, float64, int32 and int64."""


# Over dimensions


def _reduce(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    from tvm import te, tirx

    axes, shape, last = each.attributes["axes"], reads[0].shape, len(reads[0].shape) - 1
    name = each.name.removeprefix("reduce_")
    wide = "float32" if each.dtype in NARROW_FLOATS and name not in ("max", "min") else each.dtype
    over = reducer("sum" if name == "mean" else name, wide)

    def run(x: Tensor) -> Tensor:
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
        return total if wide == each.dtype else te.compute(each.shape, lambda *i: total[i].astype(each.dtype), "narrow")

    return run


def _arg(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    from tvm import topi

    function, axis, keep = getattr(topi, each.name), each.attributes["axis"], each.attributes["keep"]
    return lambda x: function(x, axis, keep).astype("int64")


def _cumulate(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    from tvm import topi

    return lambda x: getattr(topi, each.name)(x, each.attributes["axis"], each.dtype)


# Layers


def _product(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    from tvm import te

    wide = "float32" if each.dtype in NARROW_FLOATS else each.dtype
    depth = reads[0].shape[-1]

    def run(a: Tensor, b: Tensor) -> Tensor:
        k = te.reduce_axis((0, depth), "k")

        def at(*index: Expr) -> Expr:
            left = a[(*_behind(index[:-2], each.shape[:-2], reads[0].shape[:-2]), index[-2], k)]
            right = b[(*_behind(index[:-2], each.shape[:-2], reads[1].shape[:-2]), k, index[-1])]
            return te.sum(left.astype(wide) * right.astype(wide), axis=k)

        rank = len(each.shape)
        return narrowed(te.compute(each.shape, at, "matmul", attrs={VECTOR: rank - 1, TILE: rank - 2}), each)

    return run


def narrowed(x: Tensor, each: Instruction) -> Tensor:
    """A sum as the instruction's type."""
    from tvm import te

    if str(x.dtype) == each.dtype:
        return x
    return te.compute(each.shape, lambda *index: x[index].astype(each.dtype), "narrow")


def _around(x: Tensor, shape: Sequence[int], told: Mapping[str, Any], value: Number = 0) -> Tensor:
    """Padding of the dimensions behind batch and channels."""
    return padded(x, shape, [0, 0, *told["before"]], [0, 0, *told["after"]], value)


def _window(index: Index, taps: Index, told: Mapping[str, Any]) -> list[Expr]:
    """Where a tap of a window lies."""
    rows = zip(index, told["strides"], taps, told["dilations"], strict=True)
    return [place * stride + tap * apart for place, stride, tap, apart in rows]


def _taps(kernel: Sequence[int]) -> list[Expr]:
    from tvm import te

    return [te.reduce_axis((0, size), f"k{axis}") for axis, size in enumerate(kernel)]


def _conv(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    """With the attribute ``turned``, weights are (in / groups, ..., out): an output's neighbours are other channels."""
    from tvm import te

    told, wide = each.attributes, "float32" if each.dtype in NARROW_FLOATS else each.dtype
    turned, rank = told.get("turned", False), len(each.shape)
    depth, *kernel = reads[1].shape[:-1] if turned else reads[1].shape[1:]
    per_group = each.shape[1] // told["groups"]
    order = {VECTOR: 1, TILE: rank - 1} if turned else {VECTOR: rank - 1, TILE: 1 if told["groups"] == 1 else rank - 2}

    def run(x: Tensor, w: Tensor) -> Tensor:
        around = _around(x, reads[0].shape, told)
        channel, taps = te.reduce_axis((0, depth), "c"), _taps(kernel)

        def at(n: Expr, out: Expr, *index: Expr) -> Expr:
            first = 0 if told["groups"] == 1 else out // per_group * depth
            seen = around[(n, first + channel, *_window(index, taps, told))]
            weight = w[(channel, *taps, out) if turned else (out, channel, *taps)]
            return te.sum(seen.astype(wide) * weight.astype(wide), axis=[channel, *taps])

        return narrowed(te.compute(each.shape, at, "conv", attrs=order), each)

    return run


def _conv_transpose(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    """Of each element of the result, the inputs that a window there would come from."""
    from tvm import te, tirx

    told, wide = each.attributes, "float32" if each.dtype in NARROW_FLOATS else each.dtype
    inputs, per_group, *kernel = reads[1].shape
    depth, sizes = inputs // told["groups"], reads[0].shape[2:]

    def run(x: Tensor, w: Tensor) -> Tensor:
        channel, taps = te.reduce_axis((0, depth), "c"), _taps(kernel)

        def at(n: Expr, out: Expr, *index: Expr) -> Expr:
            rows = zip(index, told["before"], taps, told["dilations"], strict=True)
            spread = [place + before - tap * apart for place, before, tap, apart in rows]
            places = [te.indexdiv(each, stride) for each, stride in zip(spread, told["strides"], strict=True)]
            met = [each >= 0 for each in spread]
            met += [place < size for place, size in zip(places, sizes, strict=True)]
            met += [te.indexmod(each, stride).equal(0) for each, stride in zip(spread, told["strides"], strict=True)]
            source = out // per_group * depth + channel
            seen = tirx.if_then_else(tirx.all(*met), x[(n, source, *places)], tirx.const(0, x.dtype))
            weight = w[(source, out % per_group, *taps)]
            return te.sum(seen.astype(wide) * weight.astype(wide), axis=[channel, *taps])

        order = {VECTOR: -1, TILE: -1}
        return narrowed(te.compute(each.shape, at, "conv_transpose", attrs=order), each)

    return run


def _pool(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    from tvm import te

    told, name = each.attributes, each.name.removeprefix("pool_")
    wide = "float32" if each.dtype in NARROW_FLOATS and name == "sum" else each.dtype
    filling = 0 if name == "sum" else outermost(name, each.dtype)

    def run(x: Tensor) -> Tensor:
        around = _around(x, reads[0].shape, told, filling)
        taps = _taps(told["kernel"])

        def at(n: Expr, channel: Expr, *index: Expr) -> Expr:
            seen = around[(n, channel, *_window(index, taps, told))]
            return reducer(name, wide)(seen.astype(wide), axis=taps)

        last = len(each.shape) - 1 if told["strides"][-1] == 1 else -1
        return narrowed(te.compute(each.shape, at, each.name, attrs={VECTOR: last, TILE: -1}), each)

    return run


_MAKERS: Mapping[str, Maker] = MappingProxyType(
    {
        "argmax": _arg,
        "argmin": _arg,
        "argsort": _argsort,
        "concat": _concat,
        "conv": _conv,
        "conv_transpose": _conv_transpose,
        "cumprod": _cumulate,
        "cumsum": _cumulate,
        "matmul": _product,
        "pad": _pad,
        "pool_max": _pool,
        "pool_sum": _pool,
        "reduce_max": _reduce,
        "reduce_mean": _reduce,
        "reduce_min": _reduce,
        "reduce_prod": _reduce,
        "reduce_sum": _reduce,
        "reshape": _reshape,
        "scatter_along": _scatter_along,
        "slice": _slice,
        "take": _take,
        "take_along": _take_along,
        "transpose": _transpose,
    }
)
