"""Primitives that compute each element by itself, as expressions of C on the elements of their operands.

Integers wrap as numpy's do, and no expression is undefined: overflow, shifts by too much, division by zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from intarsia.backends.c.kernels import mathematics
from intarsia.codegen.emit import TYPES
from intarsia.codegen.module import BYTES, Function

FLOATS = frozenset({"float32", "float64"})
_WIDE = {"int8": "uint32_t", "int16": "uint32_t", "uint8": "uint32_t", "uint16": "uint32_t",
         "int32": "uint32_t", "uint32": "uint32_t", "int64": "uint64_t", "uint64": "uint64_t"}  # fmt: skip
"""What integers are added and multiplied in: unsigned, where running over is defined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """An expression, and what it needs.

    Attributes:
        text: In C, of the result's type.
        needs: Functions that it calls.
        headers: What those are declared in.
    """

    text: str
    needs: tuple[Function, ...] = ()
    headers: tuple[str, ...] = ()


def is_float(dtype: str) -> bool:
    """Whether it is one of the types of numbers with a fraction that C computes in."""
    return dtype in FLOATS


def number(value: float | int | bool, dtype: str) -> Scalar:
    """A literal of a type."""
    if is_float(dtype):
        if np.isnan(value):
            return Scalar(text="NAN" if dtype == "float32" else "(double)NAN", headers=("<math.h>",))
        if np.isinf(value):
            sign = "-" if value < 0 else ""
            kind = "" if dtype == "float32" else "(double)"
            return Scalar(text=f"({sign}{kind}INFINITY)", headers=("<math.h>",))
        exact = np.float32(value) if dtype == "float32" else np.float64(value)
        text = f"{float(exact)!r}f" if dtype == "float32" else repr(float(exact))
        return Scalar(text=f"({text})" if text.startswith("-") else text)
    whole = int(value)
    if dtype == "bool":
        return Scalar(text=str(int(bool(whole))))
    bits = 8 * BYTES[dtype]
    if dtype.startswith("u"):
        return Scalar(text=f"UINT{bits}_C({whole})" if bits > 16 else f"((uint{bits}_t){whole})")
    if whole == -(1 << (bits - 1)):
        return Scalar(text=f"INT{bits}_MIN")
    text = f"INT{bits}_C({whole})" if bits > 16 else f"((int{bits}_t){whole})"
    return Scalar(text=text if whole >= 0 else f"({text})")


def scalar(name: str, dtype: str, of: Sequence[str], operands: Sequence[str]) -> Scalar:
    """An instruction on single elements.

    Args:
        name: Of the instruction.
        dtype: Of its result.
        of: The types of its operands.
        operands: Expressions without side effects: names of variables, or literals.

    Raises:
        KeyError: C has no such expression.
    """
    return _RULES[name](name, dtype, of, tuple(operands))


def _plain(text: str) -> Scalar:
    return Scalar(text=text)


def _arithmetic(name: str, dtype: str, of: Sequence[str], x: tuple[str, ...]) -> Scalar:
    sign = {"add": "+", "sub": "-", "mul": "*"}[name]
    if is_float(dtype):
        return _plain(f"({x[0]} {sign} {x[1]})")
    if dtype == "bool":
        return _plain(f"(uint8_t)(({x[0]} {'!=' if name == 'sub' else sign} {x[1]}) != 0)")
    wide = _WIDE[dtype]
    return _plain(f"({TYPES[dtype]})(({wide}){x[0]} {sign} ({wide}){x[1]})")


def _extreme(name: str, dtype: str, of: Sequence[str], x: tuple[str, ...]) -> Scalar:
    """The greater or the less; where one is no number, that."""
    sign = ">" if name == "max" else "<"
    a, b = x
    if is_float(dtype) and not _is_number(b):
        return _plain(f"(({a} {sign} {b} || {a} != {a}) ? {a} : {b})")
    # A literal is a number: where a is none, the comparison fails, and a stays.
    turned = "<" if name == "max" else ">"
    return _plain(f"({a} {turned} {b} ? {b} : {a})")


def _is_number(text: str) -> bool:
    return text.lstrip("(-")[:1].isdigit() or "INFINITY" in text


def _function(name: str, dtype: str, of: Sequence[str], x: tuple[str, ...]) -> Scalar:
    own = mathematics.FLOAT.get(name) if dtype == "float32" else None
    if own is not None:
        return Scalar(text=f"{own.name}({x[0]})", needs=(own,), headers=own.headers)
    call = f"{_C_NAMES.get(name, name)}{'f' if dtype == 'float32' else ''}({', '.join(x)})"
    return Scalar(text=call, headers=("<math.h>",))


_C_NAMES = {"round": "rint", "abs": "fabs", "pow": "pow", "fmod": "fmod"}
"""Functions of C that are called otherwise than the instruction."""


def _sigmoid(name: str, dtype: str, of: Sequence[str], x: tuple[str, ...]) -> Scalar:
    inner = _function("exp", dtype, of, (f"-{x[0]}",))
    one = "1.0f" if dtype == "float32" else "1.0"
    return Scalar(text=f"({one} / ({one} + {inner.text}))", needs=inner.needs, headers=inner.headers)


def _abs(name: str, dtype: str, of: Sequence[str], x: tuple[str, ...]) -> Scalar:
    if is_float(dtype):
        return _function(name, dtype, of, x)
    if dtype.startswith(("u", "b")):
        return _plain(x[0])
    return _plain(f"({x[0]} < 0 ? {_neg('neg', dtype, of, x).text} : {x[0]})")


def _neg(name: str, dtype: str, of: Sequence[str], x: tuple[str, ...]) -> Scalar:
    if is_float(dtype):
        return _plain(f"(-{x[0]})")
    return _plain(f"({TYPES[dtype]})(0u - ({_WIDE[dtype]}){x[0]})")


def _sign(name: str, dtype: str, of: Sequence[str], x: tuple[str, ...]) -> Scalar:
    if is_float(dtype):
        one = number(1, dtype).text
        return _plain(f"({x[0]} > 0 ? {one} : ({x[0]} < 0 ? -{one} : {x[0]}))")
    return _plain(f"({TYPES[dtype]})(({x[0]} > 0) - ({x[0]} < 0))" if dtype[0] != "u" else
                  f"({TYPES[dtype]})({x[0]} != 0)")  # fmt: skip


def _called(name: str, dtype: str, of: Sequence[str], x: tuple[str, ...]) -> Scalar:
    """Division, what is left of it, shifts and powers of integers: functions that are defined for all numbers."""
    made = mathematics.whole(name, dtype)
    return Scalar(text=f"{made.name}({', '.join(x)})", needs=(made,), headers=made.headers)


def _div(name: str, dtype: str, of: Sequence[str], x: tuple[str, ...]) -> Scalar:
    if is_float(dtype):
        return _plain(f"({x[0]} / {x[1]})")
    return _called("int_div", dtype, of, x)


def _mod(name: str, dtype: str, of: Sequence[str], x: tuple[str, ...]) -> Scalar:
    if is_float(dtype):
        made = mathematics.remainder(dtype)
        return Scalar(text=f"{made.name}({x[0]}, {x[1]})", needs=(made,), headers=made.headers)
    return _called(name, dtype, of, x)


def _either(name: str, dtype: str, of: Sequence[str], x: tuple[str, ...]) -> Scalar:
    """A function of C for floats, one of ours for integers."""
    return _function(name, dtype, of, x) if is_float(dtype) else _called(name, dtype, of, x)


def _bits(name: str, dtype: str, of: Sequence[str], x: tuple[str, ...]) -> Scalar:
    if name == "not":
        return _plain(f"(uint8_t)(!{x[0]})" if dtype == "bool" else f"({TYPES[dtype]})(~{x[0]})")
    return _plain(f"({TYPES[dtype]})({x[0]} {'&' if name == 'and' else '|' if name == 'or' else '^'} {x[1]})")


def _compare(name: str, dtype: str, of: Sequence[str], x: tuple[str, ...]) -> Scalar:
    sign = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}[name]
    return _plain(f"(uint8_t)({x[0]} {sign} {x[1]})")


def _where(name: str, dtype: str, of: Sequence[str], x: tuple[str, ...]) -> Scalar:
    return _plain(f"({x[0]} ? {x[1]} : {x[2]})")


def _identity(name: str, dtype: str, of: Sequence[str], x: tuple[str, ...]) -> Scalar:
    return _plain(x[0])


def _cast(name: str, dtype: str, of: Sequence[str], x: tuple[str, ...]) -> Scalar:
    if dtype == "bool":
        return _plain(f"(uint8_t)({x[0]} != 0)")
    if is_float(of[0]) and not is_float(dtype):
        made = mathematics.truncation(of[0], dtype)
        return Scalar(text=f"{made.name}({x[0]})", needs=(made,), headers=made.headers)
    return _plain(f"({TYPES[dtype]}){x[0]}")


def _relu(name: str, dtype: str, of: Sequence[str], x: tuple[str, ...]) -> Scalar:
    if dtype[0] in "ub":
        return _plain(x[0])
    return _extreme("max", dtype, of, (x[0], number(0, dtype).text))


def _rounded(name: str, dtype: str, of: Sequence[str], x: tuple[str, ...]) -> Scalar:
    return _function(name, dtype, of, x) if is_float(dtype) else _plain(x[0])


_Rule = Callable[[str, str, Sequence[str], tuple[str, ...]], Scalar]
_RULES: Mapping[str, _Rule] = MappingProxyType(
    dict.fromkeys(("add", "sub", "mul"), _arithmetic)
    | dict.fromkeys(("max", "min"), _extreme)
    | dict.fromkeys(("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "exp", "log", "sin",
                     "sinh", "sqrt", "tan", "tanh"), _function)
    | dict.fromkeys(("ceil", "floor", "round"), _rounded)
    | dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), _compare)
    | dict.fromkeys(("and", "or", "xor", "not"), _bits)
    | dict.fromkeys(("int_div", "shift_left", "shift_right"), _called)
    | dict.fromkeys(("pow", "fmod"), _either)
    | {"abs": _abs, "neg": _neg, "sign": _sign, "div": _div, "mod": _mod, "where": _where, "identity": _identity,
       "cast": _cast, "relu": _relu, "sigmoid": _sigmoid}
)  # fmt: skip

ELEMENTWISE = frozenset(_RULES)
"""Instructions that compute each element by itself."""
OF_FLOATS = frozenset(name for name, rule in _RULES.items() if rule in (_function, _sigmoid))
"""Those that are defined for floats alone."""
