"""Primitives that compute each element by itself, in LiteRT's operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from intarsia.backends.litert.builder import Laid, ModelBuilder, NoKernelError
from intarsia.backends.litert.gelu import ERF
from intarsia.backends.lowering.program import Instruction

Writer = Callable[[ModelBuilder, Instruction, Sequence[Laid]], Laid]
"""Appends the operators that compute an instruction."""

_UNARY = {
    "abs": "ABS", "ceil": "CEIL", "cos": "COS", "exp": "EXP", "floor": "FLOOR", "hard_swish": "HARD_SWISH",
    "log": "LOG", "neg": "NEG", "round": "ROUND", "sigmoid": "LOGISTIC", "sign": "SIGN", "sin": "SIN", "sqrt": "SQRT",
    "tanh": "TANH",
}  # fmt: skip
_BINARY = {
    "add": "ADD", "div": "DIV", "int_div": "DIV", "mod": "FLOOR_MOD", "mul": "MUL", "pow": "POW", "sub": "SUB",
}  # fmt: skip
_COMPARISONS = {
    "eq": "EQUAL", "ge": "GREATER_EQUAL", "gt": "GREATER", "le": "LESS_EQUAL", "lt": "LESS", "ne": "NOT_EQUAL",
}  # fmt: skip


_WIDER = {"int8": "int32", "uint8": "int32", "int16": "int32", "uint16": "int32", "uint32": "int64"}
"""Whole numbers that kernels take for quantised ones or do not take, and what they are computed in instead."""


def _direct(name: str) -> Writer:
    return lambda d, each, reads: d.compute(name, *reads, dtype=each.dtype)


def _widened(name: str) -> Writer:
    """An operator whose result in more bits, cut off, is the result."""

    def write(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
        wide = _WIDER.get(reads[0].dtype)
        if wide is None:
            return d.compute(name, *reads, dtype=each.dtype)
        dtype = "bool" if each.dtype == "bool" else wide
        found = d.compute(name, *(_typed(d, read, wide) for read in reads), dtype=dtype)
        return _typed(d, found, each.dtype)

    return write


def _typed(d: ModelBuilder, x: Laid, dtype: str) -> Laid:
    if x.dtype == dtype:
        return x
    return d.compute("CAST", x, dtype=dtype, inDataType=x.dtype, outDataType=dtype)


def _other_side(d: ModelBuilder, x: Laid) -> Laid:
    """The third side of a right-angled triangle: the root of 1 - x^2, exact where x is near 1."""
    return d.compute("SQRT", d.compute("MUL", d.compute("SUB", 1.0, x), d.compute("ADD", x, 1.0)))


def _atan(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    (x,) = reads  # operands of ATAN2 are not broadcast
    ones = d.emit("BROADCAST_TO", [d.constant(1, x.dtype), d.constant(x.stored)], x.dtype, x.stored)
    return d.compute("ATAN2", x, Laid(ones, x.dtype, x.shape, x.order))


def _asinh(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    (x,) = reads
    far = d.compute("ABS", x)
    root = d.compute("SQRT", d.compute("ADD", d.compute("MUL", x, x), 1.0))
    return d.compute("MUL", d.compute("SIGN", x), d.compute("LOG", d.compute("ADD", far, root)))


def _acosh(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    (x,) = reads
    root = d.compute("SQRT", d.compute("MUL", d.compute("SUB", x, 1.0), d.compute("ADD", x, 1.0)))
    return d.compute("LOG", d.compute("ADD", x, root))


def _atanh(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    (x,) = reads
    ratio = d.compute("DIV", d.compute("ADD", x, 1.0), d.compute("SUB", 1.0, x))
    return d.compute("MUL", d.compute("LOG", ratio), 0.5)


def _hyperbolic(combined: str, d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    up, down = d.compute("EXP", reads[0]), d.compute("EXP", d.compute("NEG", reads[0]))
    return d.compute("MUL", d.compute(combined, up, down), 0.5)


def _bits(logical: str, d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    if each.dtype != "bool":
        raise NoKernelError(f"{each.name} of {each.dtype}")
    return d.compute(logical, *reads)


def _not(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    if each.dtype == "bool":
        return d.compute("LOGICAL_NOT", reads[0])
    ones = -1 if each.dtype.startswith("int") else 2 ** int(each.dtype.removeprefix("uint")) - 1
    return d.compute("BITWISE_XOR", reads[0], ones)


def _fmod(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    """The remainder with the sign of what is divided."""
    x, y = reads
    if each.dtype.startswith("float"):
        rest = d.compute("FLOOR_MOD", d.compute("ABS", x), d.compute("ABS", y))
        return d.compute("MUL", d.compute("SIGN", x), rest)
    wide = _WIDER.get(each.dtype, each.dtype)
    a, b = _typed(d, x, wide), _typed(d, y, wide)
    return _typed(d, d.compute("SUB", a, d.compute("MUL", d.compute("DIV", a, b), b)), each.dtype)


def _shift_right(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    """The kernel shifts by no less than nothing and by all bits but one at most."""
    x, y = reads
    far = _typed(d, y, "int64")
    width = int(each.dtype.removeprefix("u").removeprefix("int"))
    if each.dtype.startswith("u"):
        is_near = d.compute("LESS", far, width, dtype="bool")
        shifted = d.compute("RIGHT_SHIFT", x, y)
        return d.compute("SELECT_V2", is_near, shifted, d.number(0, each.dtype), dtype=each.dtype)
    is_negative = d.compute("LESS", far, 0, dtype="bool")
    most = d.compute("SELECT_V2", is_negative, d.number(width - 1, each.dtype), y, dtype=each.dtype)
    return d.compute("RIGHT_SHIFT", x, most)


def _relu(d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    return d.compute("RELU", reads[0]) if each.dtype == "float32" else d.compute("MAXIMUM", reads[0], 0)


def _extreme(name: str, d: ModelBuilder, each: Instruction, reads: Sequence[Laid]) -> Laid:
    """With 0 it is a RELU, which goes into the operator before it."""
    content = d.content(reads[1])
    if each.dtype in ("uint16", "uint32"):
        return _widened(name)(d, each, reads)
    if name == "MAXIMUM" and each.dtype == "float32" and content is not None and content.shape == () and content == 0:
        return d.compute("RELU", reads[0])
    return d.compute(name, *reads)


WRITERS: Mapping[str, Writer] = {
    **{name: _direct(operator) for name, operator in _UNARY.items()},
    **{name: _widened(operator) for name, operator in (_BINARY | _COMPARISONS).items()},
    "acos": lambda d, each, reads: d.compute("ATAN2", _other_side(d, reads[0]), reads[0]),
    "acosh": _acosh,
    "and": partial(_bits, "LOGICAL_AND"),
    "asin": lambda d, each, reads: d.compute("ATAN2", reads[0], _other_side(d, reads[0])),
    "asinh": _asinh,
    "atan": _atan,
    "atanh": _atanh,
    "cast": lambda d, each, reads: _typed(d, reads[0], each.dtype),
    "cosh": partial(_hyperbolic, "ADD"),
    "erf": _direct(ERF),
    "fmod": _fmod,
    "gelu": lambda d, each, reads: d.compute("GELU", reads[0], approximate=each.attributes["approximate"] == "tanh"),
    "identity": lambda d, each, reads: reads[0],
    "leaky_relu": lambda d, each, reads: d.compute("LEAKY_RELU", reads[0], alpha=each.attributes["alpha"]),
    "max": partial(_extreme, "MAXIMUM"),
    "min": partial(_extreme, "MINIMUM"),
    "not": _not,
    "prelu": _direct("PRELU"),
    "or": partial(_bits, "LOGICAL_OR"),
    "relu": _relu,
    "shift_right": _shift_right,
    "sinh": partial(_hyperbolic, "SUB"),
    "tan": lambda d, each, reads: d.compute("DIV", d.compute("SIN", reads[0]), d.compute("COS", reads[0])),
    "where": _direct("SELECT_V2"),
    "xor": lambda d, each, reads: d.compute("NOT_EQUAL" if each.dtype == "bool" else "BITWISE_XOR", *reads),
}
