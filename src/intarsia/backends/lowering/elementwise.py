"""Operators that compute each element by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, reduce

import numpy as np

from intarsia.backends.lowering.builder import Builder
from intarsia.backends.lowering.composites import clip, reciprocal, relu, sigmoid, softplus
from intarsia.backends.lowering.node_context import NodeContext, Rule
from intarsia.backends.lowering.program import Term, UnsupportedError

_SELU_ALPHA, _SELU_GAMMA = 1.67326319217681884765625, 1.05070102214813232421875
"""ONNX's defaults, https://onnx.ai/onnx/operators/onnx__Selu.html."""


def _unary(name: str, ctx: NodeContext) -> Term:
    return ctx.builder.unary(name, ctx.operand(0))


def _binary(name: str, ctx: NodeContext) -> Term:
    return ctx.builder.binary(name, ctx.operand(0), ctx.operand(1))


def _compare(name: str, ctx: NodeContext) -> Term:
    return ctx.builder.compare(name, ctx.operand(0), ctx.operand(1))


def _all(name: str, ctx: NodeContext) -> Term:
    return reduce(partial(ctx.builder.binary, name), ctx.operands())


def _pow(ctx: NodeContext) -> Term:
    x, y = ctx.operand(0), ctx.operand(1)
    b = ctx.builder
    if x.dtype == y.dtype:
        return b.binary("pow", x, y)
    wide = "float64" if "64" in x.dtype + y.dtype else "float32"
    return b.cast(b.binary("pow", b.cast(x, wide), b.cast(y, wide)), x.dtype)


def _cast(ctx: NodeContext) -> Term:
    if ctx.get("saturate", 1) == 0:
        raise UnsupportedError("a cast without saturation")
    x, dtype = ctx.operand(0), ctx.dtype_of_output()
    if dtype.startswith("float8") or x.dtype == "string" or dtype == "string":
        raise UnsupportedError(f"a cast from {x.dtype} to {dtype}")
    return ctx.builder.cast(x, dtype)


def _is_inf(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    flags = [
        b.compare("eq", x, sign * float("inf"))
        for sign, name in ((1, "detect_positive"), (-1, "detect_negative"))
        if ctx.get(name, 1)
    ]
    return reduce(partial(b.binary, "or"), flags) if flags else b.compare("ne", x, x)


def _leaky(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    alpha = ctx.get("alpha", 0.01)
    if "leaky_relu" in b.natives:
        return b.emit("leaky_relu", (x,), x.dtype, x.shape, alpha=alpha)
    return b.where(b.compare("lt", x, 0), b.binary("mul", x, alpha), x)


def _prelu(ctx: NodeContext) -> Term:
    b, x, slope = ctx.builder, ctx.operand(0), ctx.operand(1)
    if "prelu" in b.natives:
        return b.emit("prelu", (x, slope), x.dtype, x.shape)
    return b.where(b.compare("lt", x, 0), b.binary("mul", x, slope), x)


def _exponential(ctx: NodeContext, alpha: float, gamma: float = 1.0, inside: float = 1.0) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    # Of what is not positive alone: the branch that is not taken must not run over.
    low = b.binary("sub", b.unary("exp", b.binary("div", b.binary("min", x, 0), inside)), 1.0)
    found = b.where(b.compare("lt", x, 0), b.binary("mul", low, alpha), x)
    return found if gamma == 1.0 else b.binary("mul", found, gamma)


def _hard_sigmoid(ctx: NodeContext, alpha: float | None = None, beta: float | None = None) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    steep = ctx.get("alpha", 0.2) if alpha is None else alpha
    offset = ctx.get("beta", 0.5) if beta is None else beta
    return clip(b, b.binary("add", b.binary("mul", x, steep), offset), 0.0, 1.0)


def _hard_swish(ctx: NodeContext) -> Term:
    x = ctx.operand(0)
    if "hard_swish" in ctx.builder.natives:
        return ctx.builder.unary("hard_swish", x)
    return ctx.builder.binary("mul", x, _hard_sigmoid(ctx, 1 / 6, 0.5))


def _thresholded(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    return b.where(b.compare("gt", x, ctx.get("alpha", 1.0)), x, b.scalar(0, x))


def _shrink(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    bias, lambd = ctx.get("bias", 0.0), ctx.get("lambd", 0.5)
    high = b.where(b.compare("gt", x, lambd), b.binary("sub", x, bias), b.scalar(0, x))
    return b.where(b.compare("lt", x, -lambd), b.binary("add", x, bias), high)


def _gelu(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    kind = ctx.get("approximate", "none")
    if "gelu" in b.natives:
        return b.emit("gelu", (x,), x.dtype, x.shape, approximate=kind)
    if kind == "tanh":
        cube = b.binary("mul", b.binary("mul", x, x), b.binary("mul", x, 0.044715))
        bent = b.unary("tanh", b.binary("mul", b.binary("add", x, cube), float(np.sqrt(2 / np.pi))))
    else:
        bent = b.unary("erf", b.binary("mul", x, float(np.sqrt(0.5))))
    return b.binary("mul", b.binary("mul", x, 0.5), b.binary("add", bent, 1.0))


def _swish(ctx: NodeContext) -> Term:
    b, x = ctx.builder, ctx.operand(0)
    alpha = ctx.get("alpha", 1.0)
    return b.binary("mul", x, sigmoid(b, x if alpha == 1.0 else b.binary("mul", x, alpha)))


def _dropout(ctx: NodeContext) -> list[Term | None]:
    b, x = ctx.builder, ctx.operand(0)
    if ctx.has(2) and bool(ctx.known(2)):
        raise UnsupportedError("it draws random numbers in training")
    mask = b.expand(b.constant(np.array(True)), x.shape) if ctx.wants(1) else None
    return [_unary("identity", ctx), mask]


def _on_first(rule: Callable[[Builder, Term], Term]) -> Rule:
    return lambda ctx: rule(ctx.builder, ctx.operand(0))


_UNARY = {
    "Abs": "abs", "Acos": "acos", "Acosh": "acosh", "Asin": "asin", "Asinh": "asinh", "Atan": "atan", "Atanh": "atanh",
    "BitwiseNot": "not", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Erf": "erf", "Exp": "exp", "Floor": "floor",
    "Identity": "identity", "Log": "log", "Neg": "neg", "Not": "not", "Round": "round", "Sign": "sign", "Sin": "sin",
    "Sinh": "sinh", "Sqrt": "sqrt", "Tan": "tan", "Tanh": "tanh",
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
    "BitShift": lambda ctx: _binary("shift_left" if ctx.get("direction") == "LEFT" else "shift_right", ctx),
    **dict.fromkeys(("Cast", "CastLike"), _cast),
    "Celu": lambda ctx: _exponential(ctx, ctx.get("alpha", 1.0), inside=ctx.get("alpha", 1.0)),
    "Clip": lambda ctx: clip(ctx.builder, ctx.operand(0), ctx.optional(1), ctx.optional(2)),
    "Div": lambda ctx: _binary("div" if ctx.operand(0).is_float else "int_div", ctx),
    "Dropout": _dropout,
    "Elu": lambda ctx: _exponential(ctx, ctx.get("alpha", 1.0)),
    "Gelu": _gelu,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _hard_swish,
    "IsInf": _is_inf,
    "IsNaN": _on_first(lambda b, x: b.compare("ne", x, x)),
    "LeakyRelu": _leaky,
    "Max": partial(_all, "max"),
    "Mean": lambda ctx: ctx.builder.binary("div", _all("add", ctx), ctx.count),
    "Min": partial(_all, "min"),
    "Mish": _on_first(lambda b, x: b.binary("mul", x, b.unary("tanh", softplus(b, x)))),
    "Mod": lambda ctx: _binary("fmod" if ctx.get("fmod", 0) else "mod", ctx),
    "PRelu": _prelu,
    "Pow": _pow,
    "Reciprocal": _on_first(reciprocal),
    "Relu": _on_first(relu),
    "Selu": lambda ctx: _exponential(ctx, ctx.get("alpha", _SELU_ALPHA), ctx.get("gamma", _SELU_GAMMA)),
    "Shrink": _shrink,
    "Sigmoid": _on_first(sigmoid),
    "Softplus": _on_first(softplus),
    "Softsign": _on_first(lambda b, x: b.binary("div", x, b.binary("add", b.unary("abs", x), 1.0))),
    "Sum": partial(_all, "add"),
    "Swish": _swish,
    "ThresholdedRelu": _thresholded,
    "Where": lambda ctx: ctx.builder.where(*ctx.operands()),
}
