"""Each primitive of the shared lowering in the words of JAX, which traces them for XLA."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from intarsia.backends.lowering.interpreter import Kernel, Tensor
from intarsia.backends.lowering.program import Instruction

Maker = Callable[[Instruction, Sequence[Instruction]], Kernel]


def kernel_of(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    """What computes an instruction."""
    import jax.numpy as jnp

    direct = _DIRECT.get(each.name)
    if direct is not None:
        return getattr(jnp, direct)  # type: ignore[no-any-return]
    return _MAKERS[each.name](each, reads)


_DIRECT: Mapping[str, str] = MappingProxyType(
    {
        "abs": "abs", "acos": "arccos", "acosh": "arccosh", "add": "add", "and": "bitwise_and", "asin": "arcsin",
        "asinh": "arcsinh", "atan": "arctan", "atanh": "arctanh", "ceil": "ceil", "cos": "cos", "cosh": "cosh",
        "div": "divide", "eq": "equal", "exp": "exp", "floor": "floor", "fmod": "fmod", "ge": "greater_equal",
        "gt": "greater", "le": "less_equal", "log": "log", "lt": "less", "matmul": "matmul", "max": "maximum",
        "min": "minimum", "mod": "remainder", "mul": "multiply", "ne": "not_equal", "neg": "negative", "not": "invert",
        "or": "bitwise_or", "pow": "power", "round": "round", "shift_left": "left_shift", "sign": "sign", "sin": "sin",
        "sinh": "sinh", "sqrt": "sqrt", "sub": "subtract", "tan": "tan", "tanh": "tanh", "where": "where",
        "xor": "bitwise_xor",
    }
)  # fmt: skip
"""Primitives that are one function of ``jax.numpy``."""


def _special(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    import jax

    functions: Mapping[str, Kernel] = {"erf": jax.lax.erf, "sigmoid": jax.nn.sigmoid, "relu": jax.nn.relu}
    return functions[each.name]


def _whole(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    """On integers: division rounds towards zero, and the sign fills up where there is one."""
    import jax

    if each.name == "int_div":
        function = jax.lax.div
    elif each.dtype.startswith("u"):
        function = jax.lax.shift_right_logical
    else:
        function = jax.lax.shift_right_arithmetic
    shape = each.shape
    return lambda a, b: function(jax.numpy.broadcast_to(a, shape), jax.numpy.broadcast_to(b, shape))


def _cast(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x: x.astype(each.dtype)


def _reshape(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x: x.reshape(each.shape)


def _transpose(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x: x.transpose(each.attributes["order"])


def _expand(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    import jax.numpy as jnp

    return lambda x: jnp.broadcast_to(x, each.shape)


def _slice(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    rows = zip(each.attributes["starts"], each.attributes["stops"], each.attributes["steps"], strict=True)
    # In a slice of Python a stop of -1 means the last element, not the one before the first.
    index = tuple(slice(start, None if stop < 0 else stop, step) for start, stop, step in rows)
    return lambda x: x[index]


def _concat(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    import jax.numpy as jnp

    return lambda *terms: jnp.concatenate(terms, each.attributes["axis"])


def _pad(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    import jax

    told = each.attributes
    rows = [(before, after, 0) for before, after in zip(told["before"], told["after"], strict=True)]
    return lambda x: jax.lax.pad(x, jax.numpy.asarray(told["value"], each.dtype), rows)


def _take(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x, indices: x.take(indices, axis=each.attributes["axis"], mode="clip")


def _corner(x: Tensor, shape: Sequence[int], axis: int) -> Tensor:
    """The first elements of all dimensions but one, as many as ``shape`` has."""
    return x[tuple(slice(None if place == axis else size) for place, size in enumerate(shape))]


def _take_along(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    import jax.numpy as jnp

    axis = each.attributes["axis"]
    return lambda x, indices: jnp.take_along_axis(_corner(x, indices.shape, axis), indices, axis, mode="clip")


def _scatter_along(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    import jax.numpy as jnp

    axis = each.attributes["axis"]
    how = {"none": "set", "add": "add", "mul": "multiply", "max": "max", "min": "min"}[each.attributes["reduction"]]

    def scattered(x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        places = list(jnp.ogrid[tuple(slice(size) for size in indices.shape)])
        places[axis] = indices
        return getattr(x.at[tuple(places)], how)(updates)

    return scattered


def _argsort(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    import jax.numpy as jnp

    axis, last = each.attributes["axis"], reads[0].shape[each.attributes["axis"]] - 1
    if not each.attributes["descending"]:
        return lambda x: jnp.argsort(x, axis, stable=True)
    # Sorted from behind, so that equal elements keep their order.
    return lambda x: last - jnp.flip(jnp.argsort(jnp.flip(x, axis), axis, stable=True), axis)


def _reduce(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    import jax.numpy as jnp

    function = getattr(jnp, each.name.removeprefix("reduce_"))
    typed = {} if each.name in ("reduce_max", "reduce_min") else {"dtype": each.dtype}
    return lambda x: function(x, axis=tuple(each.attributes["axes"]), keepdims=each.attributes["keep"], **typed)


def _arg(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    axis, keep = each.attributes["axis"], each.attributes["keep"]
    return lambda x: getattr(x, each.name)(axis, keepdims=keep).astype("int64")


def _cumulate(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x: getattr(x, each.name)(each.attributes["axis"], dtype=each.dtype)


def _padding(told: Mapping[str, Any]) -> list[tuple[int, int]]:
    return list(zip(told["before"], told["after"], strict=True))


def _conv(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    import jax

    told = each.attributes
    return partial(
        jax.lax.conv_general_dilated,
        window_strides=told["strides"],
        padding=_padding(told),
        rhs_dilation=told["dilations"],
        feature_group_count=told["groups"],
    )


def _conv_transpose(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    """As a convolution of the input with strides of zeros in it, by the kernel turned round."""
    import jax

    told, groups = each.attributes, each.attributes["groups"]
    inputs, per_group, *kernel = reads[1].shape
    reach = [apart * (size - 1) for apart, size in zip(told["dilations"], kernel, strict=True)]
    padding = [(r - before, r - after) for r, (before, after) in zip(reach, _padding(told), strict=True)]
    spatial = tuple(range(2, 2 + len(kernel)))

    def run(x: Tensor, w: Tensor) -> Tensor:
        parted = jax.numpy.flip(w, spatial).reshape(groups, inputs // groups, per_group, *kernel)
        turned = parted.swapaxes(1, 2).reshape(groups * per_group, inputs // groups, *kernel)
        return jax.lax.conv_general_dilated(
            x,
            turned,
            window_strides=[1] * len(kernel),
            padding=padding,
            lhs_dilation=told["strides"],
            rhs_dilation=told["dilations"],
            feature_group_count=groups,
        )

    return run


def _pool(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    import jax
    import jax.numpy as jnp

    told = each.attributes
    dtype = jnp.dtype(each.dtype)
    lowest = -jnp.inf if jnp.issubdtype(dtype, jnp.floating) else jnp.iinfo(dtype).min
    start, combine = (0, jax.lax.add) if each.name == "pool_sum" else (lowest, jax.lax.max)
    return lambda x: jax.lax.reduce_window(
        x,
        jnp.asarray(start, dtype),
        combine,
        (1, 1, *told["kernel"]),
        (1, 1, *told["strides"]),
        [(0, 0), (0, 0), *_padding(told)],
        window_dilation=(1, 1, *told["dilations"]),
    )


def _identity(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x: x


_MAKERS: Mapping[str, Maker] = MappingProxyType(
    {
        "argmax": _arg,
        "argmin": _arg,
        "argsort": _argsort,
        "cast": _cast,
        "concat": _concat,
        "conv": _conv,
        "conv_transpose": _conv_transpose,
        "cumprod": _cumulate,
        "cumsum": _cumulate,
        "erf": _special,
        "expand": _expand,
        "identity": _identity,
        "int_div": _whole,
        "pad": _pad,
        "pool_max": _pool,
        "pool_sum": _pool,
        "reduce_max": _reduce,
        "reduce_mean": _reduce,
        "reduce_min": _reduce,
        "reduce_prod": _reduce,
        "reduce_sum": _reduce,
        "relu": _special,
        "reshape": _reshape,
        "scatter_along": _scatter_along,
        "shift_right": _whole,
        "sigmoid": _special,
        "slice": _slice,
        "take": _take,
        "take_along": _take_along,
        "transpose": _transpose,
    }
)
