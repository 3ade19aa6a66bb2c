"""Primitives in numpy, as far as constants are computed with them: element by element, movement, sums, products."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from intarsia.backends.lowering.program import Instruction

Arrays = Sequence[np.ndarray]
_Rule = Callable[[Instruction, Arrays], Any]

_DIRECT: Mapping[str, str] = MappingProxyType(
    {"abs": "abs", "acos": "arccos", "acosh": "arccosh", "add": "add", "and": "bitwise_and", "asin": "arcsin",
     "asinh": "arcsinh", "atan": "arctan", "atanh": "arctanh", "ceil": "ceil", "cos": "cos", "cosh": "cosh",
     "eq": "equal", "exp": "exp", "floor": "floor", "ge": "greater_equal", "gt": "greater", "le": "less_equal",
     "log": "log", "lt": "less", "matmul": "matmul", "max": "maximum", "min": "minimum", "mul": "multiply",
     "ne": "not_equal", "neg": "negative", "not": "invert", "or": "bitwise_or", "round": "round", "sign": "sign",
     "sin": "sin", "sinh": "sinh", "sqrt": "sqrt", "sub": "subtract", "tan": "tan", "tanh": "tanh", "where": "where",
     "xor": "bitwise_xor"}
)  # fmt: skip
"""Primitives that are one function of numpy."""


def _range(start: int, stop: int, step: int) -> slice:
    return slice(start, None if stop < 0 else stop, step)


def _slice(each: Instruction, x: Arrays) -> Any:
    attrs = each.attributes
    return x[0][tuple(_range(*row) for row in zip(attrs["starts"], attrs["stops"], attrs["steps"], strict=True))]


def _pad(each: Instruction, x: Arrays) -> Any:
    rows = list(zip(each.attributes["before"], each.attributes["after"], strict=True))
    return np.pad(x[0], rows, constant_values=each.attributes["value"])


def _reduce(each: Instruction, x: Arrays) -> Any:
    function = getattr(np, each.name.removeprefix("reduce_"))
    return function(x[0], axis=tuple(each.attributes["axes"]), keepdims=each.attributes["keep"])


def _floats_only(function: Callable[..., Any]) -> _Rule:
    """Of integers there is more than one rule for what cannot be computed: that is left to the engine."""

    def run(each: Instruction, x: Arrays) -> Any:
        return function(*x) if "float" in each.dtype else None

    return run


_RULES: Mapping[str, _Rule] = MappingProxyType(
    {
        "cast": lambda each, x: x[0],
        "identity": lambda each, x: x[0],
        "reshape": lambda each, x: x[0],
        "transpose": lambda each, x: x[0].transpose(each.attributes["order"]),
        "expand": lambda each, x: np.broadcast_to(x[0], each.shape),
        "concat": lambda each, x: np.concatenate(list(x), each.attributes["axis"]),
        "slice": _slice,
        "pad": _pad,
        "take": lambda each, x: np.take(x[0], x[1], each.attributes["axis"], mode="clip"),
        "div": _floats_only(np.divide),
        "pow": _floats_only(np.power),
        "sigmoid": _floats_only(lambda x: 1 / (1 + np.exp(-x))),
        "relu": lambda each, x: np.maximum(x[0], 0),
    }
    | dict.fromkeys(("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_mean"), _reduce)
)


def evaluate(each: Instruction, operands: Arrays) -> np.ndarray | None:
    """The result of an instruction on arrays, of its type and shape; ``None`` where numpy is not asked for it."""
    from intarsia.graph.dtypes import numpy_dtype

    with np.errstate(all="ignore"):
        if each.name in _DIRECT:
            found = getattr(np, _DIRECT[each.name])(*operands)
        elif each.name in _RULES:
            found = _RULES[each.name](each, operands)
        else:
            return None
        if found is None:
            return None
        return np.asarray(found).astype(numpy_dtype(each.dtype), copy=False).reshape(each.shape)
