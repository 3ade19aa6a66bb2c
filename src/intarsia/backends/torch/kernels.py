"""Each primitive of the shared lowering as calls of PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import prod
from operator import methodcaller
from typing import TYPE_CHECKING, Any

from intarsia.backends.contract.node_facts import words
from intarsia.backends.lowering.interpreter import Kernel, KernelOf, Tensor
from intarsia.backends.lowering.program import Instruction, strange_type
from intarsia.wording import counted

if TYPE_CHECKING:
    import numpy as np


_FLOATS = words("float16 bfloat16 float32 float64")
TYPES = _FLOATS | words("int8 int16 int32 int64 uint8 bool")
"""Element types that PyTorch computes in throughout."""
NATIVES = words("relu sigmoid softmax log_softmax gelu hard_swish leaky_relu layer_norm conv_bias")
"""Operations beyond the primitives that PyTorch has as one."""
_FLOAT_ONLY = words("conv conv_transpose pool_max pool_sum")


def lack(engine: str, each: Instruction, reads: Sequence[Instruction], known: frozenset[str] = TYPES) -> str | None:
    """Why PyTorch cannot do an instruction on what these compute, or ``None``; in the name of an engine over it.

    ``known`` are the element types that the engine has this instruction for.
    """
    if strange := strange_type(each, reads, known):
        return f"{engine} has no {each.name} of {strange}"
    if each.name in _FLOAT_ONLY and each.dtype not in _FLOATS:
        return f"{engine} has no {each.name} of {each.dtype}"
    if each.name.startswith(("conv", "pool")) and not 3 <= len(reads[0].shape) <= 5:
        return f"{engine} has no {each.name} over {counted(len(reads[0].shape) - 2, 'dimension')}"
    if 0 in each.shape or any(0 in read.shape for read in reads):
        return None if prod(each.shape) == 0 else f"{engine} is not asked for a {each.name} of nothing"
    return None


def lack_on_cuda(engine: str, each: Instruction, reads: Sequence[Instruction]) -> str | None:
    """As `lack`, on a GPU of NVIDIA's: its products of matrices are of floating-point numbers alone."""
    if each.name == "matmul" and each.dtype not in _FLOATS:
        return f"{engine} has no {each.name} of {each.dtype} on cuda"
    return lack(engine, each, reads)


def tensor_over(array: np.ndarray) -> Tensor:
    """A tensor in an array's memory."""
    import numpy as np
    import torch

    from intarsia.backends.contract.shared_memory import writable

    if not array.nbytes:
        return torch.empty(array.shape, dtype=_dtype(array.dtype.name))
    shared = writable(array)
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(shared.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(shared)


def _dtype(name: str) -> Any:
    import torch

    return getattr(torch, name)


def _functional() -> Any:
    from torch.nn import functional

    return functional


def kernel_of(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    """What computes an instruction."""
    import torch

    direct = _DIRECT.get(each.name)
    if direct is not None:
        return getattr(torch, direct)  # type: ignore[no-any-return]
    return _MAKERS[each.name](each, reads)


_SAME = words(
    "abs acos acosh add asin asinh atan atanh ceil cos cosh div eq erf exp floor fmod ge gt le log lt matmul mul ne",
    "neg pow relu round sigmoid sign sin sinh sqrt sub tan tanh where",
)
_DIRECT: Mapping[str, str] = {
    **{name: name for name in _SAME},
    "and": "bitwise_and", "max": "maximum", "min": "minimum", "mod": "remainder", "not": "bitwise_not",
    "or": "bitwise_or", "shift_left": "bitwise_left_shift", "shift_right": "bitwise_right_shift", "xor": "bitwise_xor",
}  # fmt: skip
"""Primitives that are one function of PyTorch."""


def _slice(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    rows = zip(each.attributes["starts"], each.attributes["stops"], each.attributes["steps"], strict=True)
    parts, flipped = [], []
    for axis, ((start, stop, step), size) in enumerate(zip(rows, reads[0].shape, strict=True)):
        if step < 0:
            flipped.append(axis)
            start, stop, step = size - 1 - start, size - 1 - stop, -step
        parts.append(slice(start, stop, step))
    index = tuple(parts)
    if flipped:
        return lambda x: x.flip(flipped)[index]
    return lambda x: x[index]


def _concat(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    import torch

    axis = each.attributes["axis"]
    return lambda *terms: torch.cat(terms, axis)


def _int_div(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    import torch

    return partial(torch.div, rounding_mode="trunc")


def _padded(x: Tensor, before: Sequence[int], after: Sequence[int], value: float = 0.0) -> Tensor:
    """Padding, which PyTorch states from the last dimension on."""
    pairs = [number for pair in zip(reversed(before), reversed(after), strict=True) for number in pair]
    return _functional().pad(x, pairs, value=value) if any(pairs) else x


def _take(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    axis, shape = each.attributes["axis"], each.shape
    return lambda x, indices: x.index_select(axis, indices.reshape(-1)).reshape(shape)


def _scatter_along(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    axis, reduction = each.attributes["axis"], each.attributes["reduction"]
    if reduction == "none":
        return lambda x, indices, updates: x.scatter(axis, indices, updates)
    how = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}[reduction]
    return lambda x, indices, updates: x.scatter_reduce(axis, indices, updates, how)


def _reduce(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    axes, keep, dtype = each.attributes["axes"], each.attributes["keep"], _dtype(each.dtype)
    match each.name:
        case "reduce_sum":
            return lambda x: x.sum(axes, keep, dtype=dtype)
        case "reduce_mean":
            return lambda x: x.mean(axes, keep)
        case "reduce_prod":
            shape = each.shape

            def product(x: Tensor) -> Tensor:
                for axis in axes:
                    x = x.prod(axis, True, dtype=dtype)
                return x.reshape(shape)

            return product
        case _:
            over = "amax" if each.name == "reduce_max" else "amin"
            return lambda x: getattr(x, over)(axes, keep)


def _conv(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    attrs = each.attributes
    before, after = attrs["before"], attrs["after"]
    function = getattr(_functional(), f"conv{len(before)}d")
    shared = [min(pair) for pair in zip(before, after, strict=True)]
    run = partial(
        function, stride=attrs["strides"], padding=shared, dilation=attrs["dilations"], groups=attrs["groups"]
    )
    if before == after:
        return lambda x, w, bias=None: run(x, w, bias)
    first, last = ([0, 0, *(b - s for b, s in zip(side, shared, strict=True))] for side in (before, after))
    return lambda x, w, bias=None: run(_padded(x, first, last), w, bias)


def _conv_transpose(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    attrs = each.attributes
    function = getattr(_functional(), f"conv_transpose{len(attrs['before'])}d")
    run = partial(function, stride=attrs["strides"], dilation=attrs["dilations"], groups=attrs["groups"])
    # A negative padding of PyTorch's own cuts off.
    before, after = ([0, 0, *(-number for number in attrs[side])] for side in ("before", "after"))
    return lambda x, w: _padded(run(x, w), before, after)


def _pool_max(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    attrs = each.attributes
    before, after = [0, 0, *attrs["before"]], [0, 0, *attrs["after"]]
    function = getattr(_functional(), f"max_pool{len(attrs['kernel'])}d")
    run = partial(function, kernel_size=attrs["kernel"], stride=attrs["strides"], dilation=attrs["dilations"])
    if before == after and all(2 * each <= size for each, size in zip(attrs["before"], attrs["kernel"], strict=True)):
        return lambda x: run(x, padding=attrs["before"])
    return lambda x: run(_padded(x, before, after, float("-inf")))


def _pool_sum(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    attrs = each.attributes
    before, after, kernel, strides = (
        [0, 0, *attrs["before"]],
        [0, 0, *attrs["after"]],
        attrs["kernel"],
        attrs["strides"],
    )
    shape = each.shape
    if len(kernel) in (2, 3) and set(attrs["dilations"]) == {1}:
        function = getattr(_functional(), f"avg_pool{len(kernel)}d")
        return lambda x: function(_padded(x, before, after), kernel, strides, divisor_override=1)

    def along(x: Tensor) -> Tensor:
        x = _padded(x, before, after)
        for axis, (size, stride, apart) in enumerate(zip(kernel, strides, attrs["dilations"], strict=True), start=2):
            reach = (shape[axis] - 1) * stride + 1
            x = sum(x.narrow(axis, tap * apart, reach) for tap in range(size))
            x = x[(slice(None),) * axis + (slice(None, None, stride),)]
        return x

    return along


def _layer_norm(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    run, shape, epsilon = _functional().layer_norm, each.shape[each.attributes["axis"] :], each.attributes["epsilon"]
    return lambda x, scale, shift=None: run(x, shape, scale, shift, epsilon)


_MAKERS: Mapping[str, KernelOf] = {
    **dict.fromkeys(
        ("argmax", "argmin"), lambda each, _: methodcaller(each.name, each.attributes["axis"], each.attributes["keep"])
    ),
    "argsort": lambda each, _: methodcaller(
        "argsort", dim=each.attributes["axis"], descending=each.attributes["descending"], stable=True
    ),
    "cast": lambda each, _: methodcaller("to", _dtype(each.dtype)),
    "concat": _concat,
    "conv": _conv,
    "conv_transpose": _conv_transpose,
    **dict.fromkeys(
        ("cumprod", "cumsum"),
        lambda each, _: methodcaller(each.name, each.attributes["axis"], dtype=_dtype(each.dtype)),
    ),
    "expand": lambda each, _: methodcaller("expand", each.shape),
    "gelu": lambda each, _: partial(_functional().gelu, approximate=each.attributes["approximate"]),
    "hard_swish": lambda *_: partial(_functional().hardswish),
    "identity": lambda *_: lambda x: x,
    "int_div": _int_div,
    "layer_norm": _layer_norm,
    "leaky_relu": lambda each, _: partial(_functional().leaky_relu, negative_slope=each.attributes["alpha"]),
    "pad": lambda each, _: partial(_padded, **each.attributes),
    "pool_max": _pool_max,
    "pool_sum": _pool_sum,
    **dict.fromkeys(("reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum"), _reduce),
    "reshape": lambda each, _: methodcaller("reshape", each.shape),
    "scatter_along": _scatter_along,
    "slice": _slice,
    **dict.fromkeys(("log_softmax", "softmax"), lambda each, _: methodcaller(each.name, each.attributes["axis"])),
    "take": _take,
    "take_along": lambda each, _: lambda x, indices, axis=each.attributes["axis"]: x.gather(axis, indices),
    "transpose": lambda each, _: methodcaller("permute", each.attributes["order"]),
}
