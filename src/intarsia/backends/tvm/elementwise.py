"""Primitives that compute each element by itself, as expressions of TVM on the elements of their operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from intarsia.backends.contract.node_facts import words
from intarsia.backends.lowering.builder import Number
from intarsia.backends.lowering.program import Instruction

Expr = Any
"""A scalar expression of TVM."""

NARROW_FLOATS = words("float16 bfloat16")
"""What is summed up, and put through functions, in float32."""
_FUNCTIONS: Mapping[str, str] = MappingProxyType(
    {name: name for name in words("acos acosh asin asinh atan atanh ceil cos cosh erf exp floor log sin sinh sqrt tan",
                                  "tanh sigmoid")}
    | {"round": "nearbyint"}
)  # fmt: skip
"""Of one number, by their names in TVM."""


def _function(each: Instruction, x: Expr) -> Expr:
    from tvm import tirx

    function = getattr(tirx, _FUNCTIONS[each.name])
    return function(x.astype("float32")).astype(each.dtype) if each.dtype in NARROW_FLOATS else function(x)


def _abs(each: Instruction, x: Expr) -> Expr:
    from tvm import tirx

    return x if each.dtype.startswith("u") else tirx.abs(x)


def _sign(each: Instruction, x: Expr) -> Expr:
    from tvm import tirx

    one, zero, less = (tirx.const(value, each.dtype) for value in (1, 0, 0 if each.dtype.startswith("u") else -1))
    return tirx.Select(x > zero, one, tirx.Select(x < zero, less, x))


def _relu(each: Instruction, x: Expr) -> Expr:
    return bounded("max", 0, x)


def bounded(name: str, bound: Expr | int, x: Expr) -> Expr:
    """``max`` or ``min`` of a bound and x. The bound stands first: where x is no number, TVM takes the second."""
    from tvm import tirx

    return getattr(tirx, name)(tirx.const(bound, x.dtype) if isinstance(bound, int) else bound, x)


def _extreme(each: Instruction, a: Expr, b: Expr) -> Expr:
    """The greater or the less; where one is no number, that."""
    return extreme(each.name, each.dtype)(a, b)


def extreme(name: str, dtype: str) -> Callable[[Expr, Expr], Expr]:
    """``max`` or ``min`` of two, which let pass what is no number."""
    from tvm import tirx

    def chosen(a: Expr, b: Expr) -> Expr:
        won = tirx.Select(a > b if name == "max" else a < b, a, b)
        return tirx.Select(is_nan(a, dtype), a, won) if "float" in dtype else won

    return chosen


def reducer(name: str, dtype: str) -> Callable[..., Expr]:
    """What sums up, multiplies, or finds the greatest or least."""
    from tvm import te, tirx

    if name == "sum":
        found: Callable[..., Expr] = te.sum
    elif name == "prod":
        found = te.comm_reducer(lambda a, b: a * b, lambda kind: tirx.const(1, kind), "prod")
    else:
        found = te.comm_reducer(extreme(name, dtype), lambda kind: tirx.const(outermost(name, dtype), kind), name)
    return found


def outermost(name: str, dtype: str) -> Number:
    """What any number is greater than, for ``max``, or less than, for ``min``."""
    from tvm import tirx

    if "float" in dtype:
        return float("-inf" if name == "max" else "inf")
    number: int = (tirx.min_value if name == "max" else tirx.max_value)(dtype).value
    return number


def _divided(each: Instruction, a: Expr, b: Expr) -> Expr:
    from tvm import tirx

    return tirx.div(a, b) if "float" in each.dtype else _whole(each, a, b, "truncdiv")


def _whole(each: Instruction, a: Expr, b: Expr, function: str) -> Expr:
    """Division of whole numbers, or what is left of it. By 0, and of the least number by -1, processors stop."""
    from tvm import tirx

    zero, one = tirx.const(0, each.dtype), tirx.const(1, each.dtype)
    if each.dtype.startswith("u"):
        return getattr(tirx, function)(a, tirx.Select(b == zero, one, b))
    less = tirx.const(-1, each.dtype)
    safe = tirx.Select(tirx.any(b == zero, b == less), one, b)
    return tirx.Select(b == less, zero - a if function == "truncdiv" else zero, getattr(tirx, function)(a, safe))


def _mod(each: Instruction, a: Expr, b: Expr) -> Expr:
    """What is left, of the divisor's sign."""
    from tvm import tirx

    if "float" not in each.dtype:
        return _whole(each, a, b, "floormod")
    left, zero = _fmod(each, a, b), tirx.const(0, each.dtype)
    return tirx.Select(
        tirx.any(left == zero, (left < zero).astype("int8").equal((b < zero).astype("int8"))), left, left + b
    )


def _fmod(each: Instruction, a: Expr, b: Expr) -> Expr:
    """What is left, of the dividend's sign."""
    from tvm import tirx

    if "float" not in each.dtype:
        return _whole(each, a, b, "truncmod")
    # By C's own functions: TVM 0.27 has an operator for it that it does not compile for processors.
    wide, function = ("float64", "fmod") if each.dtype == "float64" else ("float32", "fmodf")
    return tirx.call_pure_extern(wide, function, a.astype(wide), b.astype(wide)).astype(each.dtype)


def _shifted(each: Instruction, a: Expr, b: Expr) -> Expr:
    """Processors count a shift modulo the width; ONNX leaves nothing but the sign of what is shifted by more."""
    from tvm import tirx

    zero, width = tirx.const(0, each.dtype), int("".join(filter(str.isdigit, each.dtype)))
    # TVM's simplifier trips over bounds of unsigned numbers; what is too large for int64 is negative there.
    by = b.astype("int64")
    inside = tirx.all(by >= tirx.const(0, "int64"), by < tirx.const(width, "int64"))
    safe = tirx.Select(inside, b, zero)
    if each.name == "shift_left":
        return tirx.Select(inside, a << safe, zero)
    sign = zero if each.dtype.startswith("u") else a >> tirx.const(width - 1, each.dtype)
    return tirx.Select(inside, a >> safe, sign)


def _pow(each: Instruction, a: Expr, b: Expr) -> Expr:
    from tvm import tirx

    wide = {"float16": "float32", "bfloat16": "float32", "float32": "float32"}.get(each.dtype, "float64")
    return tirx.power(a.astype(wide), b.astype(wide)).astype(each.dtype)


def _where(each: Instruction, condition: Expr, a: Expr, b: Expr) -> Expr:
    from tvm import tirx

    return tirx.Select(condition, a, b)


def _cast(each: Instruction, x: Expr) -> Expr:
    from tvm import tirx

    if each.dtype == "bool":
        return x != tirx.const(0, x.dtype)
    if "float" in str(x.dtype) and each.dtype in ("int8", "int16", "uint8", "uint16"):
        x = x.astype("int32")  # what does not fit is cut off, as numpy does, and not left open
    return x.astype(each.dtype)


def _logical(each: Instruction, *operands: Expr) -> Expr:
    from tvm import tirx

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


def is_nan(x: Expr, dtype: str) -> Expr:
    """Whether it is no number. ``x != x`` is what TVM takes for false."""
    from tvm import tirx

    return tirx.isnan(x.astype("float32") if dtype in NARROW_FLOATS else x)


def _compared(each: Instruction, a: Expr, b: Expr) -> Expr:
    from tvm import tirx

    if each.reads[0] == each.reads[1] and each.name in ("ne", "eq") and "float" in str(a.dtype):
        nan = is_nan(a, str(a.dtype))
        return nan if each.name == "ne" else tirx.Not(nan)
    if str(a.dtype) == "bool":
        a, b = a.astype("int8"), b.astype("int8")
    match each.name:
        case "eq":
            return a.equal(b)
        case "ne":
            return a != b
        case "lt":
            return a < b
        case "le":
            return a <= b
        case "gt":
            return a > b
        case _:
            return a >= b


SCALARS: Mapping[str, Callable[..., Expr]] = MappingProxyType(
    dict.fromkeys(_FUNCTIONS, _function)
    | {
        "abs": _abs,
        "add": lambda each, a, b: a + b,
        "and": _logical,
        "cast": _cast,
        "div": _divided,
        "eq": _compared,
        "fmod": _fmod,
        "ge": _compared,
        "gt": _compared,
        "identity": lambda each, x: x,
        "int_div": _divided,
        "le": _compared,
        "lt": _compared,
        "max": _extreme,
        "min": _extreme,
        "mod": _mod,
        "mul": lambda each, a, b: a * b,
        "ne": _compared,
        "neg": lambda each, x: -x,
        "not": _logical,
        "or": _logical,
        "pow": _pow,
        "relu": _relu,
        "shift_left": _shifted,
        "shift_right": _shifted,
        "sign": _sign,
        "sub": lambda each, a, b: a - b,
        "where": _where,
        "xor": _logical,
        "expand": lambda each, x: x,
    }
)
"""Primitives that compute each element by itself."""
