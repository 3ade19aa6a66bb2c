"""Each primitive of the shared lowering in the words of JAX, which traces them for XLA."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from intarsia.backends.lowering.interpreter import Kernel, Tensor, corner, indices_of, padding_of
from intarsia.backends.lowering.program import Instruction


def kernel_of(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    """What computes an instruction."""
    import jax

    direct = _DIRECT.get(each.name)
    if direct is not None:
        return getattr(jax.numpy, direct)  # type: ignore[no-any-return]
    return partial(_OTHERS[each.name], jax, each)


_DIRECT: Mapping[str, str] = {
    "abs": "abs", "acos": "arccos", "acosh": "arccosh", "add": "add", "and": "bitwise_and", "asin": "arcsin",
    "asinh": "arcsinh", "atan": "arctan", "atanh": "arctanh", "ceil": "ceil", "cos": "cos", "cosh": "cosh",
    "div": "divide", "eq": "equal", "exp": "exp", "floor": "floor", "fmod": "fmod", "ge": "greater_equal",
    "gt": "greater", "le": "less_equal", "log": "log", "lt": "less", "matmul": "matmul", "max": "maximum",
    "min": "minimum", "mod": "remainder", "mul": "multiply", "ne": "not_equal", "neg": "negative", "not": "invert",
    "or": "bitwise_or", "pow": "power", "round": "round", "shift_left": "left_shift", "sign": "sign", "sin": "sin",
    "sinh": "sinh", "sqrt": "sqrt", "sub": "subtract", "tan": "tan", "tanh": "tanh", "where": "where",
    "xor": "bitwise_xor",
}  # fmt: skip
"""Primitives that are one function of ``jax.numpy``."""


def _whole(jax: Any, each: Instruction, a: Tensor, b: Tensor) -> Tensor:
    """On integers: division rounds towards zero, and the sign fills up where there is one."""
    if each.name == "int_div":
        function = jax.lax.div
    elif each.dtype.startswith("u"):
        function = jax.lax.shift_right_logical
    else:
        function = jax.lax.shift_right_arithmetic
    return function(jax.numpy.broadcast_to(a, each.shape), jax.numpy.broadcast_to(b, each.shape))


def _pad(jax: Any, each: Instruction, x: Tensor) -> Tensor:
    rows = [(before, after, 0) for before, after in padding_of(each.attributes)]
    return jax.lax.pad(x, jax.numpy.asarray(each.attributes["value"], each.dtype), rows)


def _take_along(jax: Any, each: Instruction, x: Tensor, indices: Tensor) -> Tensor:
    axis = each.attributes["axis"]
    return jax.numpy.take_along_axis(corner(x, indices.shape, axis), indices, axis, mode="clip")


def _scatter_along(jax: Any, each: Instruction, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    how = {"none": "set", "add": "add", "mul": "multiply", "max": "max", "min": "min"}[each.attributes["reduction"]]
    places = list(jax.numpy.ogrid[tuple(slice(size) for size in indices.shape)])
    places[each.attributes["axis"]] = indices
    return getattr(x.at[tuple(places)], how)(updates)


def _argsort(jax: Any, each: Instruction, x: Tensor) -> Tensor:
    jnp, axis = jax.numpy, each.attributes["axis"]
    if not each.attributes["descending"]:
        return jnp.argsort(x, axis, stable=True)
    # Sorted from behind, so that equal elements keep their order.
    return x.shape[axis] - 1 - jnp.flip(jnp.argsort(jnp.flip(x, axis), axis, stable=True), axis)


def _reduce(jax: Any, each: Instruction, x: Tensor) -> Tensor:
    function = getattr(jax.numpy, each.name.removeprefix("reduce_"))
    typed = {} if each.name in ("reduce_max", "reduce_min") else {"dtype": each.dtype}
    return function(x, axis=tuple(each.attributes["axes"]), keepdims=each.attributes["keep"], **typed)


def _arg(jax: Any, each: Instruction, x: Tensor) -> Tensor:
    return getattr(x, each.name)(each.attributes["axis"], keepdims=each.attributes["keep"]).astype("int64")


def _cumulate(jax: Any, each: Instruction, x: Tensor) -> Tensor:
    return getattr(x, each.name)(each.attributes["axis"], dtype=each.dtype)


def _conv(jax: Any, each: Instruction, x: Tensor, w: Tensor) -> Tensor:
    attrs = each.attributes
    return jax.lax.conv_general_dilated(
        x,
        w,
        window_strides=attrs["strides"],
        padding=padding_of(attrs),
        rhs_dilation=attrs["dilations"],
        feature_group_count=attrs["groups"],
    )


def _conv_transpose(jax: Any, each: Instruction, x: Tensor, w: Tensor) -> Tensor:
    """As a convolution of the input with strides of zeros in it, by the kernel turned round."""
    attrs, groups = each.attributes, each.attributes["groups"]
    inputs, per_group, *kernel = w.shape
    reach = [apart * (size - 1) for apart, size in zip(attrs["dilations"], kernel, strict=True)]
    spatial = tuple(range(2, 2 + len(kernel)))
    parted = jax.numpy.flip(w, spatial).reshape(groups, inputs // groups, per_group, *kernel)
    return jax.lax.conv_general_dilated(
        x,
        parted.swapaxes(1, 2).reshape(groups * per_group, inputs // groups, *kernel),
        window_strides=[1] * len(kernel),
        padding=[(r - before, r - after) for r, (before, after) in zip(reach, padding_of(attrs), strict=True)],
        lhs_dilation=attrs["strides"],
        rhs_dilation=attrs["dilations"],
        feature_group_count=groups,
    )


def _pool(jax: Any, each: Instruction, x: Tensor) -> Tensor:
    attrs, jnp = each.attributes, jax.numpy
    dtype = jnp.dtype(each.dtype)
    lowest = -jnp.inf if jnp.issubdtype(dtype, jnp.floating) else jnp.iinfo(dtype).min
    start, combine = (0, jax.lax.add) if each.name == "pool_sum" else (lowest, jax.lax.max)
    return jax.lax.reduce_window(
        x,
        jnp.asarray(start, dtype),
        combine,
        (1, 1, *attrs["kernel"]),
        (1, 1, *attrs["strides"]),
        [(0, 0), (0, 0), *padding_of(attrs)],
        window_dilation=(1, 1, *attrs["dilations"]),
    )


_OTHERS: Mapping[str, Callable[..., Tensor]] = {
    **dict.fromkeys(("argmax", "argmin"), _arg),
    "argsort": _argsort,
    "cast": lambda jax, each, x: x.astype(each.dtype),
    "concat": lambda jax, each, *terms: jax.numpy.concatenate(terms, each.attributes["axis"]),
    "conv": _conv,
    "conv_transpose": _conv_transpose,
    **dict.fromkeys(("cumprod", "cumsum"), _cumulate),
    "erf": lambda jax, each, x: jax.lax.erf(x),
    "expand": lambda jax, each, x: jax.numpy.broadcast_to(x, each.shape),
    "identity": lambda jax, each, x: x,
    **dict.fromkeys(("int_div", "shift_right"), _whole),
    "pad": _pad,
    **dict.fromkeys(("pool_max", "pool_sum"), _pool),
    **dict.fromkeys(("reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum"), _reduce),
    "relu": lambda jax, each, x: jax.nn.relu(x),
    "reshape": lambda jax, each, x: x.reshape(each.shape),
    "scatter_along": _scatter_along,
    "sigmoid": lambda jax, each, x: jax.nn.sigmoid(x),
    "slice": lambda jax, each, x: x[indices_of(each.attributes)],
    "take": lambda jax, each, x, indices: x.take(indices, axis=each.attributes["axis"], mode="clip"),
    "take_along": _take_along,
    "transpose": lambda jax, each, x: x.transpose(each.attributes["order"]),
}
"""What takes JAX, the instruction and its operands."""
