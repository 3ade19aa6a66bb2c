"""Operators that compute each element by itself."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial, reduce

import numpy as np

from intarsia.backends.lowering.composites import (
    clip,
    reciprocal,
    relu,
    sigmoid,
    softplus,
)
from intarsia.backends.lowering.program import Term, UnsupportedError
from intarsia.backends.lowering.site import Rule, Site

_SELU_ALPHA, _SELU_GAMMA = 1.67326319217681884765625, 1.05070102214813232421875
"""ONNX's defaults, https://onnx.ai/onnx/operators/onnx__Selu.html."""


def _unary(name: str, site: Site) -> Term:
    return site.builder.unary(name, site.operand(0))


def _binary(name: str, site: Site) -> Term:
    return site.builder.binary(name, site.operand(0), site.operand(1))


def _compare(name: str, site: Site) -> Term:
    return site.builder.compare(name, site.operand(0), site.operand(1))


def _all(name: str, site: Site) -> Term:
    return reduce(partial(site.builder.binary, name), site.operands())


def _mean(site: Site) -> Term:
    return site.builder.binary("div", _all("add", site), site.count)


def _div(site: Site) -> Term:
    x, y = site.operand(0), site.operand(1)
    return site.builder.binary("div" if x.is_float else "int_div", x, y)


def _mod(site: Site) -> Term:
    return _binary("fmod" if site.get("fmod", 0) else "mod", site)


def _pow(site: Site) -> Term:
    x, y = site.operand(0), site.operand(1)
    b = site.builder
    if x.dtype == y.dtype:
        return b.binary("pow", x, y)
    wide = "float64" if "64" in x.dtype + y.dtype else "float32"
    return b.cast(b.binary("pow", b.cast(x, wide), b.cast(y, wide)), x.dtype)


def _shift(site: Site) -> Term:
    return _binary("shift_left" if site.get("direction") == "LEFT" else "shift_right", site)


def _where(site: Site) -> Term:
    return site.builder.where(site.operand(0), site.operand(1), site.operand(2))


def _cast(site: Site) -> Term:
    if site.get("saturate", 1) == 0:
        raise UnsupportedError("a cast without saturation")
    x, dtype = site.operand(0), site.dtype_of_output()
    if dtype.startswith("float8") or x.dtype == "string" or dtype == "string":
        raise UnsupportedError(f"a cast from {x.dtype} to {dtype}")
    return site.builder.cast(x, dtype)


def _clip(site: Site) -> Term:
    return clip(site.builder, site.operand(0), site.optional(1), site.optional(2))


def _is_inf(site: Site) -> Term:
    b, x = site.builder, site.operand(0)
    flags = [
        b.compare("eq", x, sign * float("inf"))
        for sign, name in ((1, "detect_positive"), (-1, "detect_negative"))
        if site.get(name, 1)
    ]
    return reduce(partial(b.binary, "or"), flags) if flags else b.compare("ne", x, x)


def _leaky(site: Site) -> Term:
    b, x = site.builder, site.operand(0)
    alpha = site.get("alpha", 0.01)
    if "leaky_relu" in b.natives:
        return b.emit("leaky_relu", (x,), x.dtype, x.shape, alpha=alpha)
    return b.where(b.compare("lt", x, 0), b.binary("mul", x, alpha), x)


def _prelu(site: Site) -> Term:
    b, x, slope = site.builder, site.operand(0), site.operand(1)
    if "prelu" in b.natives:
        return b.emit("prelu", (x, slope), x.dtype, x.shape)
    return b.where(b.compare("lt", x, 0), b.binary("mul", x, slope), x)


def _exponential(site: Site, alpha: float, gamma: float = 1.0, inside: float = 1.0) -> Term:
    b, x = site.builder, site.operand(0)
    # Of what is not positive alone: the branch that is not taken must not run over.
    low = b.binary("sub", b.unary("exp", b.binary("div", b.binary("min", x, 0), inside)), 1.0)
    found = b.where(b.compare("lt", x, 0), b.binary("mul", low, alpha), x)
    return found if gamma == 1.0 else b.binary("mul", found, gamma)


def _elu(site: Site) -> Term:
    return _exponential(site, site.get("alpha", 1.0))


def _celu(site: Site) -> Term:
    alpha = site.get("alpha", 1.0)
    return _exponential(site, alpha, inside=alpha)


def _selu(site: Site) -> Term:
    return _exponential(site, site.get("alpha", _SELU_ALPHA), site.get("gamma", _SELU_GAMMA))


def _hard_sigmoid(site: Site, alpha: float | None = None, beta: float | None = None) -> Term:
    b, x = site.builder, site.operand(0)
    steep = site.get("alpha", 0.2) if alpha is None else alpha
    offset = site.get("beta", 0.5) if beta is None else beta
    return clip(b, b.binary("add", b.binary("mul", x, steep), offset), 0.0, 1.0)


def _hard_swish(site: Site) -> Term:
    x = site.operand(0)
    if "hard_swish" in site.builder.natives:
        return site.builder.unary("hard_swish", x)
    return site.builder.binary("mul", x, _hard_sigmoid(site, 1 / 6, 0.5))


def _mish(site: Site) -> Term:
    b, x = site.builder, site.operand(0)
    return b.binary("mul", x, b.unary("tanh", softplus(b, x)))


def _soft_sign(site: Site) -> Term:
    b, x = site.builder, site.operand(0)
    return b.binary("div", x, b.binary("add", b.unary("abs", x), 1.0))


def _thresholded(site: Site) -> Term:
    b, x = site.builder, site.operand(0)
    return b.where(b.compare("gt", x, site.get("alpha", 1.0)), x, b.scalar(0, x))


def _shrink(site: Site) -> Term:
    b, x = site.builder, site.operand(0)
    bias, lambd = site.get("bias", 0.0), site.get("lambd", 0.5)
    high = b.where(b.compare("gt", x, lambd), b.binary("sub", x, bias), b.scalar(0, x))
    return b.where(b.compare("lt", x, -lambd), b.binary("add", x, bias), high)


def _gelu(site: Site) -> Term:
    b, x = site.builder, site.operand(0)
    kind = site.get("approximate", "none")
    if "gelu" in b.natives:
        return b.emit("gelu", (x,), x.dtype, x.shape, approximate=kind)
    if kind == "tanh":
        cube = b.binary("mul", b.binary("mul", x, x), b.binary("mul", x, 0.044715))
        bent = b.unary("tanh", b.binary("mul", b.binary("add", x, cube), float(np.sqrt(2 / np.pi))))
    else:
        bent = b.unary("erf", b.binary("mul", x, float(np.sqrt(0.5))))
    return b.binary("mul", b.binary("mul", x, 0.5), b.binary("add", bent, 1.0))


def _swish(site: Site) -> Term:
    b, x = site.builder, site.operand(0)
    alpha = site.get("alpha", 1.0)
    return b.binary("mul", x, sigmoid(b, x if alpha == 1.0 else b.binary("mul", x, alpha)))


def _dropout(site: Site) -> list[Term | None]:
    b, x = site.builder, site.operand(0)
    if site.has(2) and bool(site.known(2)):
        raise UnsupportedError("it draws random numbers in training")
    mask = b.expand(b.constant(np.array(True)), x.shape) if site.wants(1) else None
    return [_same(site), mask]


def _same(site: Site) -> Term:
    x = site.operand(0)
    return site.builder.unary("identity", x)


def _on_first(rule: object, site: Site) -> Term:
    assert callable(rule)
    found: Term = rule(site.builder, site.operand(0))
    return found


_UNARY = {
    "Abs": "abs", "Acos": "acos", "Acosh": "acosh", "Asin": "asin", "Asinh": "asinh", "Atan": "atan", "Atanh": "atanh",
    "BitwiseNot": "not", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Erf": "erf", "Exp": "exp", "Floor": "floor",
    "Log": "log", "Neg": "neg", "Not": "not", "Round": "round", "Sign": "sign", "Sin": "sin", "Sinh": "sinh",
    "Sqrt": "sqrt", "Tan": "tan", "Tanh": "tanh",
}  # fmt: skip
_BINARY = {
    "Add": "add", "And": "and", "BitwiseAnd": "and", "BitwiseOr": "or", "BitwiseXor": "xor", "Mul": "mul", "Or": "or",
    "Sub": "sub", "Xor": "xor",
}  # fmt: skip
_COMPARISONS = {"Equal": "eq", "Greater": "gt", "GreaterOrEqual": "ge", "Less": "lt", "LessOrEqual": "le"}

RULES: Mapping[str, Rule] = {
    **{op_type: partial(_unary, name) for op_type, name in _UNARY.items()},
    **{op_type: partial(_binary, name) for op_type, name in _BINARY.items()},
    **{op_type: partial(_compare, name) for op_type, name in _COMPARISONS.items()},
    "Cast": _cast,
    "CastLike": _cast,
    "Celu": _celu,
    "Clip": _clip,
    "Div": _div,
    "Dropout": _dropout,
    "Elu": _elu,
    "Gelu": _gelu,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _hard_swish,
    "Identity": _same,
    "IsInf": _is_inf,
    "IsNaN": lambda site: site.builder.compare("ne", site.operand(0), site.operand(0)),
    "LeakyRelu": _leaky,
    "Max": partial(_all, "max"),
    "Mean": _mean,
    "Min": partial(_all, "min"),
    "Mish": _mish,
    "Mod": _mod,
    "PRelu": _prelu,
    "Pow": _pow,
    "BitShift": _shift,
    "Reciprocal": partial(_on_first, reciprocal),
    "Relu": partial(_on_first, relu),
    "Selu": _selu,
    "Shrink": _shrink,
    "Sigmoid": partial(_on_first, sigmoid),
    "Softplus": partial(_on_first, softplus),
    "Softsign": _soft_sign,
    "Sum": partial(_all, "add"),
    "Swish": _swish,
    "ThresholdedRelu": _thresholded,
    "Where": _where,
}
