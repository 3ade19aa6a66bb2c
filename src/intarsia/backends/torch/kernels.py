"""Each primitive of the shared lowering as calls of PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from intarsia.backends.contract.node_facts import words
from intarsia.backends.lowering.interpreter import Kernel, Tensor
from intarsia.backends.lowering.program import Instruction
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

    Args:
        engine: Its name.
        each: The instruction.
        reads: What it reads.
        known: Element types that the engine has this instruction for.
    """
    types = {each.dtype, *(read.dtype for read in reads)}
    strange = sorted(types - known)
    if strange:
        return f"{engine} has no {each.name} of {strange[0]}"
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
_DIRECT: Mapping[str, str] = MappingProxyType(
    {
        **{name: name for name in _SAME},
        "and": "bitwise_and",
        "max": "maximum",
        "min": "minimum",
        "mod": "remainder",
        "not": "bitwise_not",
        "or": "bitwise_or",
        "shift_left": "bitwise_left_shift",
        "shift_right": "bitwise_right_shift",
        "xor": "bitwise_xor",
    }
)
"""Primitives that are one function of PyTorch."""


def _cast(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    dtype = _dtype(each.dtype)
    return lambda x: x.to(dtype)


def _int_div(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    import torch

    return partial(torch.div, rounding_mode="trunc")


def _reshape(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    shape = each.shape
    return lambda x: x.reshape(shape)


def _transpose(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    order = each.attributes["order"]
    return lambda x: x.permute(order)


def _expand(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    shape = each.shape
    return lambda x: x.expand(shape)


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


def _pad(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return partial(
        _padded, before=each.attributes["before"], after=each.attributes["after"], value=each.attributes["value"]
    )


def _padded(x: Tensor, before: Sequence[int], after: Sequence[int], value: float = 0.0) -> Tensor:
    """Padding, which PyTorch states from the last dimension on."""
    from torch.nn import functional

    pairs = [number for pair in zip(reversed(before), reversed(after), strict=True) for number in pair]
    return functional.pad(x, pairs, value=value) if any(pairs) else x


def _take(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    axis, shape = each.attributes["axis"], each.shape
    return lambda x, indices: x.index_select(axis, indices.reshape(-1)).reshape(shape)


def _take_along(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    axis = each.attributes["axis"]
    return lambda x, indices: x.gather(axis, indices)


def _scatter_along(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    axis, reduction = each.attributes["axis"], each.attributes["reduction"]
    if reduction == "none":
        return lambda x, indices, updates: x.scatter(axis, indices, updates)
    how = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}[reduction]
    return lambda x, indices, updates: x.scatter_reduce(axis, indices, updates, how)


def _argsort(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    axis, descending = each.attributes["axis"], each.attributes["descending"]
    return lambda x: x.argsort(dim=axis, descending=descending, stable=True)


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


def _arg(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    axis, keep, name = each.attributes["axis"], each.attributes["keep"], each.name
    return lambda x: getattr(x, name)(axis, keep)


def _cumulate(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    axis, dtype, name = each.attributes["axis"], _dtype(each.dtype), each.name
    return lambda x: getattr(x, name)(axis, dtype=dtype)


def _conv(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    from torch.nn import functional

    told = each.attributes
    before, after = told["before"], told["after"]
    function = getattr(functional, f"conv{len(before)}d")
    shared = [min(pair) for pair in zip(before, after, strict=True)]
    run = partial(function, stride=told["strides"], padding=shared, dilation=told["dilations"], groups=told["groups"])
    if before == after:
        return lambda x, w, bias=None: run(x, w, bias)
    first, last = ([0, 0, *(b - s for b, s in zip(side, shared, strict=True))] for side in (before, after))
    return lambda x, w, bias=None: run(_padded(x, first, last), w, bias)


def _conv_transpose(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    from torch.nn import functional

    told = each.attributes
    function = getattr(functional, f"conv_transpose{len(told['before'])}d")
    run = partial(function, stride=told["strides"], dilation=told["dilations"], groups=told["groups"])
    # A negative padding of PyTorch's own cuts off.
    before, after = ([0, 0, *(-number for number in told[side])] for side in ("before", "after"))
    return lambda x, w: _padded(run(x, w), before, after)


def _pool_max(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    from torch.nn import functional

    told = each.attributes
    before, after = [0, 0, *told["before"]], [0, 0, *told["after"]]
    function = getattr(functional, f"max_pool{len(told['kernel'])}d")
    run = partial(function, kernel_size=told["kernel"], stride=told["strides"], dilation=told["dilations"])
    if before == after and all(2 * each <= size for each, size in zip(told["before"], told["kernel"], strict=True)):
        return lambda x: run(x, padding=told["before"])
    return lambda x: run(_padded(x, before, after, float("-inf")))


def _pool_sum(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    from torch.nn import functional

    told = each.attributes
    before, after, kernel, strides = [0, 0, *told["before"]], [0, 0, *told["after"]], told["kernel"], told["strides"]
    shape = each.shape
    if len(kernel) in (2, 3) and set(told["dilations"]) == {1}:
        function = getattr(functional, f"avg_pool{len(kernel)}d")
        return lambda x: function(_padded(x, before, after), kernel, strides, divisor_override=1)

    def along(x: Tensor) -> Tensor:
        x = _padded(x, before, after)
        for axis, (size, stride, apart) in enumerate(zip(kernel, strides, told["dilations"], strict=True), start=2):
            reach = (shape[axis] - 1) * stride + 1
            x = sum(x.narrow(axis, tap * apart, reach) for tap in range(size))
            x = x[(slice(None),) * axis + (slice(None, None, stride),)]
        return x

    return along


def _soft(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    axis, name = each.attributes["axis"], each.name
    return lambda x: getattr(x, name)(axis)


def _activation(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    from torch.nn import functional

    match each.name:
        case "gelu":
            return partial(functional.gelu, approximate=each.attributes["approximate"])
        case "leaky_relu":
            return partial(functional.leaky_relu, negative_slope=each.attributes["alpha"])
        case _:
            return partial(functional.hardswish)


def _layer_norm(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    from torch.nn import functional

    shape, epsilon = each.shape[each.attributes["axis"] :], each.attributes["epsilon"]
    return lambda x, scale, shift=None: functional.layer_norm(x, shape, scale, shift, epsilon)


def _identity(each: Instruction, reads: Sequence[Instruction]) -> Kernel:
    return lambda x: x


_MAKERS: Mapping[str, Callable[[Instruction, Sequence[Instruction]], Kernel]] = MappingProxyType(
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
        "expand": _expand,
        "gelu": _activation,
        "hard_swish": _activation,
        "identity": _identity,
        "int_div": _int_div,
        "layer_norm": _layer_norm,
        "leaky_relu": _activation,
        "log_softmax": _soft,
        "pad": _pad,
        "pool_max": _pool_max,
        "pool_sum": _pool_sum,
        "reduce_max": _reduce,
        "reduce_mean": _reduce,
        "reduce_min": _reduce,
        "reduce_prod": _reduce,
        "reduce_sum": _reduce,
        "reshape": _reshape,
        "scatter_along": _scatter_along,
        "slice": _slice,
        "softmax": _soft,
        "take": _take,
        "take_along": _take_along,
        "transpose": _transpose,
    }
)
