"""What tinygrad computes each instruction of the shared lowering with, as functions of its tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from intarsia.backends.lowering.interpreter import Kernel, Tensor, corner, indices_of, padding_of
from intarsia.backends.lowering.program import Attributes, Instruction


def package() -> Any:
    """tinygrad, loaded at first use, and typed by nothing, so that types are the same where it is not installed."""
    return import_module("tinygrad")


def kernel_of(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    """What computes an instruction; in its own type, where tinygrad would answer in another."""
    direct = _DIRECT.get(each.name)
    kernel = getattr(package().Tensor, direct) if direct is not None else partial(_OTHERS[each.name], each)
    return lambda *terms: kernel(*terms).cast(each.dtype)


_DIRECT: Mapping[str, str] = {
    "abs": "abs", "acos": "acos", "acosh": "acosh", "add": "add", "and": "bitwise_and", "asin": "asin",
    "asinh": "asinh", "atan": "atan", "atanh": "atanh", "cast": "contiguous", "ceil": "ceil", "cos": "cos",
    "cosh": "cosh", "div": "div", "eq": "eq", "erf": "erf", "exp": "exp", "floor": "floor",
    "ge": "__ge__", "gt": "__gt__", "identity": "contiguous", "le": "__le__", "log": "log", "lt": "__lt__",
    "matmul": "matmul", "max": "maximum", "min": "minimum", "mul": "mul", "ne": "ne", "neg": "neg",
    "not": "bitwise_not", "or": "bitwise_or", "pow": "pow", "relu": "relu", "round": "round",
    "sigmoid": "sigmoid", "sign": "sign", "sin": "sin",
    "sinh": "sinh", "sqrt": "sqrt", "sub": "sub", "tan": "tan", "tanh": "tanh", "where": "where",
    "xor": "bitwise_xor",
}  # fmt: skip
"""Primitives that are one method of a tensor."""


def _int_div(each: Instruction, a: Tensor, b: Tensor) -> Tensor:
    """Never by 0, nor the least integer by -1: processors raise a signal there, which ends the process."""
    if each.dtype.startswith("u"):
        return a.div(b.eq(0).where(1, b), rounding_mode="trunc")
    return b.eq(-1).where(-a, a.div((b.eq(0) | b.eq(-1)).where(1, b), rounding_mode="trunc"))


def _remainder(each: Instruction, a: Tensor, b: Tensor) -> Tensor:
    """``mod`` has the sign of the divisor, ``fmod`` that of what is divided; never by 0 or -1, as for `_int_div`."""
    is_unsafe = b.eq(0) if each.dtype.startswith("u") else b.eq(0) | b.eq(-1)
    return getattr(a, each.name)(is_unsafe.where(1, b))


def _shift(each: Instruction, a: Tensor, b: Tensor) -> Tensor:
    """By the width and more, too, where a processor shifts by less; a negative number counts as too large a one."""
    last = int(each.dtype.lstrip("uint")) - 1
    name = "lshift" if each.name == "shift_left" else "rshift"
    is_far = (b < 0) | (b > last)
    shifted = getattr(a, name)(is_far.where(last, b))
    keeps_sign = name == "rshift" and not each.dtype.startswith("u")
    return shifted if keeps_sign else is_far.where(0, shifted)


def _take(each: Instruction, x: Tensor, indices: Tensor) -> Tensor:
    return x[(*(slice(None),) * each.attributes["axis"], indices)]


def _take_along(each: Instruction, x: Tensor, indices: Tensor) -> Tensor:
    axis = each.attributes["axis"]
    return corner(x, each.shape, axis).gather(axis, indices)


def _scatter_along(each: Instruction, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    axis, reduction = each.attributes["axis"], each.attributes["reduction"]
    if reduction == "none":
        return x.scatter(axis, indices, updates)
    how = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}[reduction]
    return x.scatter_reduce(axis, indices, updates, how)


def _reduce(each: Instruction, x: Tensor) -> Tensor:
    return getattr(x, each.name.removeprefix("reduce_"))(tuple(each.attributes["axes"]), each.attributes["keep"])


def _around(attrs: Attributes) -> list[tuple[int, int]]:
    """Padding of all dimensions; batch and channels have none."""
    return [(0, 0), (0, 0), *padding_of(attrs)]


def _window(attrs: Attributes) -> dict[str, Any]:
    return {"stride": tuple(attrs["strides"]), "dilation": tuple(attrs["dilations"])}


def _conv(each: Instruction, x: Tensor, w: Tensor) -> Tensor:
    attrs = each.attributes
    return x.pad(_around(attrs)).conv2d(w, groups=attrs["groups"], **_window(attrs))


def _conv_transpose(each: Instruction, x: Tensor, w: Tensor) -> Tensor:
    """All of it, of which the ends are cut off or made longer: tinygrad does not cut more at one than at the other."""
    attrs = each.attributes
    rows = [(-before, -after) for before, after in _around(attrs)]
    return x.conv_transpose2d(w, groups=attrs["groups"], **_window(attrs)).pad(rows)


def _pool_max(each: Instruction, x: Tensor) -> Tensor:
    attrs = each.attributes
    return x.pad(_around(attrs), value=x.dtype.min).max_pool2d(tuple(attrs["kernel"]), **_window(attrs))


def _pool_sum(each: Instruction, x: Tensor) -> Tensor:
    """As a convolution with ones: its own mean is divided by what would have to be multiplied again."""
    attrs, shape = each.attributes, x.shape
    ones = package().Tensor.ones(1, 1, *attrs["kernel"], dtype=each.dtype, device=x.device)
    planes = x.reshape(shape[0] * shape[1], 1, *shape[2:])
    return planes.pad(_around(attrs)).conv2d(ones, **_window(attrs)).reshape(each.shape)


_OTHERS: Mapping[str, Callable[..., Tensor]] = {
    **dict.fromkeys(
        ("argmax", "argmin"), lambda each, x: getattr(x, each.name)(each.attributes["axis"], each.attributes["keep"])
    ),
    "argsort": lambda each, x: x.argsort(each.attributes["axis"], each.attributes["descending"]),
    "concat": lambda each, first, *others: first.cat(*others, dim=each.attributes["axis"]),
    "conv": _conv,
    "conv_transpose": _conv_transpose,
    **dict.fromkeys(("cumprod", "cumsum"), lambda each, x: getattr(x, each.name)(each.attributes["axis"])),
    "expand": lambda each, x: x.expand(each.shape),
    "int_div": _int_div,
    **dict.fromkeys(("mod", "fmod"), _remainder),
    "pad": lambda each, x: x.pad(padding_of(each.attributes), value=each.attributes["value"]),
    "pool_max": _pool_max,
    "pool_sum": _pool_sum,
    **dict.fromkeys(("reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum"), _reduce),
    "reshape": lambda each, x: x.reshape(each.shape),
    "scatter_along": _scatter_along,
    **dict.fromkeys(("shift_left", "shift_right"), _shift),
    "slice": lambda each, x: x[indices_of(each.attributes)],
    "take": _take,
    "take_along": _take_along,
    "transpose": lambda each, x: x.permute(each.attributes["order"]),
}
"""What takes the instruction and its operands."""

KERNELS = frozenset((*_DIRECT, *_OTHERS))
"""Every instruction there is one for."""
