"""Operations that some engines have as one, spelled out in primitives for the others."""

from __future__ import annotations

from collections.abc import Sequence

from intarsia.backends.lowering.builder import Builder, along_axis
from intarsia.backends.lowering.program import Term


def relu(b: Builder, x: Term) -> Term:
    """The greater of x and 0."""
    return b.unary("relu", x) if "relu" in b.natives else b.binary("max", x, 0)


def sigmoid(b: Builder, x: Term) -> Term:
    """1 / (1 + exp(-x))."""
    if "sigmoid" in b.natives:
        return b.unary("sigmoid", x)
    # By way of tanh, since exp(-x) runs over for large negative x.
    return b.binary("mul", b.binary("add", b.unary("tanh", b.binary("mul", x, 0.5)), 1.0), 0.5)


def reciprocal(b: Builder, x: Term) -> Term:
    """1 / x."""
    return b.binary("div", b.scalar(1, x), x)


def square(b: Builder, x: Term) -> Term:
    """The product of x with itself."""
    return b.binary("mul", x, x)


def softmax(b: Builder, x: Term, axis: int) -> Term:
    """Exponentials that add up to 1 along the axis."""
    if "softmax" in b.natives:
        return b.emit("softmax", (x,), x.dtype, x.shape, axis=axis)
    e = b.unary("exp", b.binary("sub", x, b.reduce("max", x, [axis])))
    return b.binary("div", e, b.reduce("sum", e, [axis]))


def log_softmax(b: Builder, x: Term, axis: int) -> Term:
    """Its logarithm."""
    if "log_softmax" in b.natives:
        return b.emit("log_softmax", (x,), x.dtype, x.shape, axis=axis)
    low = b.binary("sub", x, b.reduce("max", x, [axis]))
    return b.binary("sub", low, b.unary("log", b.reduce("sum", b.unary("exp", low), [axis])))


def softplus(b: Builder, x: Term) -> Term:
    """log(1 + exp(x)), without running over."""
    low = b.unary("exp", b.unary("neg", b.unary("abs", x)))
    return b.binary("add", relu(b, x), b.unary("log", b.binary("add", low, 1.0)))


def clip(b: Builder, x: Term, low: Term | float | None, high: Term | float | None) -> Term:
    """Between two bounds; where they cross, the upper one holds."""
    x = x if low is None else b.binary("max", x, low)
    return x if high is None else b.binary("min", x, high)


def normalised(b: Builder, x: Term, axes: Sequence[int], epsilon: float) -> tuple[Term, Term, Term]:
    """Mean 0 and variance 1 over some dimensions; the mean that was, and the reciprocal of the deviation."""
    mean = b.reduce("mean", x, axes)
    centred = b.binary("sub", x, mean)
    variance = b.reduce("mean", square(b, centred), axes)
    inverse = reciprocal(b, b.unary("sqrt", b.binary("add", variance, epsilon)))
    return b.binary("mul", centred, inverse), mean, inverse


def per_channel(b: Builder, vector: Term, rank: int, axis: int = 1) -> Term:
    """A vector that stands along one dimension of so many."""
    return b.reshape(vector, along_axis(vector.shape[0], axis, rank))


def product(b: Builder, x: Term, y: Term) -> Term:
    """Matrix product as numpy's: vectors become matrices, and lose the dimension again."""
    a = b.reshape(x, (1, *x.shape)) if x.rank == 1 else x
    c = b.reshape(y, (*y.shape, 1)) if y.rank == 1 else y
    found = b.matmul(a, c)
    shape = list(found.shape)
    if y.rank == 1:
        del shape[-1]
    if x.rank == 1:
        del shape[-1 if y.rank == 1 else -2]
    return b.reshape(found, shape)
