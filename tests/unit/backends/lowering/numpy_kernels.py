"""Each primitive of the lowering in numpy, as plainly as it can be said: what the lowering is tested with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import erf, prod
from typing import Any

import numpy as np

from intarsia.backends.lowering.interpreter import Kernel
from intarsia.backends.lowering.program import Instruction
from intarsia.graph.dtypes import numpy_dtype

_DIRECT: dict[str, Callable[..., Any]] = {
    "abs": np.abs, "acos": np.arccos, "acosh": np.arccosh, "add": np.add, "and": np.bitwise_and, "asin": np.arcsin,
    "asinh": np.arcsinh, "atan": np.arctan, "atanh": np.arctanh, "ceil": np.ceil, "cos": np.cos, "cosh": np.cosh,
    "div": np.divide, "eq": np.equal, "exp": np.exp, "floor": np.floor, "fmod": np.fmod, "ge": np.greater_equal,
    "gt": np.greater, "identity": np.array, "le": np.less_equal, "log": np.log, "lt": np.less, "matmul": np.matmul,
    "max": np.maximum, "min": np.minimum, "mod": np.remainder, "mul": np.multiply, "ne": np.not_equal,
    "neg": np.negative, "not": np.invert, "or": np.bitwise_or, "pow": np.power, "round": np.round,
    "shift_left": np.left_shift, "shift_right": np.right_shift, "sign": np.sign, "sin": np.sin, "sinh": np.sinh,
    "sqrt": np.sqrt, "sub": np.subtract, "tan": np.tan, "tanh": np.tanh, "where": np.where, "xor": np.bitwise_xor,
    "erf": np.vectorize(erf), "int_div": lambda a, b: np.trunc(np.divide(a, b)),
}  # fmt: skip


def kernel_of(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    attrs, dtype, shape = each.attributes, numpy_dtype(each.dtype), each.shape
    computed = _DIRECT.get(each.name) or _told(each, attrs, shape)

    def run(*operands: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.asarray(computed(*operands)).astype(dtype).reshape(shape)

    return run


def _told(each: Instruction, attrs: Any, shape: tuple[int, ...]) -> Callable[..., Any]:
    name = each.name
    if name.startswith("reduce_"):
        function = getattr(np, name.removeprefix("reduce_"))
        return lambda x: function(x, axis=tuple(attrs["axes"]), keepdims=attrs["keep"])
    if name.startswith(("arg", "cum")) and name != "argsort":
        return lambda x: getattr(np, name)(x, axis=attrs["axis"])
    simple: dict[str, Callable[..., Any]] = {
        "cast": lambda x: x,
        "reshape": lambda x: x,
        "transpose": lambda x: x.transpose(attrs["order"]),
        "expand": lambda x: np.broadcast_to(x, shape),
        "concat": lambda *terms: np.concatenate(terms, attrs["axis"]),
        "slice": lambda x: x[
            tuple(_range(*row) for row in zip(attrs["starts"], attrs["stops"], attrs["steps"], strict=True))
        ],
        "pad": lambda x: _padded(x, attrs["before"], attrs["after"], attrs["value"]),
        "take": lambda x, indices: np.take(x, indices, attrs["axis"]),
        "take_along": lambda x, indices: _take_along(x, indices, attrs["axis"]),
        "scatter_along": lambda x, indices, updates: _scattered(x, indices, updates, **attrs),
        "argsort": lambda x: _order(x, **attrs),
        "conv": lambda x, w: _conv(x, w, shape, attrs),
        "conv_transpose": lambda x, w: _conv_transpose(x, w, attrs),
        "pool_max": lambda x: _pooled(np.max, -np.inf, x, shape, attrs),
        "pool_sum": lambda x: _pooled(np.sum, 0, x, shape, attrs),
    }
    return simple[name]


def _range(start: int, stop: int, step: int) -> slice:
    return slice(start, None if stop < 0 else stop, step)


def _padded(x: np.ndarray, before: Sequence[int], after: Sequence[int], value: float) -> np.ndarray:
    return np.pad(x, list(zip(before, after, strict=True)), constant_values=value)


def _take_along(x: np.ndarray, indices: np.ndarray, axis: int) -> np.ndarray:
    corner = tuple(slice(None if place == axis else size) for place, size in enumerate(indices.shape))
    return np.take_along_axis(x[corner], indices, axis)


def _scattered(x: np.ndarray, indices: np.ndarray, updates: np.ndarray, axis: int, reduction: str) -> np.ndarray:
    found = x.copy()
    combine: dict[str, Callable[..., Any]] = {
        "none": lambda a, b: b,
        "add": lambda a, b: a + b,
        "mul": lambda a, b: a * b,
        "max": max,
        "min": min,
    }
    for place in product(*map(range, indices.shape)):
        target = (*place[:axis], indices[place], *place[axis + 1 :])
        found[target] = combine[reduction](found[target], updates[place])
    return found


def _order(x: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    return np.argsort(-x.astype(np.float64) if descending else x, axis, kind="stable")


def _windows(x: np.ndarray, kernel: Sequence[int], shape: Sequence[int], attrs: Any) -> np.ndarray:
    """(batch, channels, elements of a window, windows)."""
    taps = []
    for tap in product(*map(range, kernel)):
        starts = [t * apart for t, apart in zip(tap, attrs["dilations"], strict=True)]
        parts = [
            slice(start, start + (size - 1) * stride + 1, stride)
            for start, size, stride in zip(starts, shape, attrs["strides"], strict=True)
        ]
        taps.append(x[(slice(None), slice(None), *parts)].reshape(*x.shape[:2], prod(shape)))
    return np.stack(taps, 2)


def _pooled(over: Callable[..., Any], fill: float, x: np.ndarray, shape: Sequence[int], attrs: Any) -> np.ndarray:
    around = _padded(x.astype(np.float64), [0, 0, *attrs["before"]], [0, 0, *attrs["after"]], fill)
    found: np.ndarray = over(_windows(around, attrs["kernel"], shape[2:], attrs), axis=2)
    return found


def _conv(x: np.ndarray, w: np.ndarray, shape: Sequence[int], attrs: Any) -> np.ndarray:
    around = _padded(x.astype(np.float64), [0, 0, *attrs["before"]], [0, 0, *attrs["after"]], 0)
    windows = _windows(around, w.shape[2:], shape[2:], attrs)
    groups = attrs["groups"]
    n, channels, taps, count = windows.shape
    parted = windows.reshape(n, groups, channels // groups * taps, count)
    kernels = w.reshape(groups, w.shape[0] // groups, -1)
    found: np.ndarray = np.einsum("ngkc,gok->ngoc", parted, kernels)
    return found


def _conv_transpose(x: np.ndarray, w: np.ndarray, attrs: Any) -> np.ndarray:
    groups, (inputs, per_group, *kernel) = attrs["groups"], w.shape
    n, sizes = x.shape[0], x.shape[2:]
    strides, dilations = attrs["strides"], attrs["dilations"]
    full = [(s - 1) * stride + apart * (k - 1) + 1
            for s, stride, apart, k in zip(sizes, strides, dilations, kernel, strict=True)]  # fmt: skip
    found = np.zeros((n, groups, per_group, *full))
    parted, kernels = x.reshape(n, groups, inputs // groups, -1), w.reshape(groups, inputs // groups, per_group, -1)
    for number, tap in enumerate(product(*map(range, kernel))):
        made = np.einsum("ngic,gio->ngoc", parted, kernels[..., number]).reshape(n, groups, per_group, *sizes)
        parts = [slice(t * apart, t * apart + (s - 1) * stride + 1, stride)
                 for t, apart, s, stride in zip(tap, dilations, sizes, strides, strict=True)]  # fmt: skip
        found[(slice(None), slice(None), slice(None), *parts)] += made
    found = found.reshape(n, groups * per_group, *full)
    grown = [[0, 0, *(max(0, -each) for each in attrs[side])] for side in ("before", "after")]
    found = _padded(found, grown[0], grown[1], 0)
    cut = [slice(max(0, b), size + max(0, -b) + max(0, -a) - max(0, a))
           for b, a, size in zip(attrs["before"], attrs["after"], full, strict=True)]  # fmt: skip
    return found[(slice(None), slice(None), *cut)]
