"""Primitives that compute each element by itself, as expressions of TVM on the elements of their operands.

Functions that take ``tirx`` take TVM's module of that name, which has what expressions are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from operator import ge, gt, le, lt, ne
from typing import Any

from intarsia.backends.contract.node_facts import words
from intarsia.backends.lowering.builder import Number
from intarsia.backends.lowering.program import Instruction

Expr = Any
"""A scalar expression of TVM."""

NARROW_FLOATS = words("float16 bfloat16")
"""What is summed up, and put through functions, in float32."""


_FUNCTIONS = words("acos acosh asin asinh atan atanh ceil cos cosh erf exp floor log sigmoid sin sinh sqrt tan tanh")
"""Of one number, which TVM calls so too."""


def _function(name: str, tirx: Any, each: Instruction, x: Expr) -> Expr:
    function = getattr(tirx, name)
    return function(x.astype("float32")).astype(each.dtype) if each.dtype in NARROW_FLOATS else function(x)


def _sign(tirx: Any, each: Instruction, x: Expr) -> Expr:
    one, zero, less = (tirx.const(value, each.dtype) for value in (1, 0, 0 if each.dtype.startswith("u") else -1))
    return tirx.Select(x > zero, one, tirx.Select(x < zero, less, x))


def bounded(tirx: Any, name: str, bound: Expr | int, x: Expr) -> Expr:
    """``max`` or ``min`` of a bound and x. The bound stands first: where x is no number, TVM takes the second."""
    return getattr(tirx, name)(tirx.const(bound, x.dtype) if isinstance(bound, int) else bound, x)


def _extreme(tirx: Any, name: str, dtype: str, a: Expr, b: Expr) -> Expr:
    """``max`` or ``min`` of two, which let pass what is no number."""
    won = tirx.Select(a > b if name == "max" else a < b, a, b)
    return tirx.Select(is_nan(tirx, a, dtype), a, won) if "float" in dtype else won


def reducer(name: str, dtype: str) -> Callable[..., Expr]:
    """What sums up, multiplies, or finds the greatest or least."""
    from tvm import te, tirx

    if name == "sum":
        found: Callable[..., Expr] = te.sum
    elif name == "prod":
        found = te.comm_reducer(lambda a, b: a * b, lambda kind: tirx.const(1, kind), "prod")
    else:
        over = partial(_extreme, tirx, name, dtype)
        found = te.comm_reducer(
            lambda a, b: over(a, b), lambda kind: tirx.const(outermost(tirx, name, dtype), kind), name
        )
    return found


def outermost(tirx: Any, name: str, dtype: str) -> Number:
    """What any number is greater than, for ``max``, or less than, for ``min``."""
    if "float" in dtype:
        return float("-inf" if name == "max" else "inf")
    number: int = (tirx.min_value if name == "max" else tirx.max_value)(dtype).value
    return number


def _divided(tirx: Any, each: Instruction, a: Expr, b: Expr) -> Expr:
    return tirx.div(a, b) if "float" in each.dtype else _whole(tirx, each, a, b, "truncdiv")


def _whole(tirx: Any, each: Instruction, a: Expr, b: Expr, function: str) -> Expr:
    """Division of whole numbers, or what is left of it. By 0, and of the least number by -1, processors stop."""
    zero, one = tirx.const(0, each.dtype), tirx.const(1, each.dtype)
    if each.dtype.startswith("u"):
        return getattr(tirx, function)(a, tirx.Select(b == zero, one, b))
    less = tirx.const(-1, each.dtype)
    safe = tirx.Select(tirx.any(b == zero, b == less), one, b)
    return tirx.Select(b == less, zero - a if function == "truncdiv" else zero, getattr(tirx, function)(a, safe))


def _mod(tirx: Any, each: Instruction, a: Expr, b: Expr) -> Expr:
    """What is left, of the divisor's sign."""
    if "float" not in each.dtype:
        return _whole(tirx, each, a, b, "floormod")
    left, zero = _fmod(tirx, each, a, b), tirx.const(0, each.dtype)
    return tirx.Select(
        tirx.any(left == zero, (left < zero).astype("int8").equal((b < zero).astype("int8"))), left, left + b
    )


def _fmod(tirx: Any, each: Instruction, a: Expr, b: Expr) -> Expr:
    """What is left, of the dividend's sign."""
    if "float" not in each.dtype:
        return _whole(tirx, each, a, b, "truncmod")
    # By C's own functions: TVM 0.27 has an operator for it that it does not compile for processors.
    wide, function = ("float64", "fmod") if each.dtype == "float64" else ("float32", "fmodf")
    return tirx.call_pure_extern(wide, function, a.astype(wide), b.astype(wide)).astype(each.dtype)


def _shifted(tirx: Any, each: Instruction, a: Expr, b: Expr) -> Expr:
    """Processors count a shift modulo the width; ONNX leaves nothing but the sign of what is shifted by more."""
    zero, width = tirx.const(0, each.dtype), int("".join(filter(str.isdigit, each.dtype)))
    # TVM's simplifier trips over bounds of unsigned numbers; what is too large for int64 is negative there.
    by = b.astype("int64")
    inside = tirx.all(by >= tirx.const(0, "int64"), by < tirx.const(width, "int64"))
    safe = tirx.Select(inside, b, zero)
    if each.name == "shift_left":
        return tirx.Select(inside, a << safe, zero)
    sign = zero if each.dtype.startswith("u") else a >> tirx.const(width - 1, each.dtype)
    return tirx.Select(inside, a >> safe, sign)


def _pow(tirx: Any, each: Instruction, a: Expr, b: Expr) -> Expr:
    wide = "float32" if each.dtype in {*NARROW_FLOATS, "float32"} else "float64"
    return tirx.power(a.astype(wide), b.astype(wide)).astype(each.dtype)


def _cast(tirx: Any, each: Instruction, x: Expr) -> Expr:
    if each.dtype == "bool":
        return x != tirx.const(0, x.dtype)
    if "float" in str(x.dtype) and each.dtype in ("int8", "int16", "uint8", "uint16"):
        x = x.astype("int32")  # what does not fit is cut off, as numpy does, and not left open
    return x.astype(each.dtype)


def _logical(tirx: Any, each: Instruction, *operands: Expr) -> Expr:
    flags = each.dtype == "bool"
    match each.name, operands:
        case "not", (x,):
            return tirx.Not(x) if flags else ~x
        case "and", (a, b):
            return tirx.all(a, b) if flags else a & b
        case "or", (a, b):
            return tirx.any(a, b) if flags else a | b
        case _, (a, b):
            return tirx.any(tirx.all(a, tirx.Not(b)), tirx.all(tirx.Not(a), b)) if flags else a ^ b
    raise AssertionError(each.name)


def is_nan(tirx: Any, x: Expr, dtype: str) -> Expr:
    """Whether it is no number. ``x != x`` is what TVM takes for false."""
    return tirx.isnan(x.astype("float32") if dtype in NARROW_FLOATS else x)


_COMPARISONS: Mapping[str, Callable[[Expr, Expr], Expr]] = {
    "eq": lambda a, b: a.equal(b), "ge": ge, "gt": gt, "le": le, "lt": lt, "ne": ne,
}  # fmt: skip


def _compared(tirx: Any, each: Instruction, a: Expr, b: Expr) -> Expr:
    if each.reads[0] == each.reads[1] and each.name in ("ne", "eq") and "float" in str(a.dtype):
        nan = is_nan(tirx, a, str(a.dtype))
        return nan if each.name == "ne" else tirx.Not(nan)
    if str(a.dtype) == "bool":
        a, b = a.astype("int8"), b.astype("int8")
    return _COMPARISONS[each.name](a, b)


SCALARS: Mapping[str, Callable[..., Expr]] = {
    **{
        name: partial(_function, name)
        for name in words(
            "acos acosh asin asinh atan atanh ceil cos cosh erf exp floor log sigmoid sin sinh sqrt tan tanh"
        )
    },
    "round": partial(_function, "nearbyint"),
    "abs": lambda tirx, each, x: x if each.dtype.startswith("u") else tirx.abs(x),
    "add": lambda tirx, each, a, b: a + b,
    "cast": _cast,
    **dict.fromkeys(("div", "int_div"), _divided),
    **dict.fromkeys(_COMPARISONS, _compared),
    "fmod": _fmod,
    **dict.fromkeys(("identity", "expand"), lambda tirx, each, x: x),
    **dict.fromkeys(("max", "min"), lambda tirx, each, a, b: _extreme(tirx, each.name, each.dtype, a, b)),
    "mod": _mod,
    "mul": lambda tirx, each, a, b: a * b,
    "neg": lambda tirx, each, x: -x,
    **dict.fromkeys(("and", "not", "or", "xor"), _logical),
    "pow": _pow,
    "relu": lambda tirx, each, x: bounded(tirx, "max", 0, x),
    **dict.fromkeys(("shift_left", "shift_right"), _shifted),
    "sign": _sign,
    "sub": lambda tirx, each, a, b: a - b,
    "where": lambda tirx, each, condition, a, b: tirx.Select(condition, a, b),
}
"""Primitives that compute each element by itself: what takes ``tirx``, the instruction and elements of its operands."""
