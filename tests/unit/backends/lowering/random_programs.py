"""Random programs of the lowering: layers, movements, reductions, element-wise chains; values stay small."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from intarsia.backends.lowering.builder import Builder
from intarsia.backends.lowering.program import Program, Term

_UNARY = ("tanh", "sigmoid", "abs", "neg", "sin", "erf", "identity")
"""Without steps: behind one, rounding would show as a difference of 1."""
_BINARY = ("add", "sub", "mul", "max", "min")
_MOST = 6000
"""Elements of one value."""


@dataclass(frozen=True)
class Made:
    """A program, the arrays of its weights and constants, and inputs for it."""

    program: Program
    known: dict[int, np.ndarray]
    feeds: dict[str, np.ndarray]


class _Maker:
    def __init__(self, seed: int, dtype: str) -> None:
        self.rng = np.random.default_rng(seed)
        self.dtype = dtype
        self.builder = Builder(frozenset({"sigmoid", "softmax"}))
        self.terms: list[Term] = []
        self.weights: dict[str, np.ndarray] = {}

    def some(self, choices: Sequence[object]) -> object:
        return choices[int(self.rng.integers(len(choices)))]

    def number(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def weight(self, *shape: int) -> Term:
        name = f"w{len(self.weights)}"
        fan = max(1, prod(shape[1:]))
        self.weights[name] = (self.rng.standard_normal(shape) / np.sqrt(fan)).astype(self.dtype)
        return self.builder.weight(name, self.dtype, tuple(shape))

    def pick(self, rank: int | None = None) -> Term | None:
        found = [term for term in self.terms if rank is None or term.rank == rank]
        recent = found[-4:] if self.rng.random() < 0.7 else found
        return recent[int(self.rng.integers(len(recent)))] if recent else None

    # One kind of instruction each; nothing where it does not fit

    def unary(self) -> Term | None:
        x = self.pick()
        return x and self.builder.unary(str(self.some(_UNARY)), x)

    def binary(self) -> Term | None:
        x = self.pick()
        if x is None:
            return None
        alike = [term for term in self.terms if term.shape == x.shape]
        sort = self.number(0, 3)
        other: Term = alike[self.number(0, len(alike) - 1)]
        if sort == 1:
            other = self.weight(*(size if self.rng.random() < 0.5 else 1 for size in x.shape))
        elif sort == 2 and x.rank > 2:
            other = self.weight(*(x.shape[1] if axis == 1 else 1 for axis in range(x.rank)))
        elif sort == 3:
            other = self.builder.scalar(float(np.round(self.rng.uniform(-2, 2), 2)), x)
        name = str(self.some(_BINARY))
        made = self.builder.binary(name, x, other)
        return self.builder.unary("tanh", made) if name == "mul" else made

    def choice(self) -> Term | None:
        x = self.pick()
        return x and self.builder.where(self.builder.compare("gt", x, 0), x, self.builder.binary("mul", x, 0.25))

    def conv(self) -> Term | None:
        x = self.pick(4) or self.pick(3)
        if x is None or min(x.shape[2:]) < 2:
            return None
        channels, rank = x.shape[1], x.rank - 2
        groups = int(self.some([1, 1, channels, *(g for g in (2, 3) if channels % g == 0)]))  # type: ignore[call-overload]
        out = groups * self.number(1, max(1, 18 // groups))
        kernel = [self.number(1, min(3, size)) for size in x.shape[2:]]
        before = [self.number(0, k - 1) for k in kernel]
        after = [self.number(0, k - 1) for k in kernel]
        strides = [self.number(1, 2) for _ in range(rank)]
        sizes = zip(x.shape[2:], before, after, kernel, strides, strict=True)
        shape = [(size + b + a - k) // s + 1 for size, b, a, k, s in sizes]
        if prod(shape) * out > _MOST:
            return None
        bias = self.weight(out) if self.rng.random() < 0.7 else None
        window = {"strides": strides, "dilations": [1] * rank, "before": before, "after": after, "groups": groups}
        w = self.weight(out, channels // groups, *kernel)
        return self.builder.conv(x, w, bias, [x.shape[0], out, *shape], **window)

    def conv_transpose(self) -> Term | None:
        x = self.pick(4)
        if x is None:
            return None
        groups = 2 if x.shape[1] % 2 == 0 and self.rng.random() < 0.5 else 1
        per_group, kernel = self.number(1, 5), [self.number(1, 3), self.number(1, 3)]
        strides = [self.number(1, 2), self.number(1, 2)]
        before = [self.number(0, k // 2) for k in kernel]
        shape = [(s - 1) * st + k - 2 * b for s, st, k, b in zip(x.shape[2:], strides, kernel, before, strict=True)]
        if min(shape) < 1 or prod(shape) * groups * per_group > _MOST:
            return None
        window = {"strides": strides, "dilations": [1, 1], "before": before, "after": before, "groups": groups}
        w = self.weight(x.shape[1], per_group, *kernel)
        return self.builder.conv_transpose(x, w, [x.shape[0], groups * per_group, *shape], **window)

    def pool(self) -> Term | None:
        x = self.pick(4) or self.pick(3)
        if x is None or min(x.shape[2:]) < 2:
            return None
        rank = x.rank - 2
        kernel = [self.number(1, min(3, size)) for size in x.shape[2:]]
        before = [self.number(0, k - 1) for k in kernel]
        strides = [self.number(1, 2) for _ in range(rank)]
        shape = [(s + 2 * b - k) // st + 1 for s, b, k, st in zip(x.shape[2:], before, kernel, strides, strict=True)]
        name = str(self.some(["max", "sum"]))
        window = {"kernel": kernel, "strides": strides, "dilations": [1] * rank, "before": before, "after": before}
        made = self.builder.pool(name, x, [*x.shape[:2], *shape], **window)
        return self.builder.unary("tanh", made) if name == "sum" else made

    def matmul(self) -> Term | None:
        x = self.pick()
        if x is None or x.rank < 2:
            return None
        n = self.number(1, 37)
        if self.rng.random() < 0.6 and prod(x.shape[:-1]) * n <= _MOST:
            return self.builder.matmul(x, self.weight(x.shape[-1], n))
        order = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
        if prod(x.shape[:-2]) * x.shape[-2] ** 2 > _MOST:
            return None
        return self.builder.unary("tanh", self.builder.matmul(x, self.builder.transpose(x, order)))

    def transpose(self) -> Term | None:
        x = self.pick()
        return x and self.builder.transpose(x, [int(axis) for axis in self.rng.permutation(x.rank)])

    def reshape(self) -> Term | None:
        x = self.pick()
        if x is None or x.rank < 2:
            return None
        axis = self.number(0, x.rank - 2)
        joined = [*x.shape[:axis], x.shape[axis] * x.shape[axis + 1], *x.shape[axis + 2 :]]
        return self.builder.reshape(x, joined if self.rng.random() < 0.5 else [*x.shape[:axis], 1, *x.shape[axis:]])

    def slice(self) -> Term | None:
        x = self.pick()
        if x is None or not x.rank:
            return None
        axis = self.number(0, x.rank - 1)
        size = x.shape[axis]
        if self.rng.random() < 0.3:
            return self.builder.flip(x, axis)
        start = self.number(0, size - 1)
        return self.builder.part(x, axis, start, self.number(start + 1, size), self.number(1, 2))

    def concat(self) -> Term | None:
        x = self.pick()
        if x is None or not x.rank or prod(x.shape) * 2 > _MOST:
            return None
        alike = [term for term in self.terms if term.shape == x.shape]
        return self.builder.concat([x, alike[self.number(0, len(alike) - 1)]], self.number(0, x.rank - 1))

    def pad(self) -> Term | None:
        x = self.pick()
        if x is None or not x.rank:
            return None
        before, after = ([self.number(0, 2) for _ in x.shape] for _ in range(2))
        grown = prod(s + b + a for s, b, a in zip(x.shape, before, after, strict=True))
        return self.builder.pad(x, before, after, 0.5) if grown <= _MOST else None

    def reduce(self) -> Term | None:
        x = self.pick()
        if x is None or not x.rank:
            return None
        axes = [axis for axis in range(x.rank) if self.rng.random() < 0.5] or [x.rank - 1]
        return self.builder.reduce(str(self.some(["max", "min", "mean"])), x, axes, bool(self.rng.random() < 0.5))

    def softmax(self) -> Term | None:
        x = self.pick()
        if x is None or not x.rank:
            return None
        return self.builder.emit("softmax", (x,), x.dtype, x.shape, axis=self.number(0, x.rank - 1))

    def take(self) -> Term | None:
        x = self.pick()
        if x is None or not x.rank:
            return None
        axis = self.number(0, x.rank - 1)
        index = self.rng.integers(0, x.shape[axis], self.number(1, 4))
        return self.builder.take(x, self.builder.constant(index.astype(np.int64)), axis)

    def expand(self) -> Term | None:
        x = self.pick()
        if x is None or prod(x.shape) * 3 > _MOST:
            return None
        return self.builder.expand(x, [3 if size == 1 else size for size in x.shape])

    def cumulate(self) -> Term | None:
        x = self.pick()
        if x is None or not x.rank:
            return None
        return self.builder.unary("tanh", self.builder.cumulate("sum", x, self.number(0, x.rank - 1)))


def random_program(seed: int, length: int = 25, dtype: str = "float32") -> Made:
    """A program of about so many instructions, the same for a seed. What nothing reads in it is an output."""
    maker = _Maker(seed, dtype)
    shapes = ((1, 5, 7, 6), (2, 17, 5, 4), (2, 3, 9), (1, 4, 12, 12), (6, 20))
    feeds = {}
    for number in range(2):
        shape = shapes[maker.number(0, len(shapes) - 1)]
        feeds[f"x{number}"] = maker.rng.uniform(-2, 2, shape).astype(dtype)
        maker.terms.append(maker.builder.input(f"x{number}", dtype, shape))
    kinds: list[Callable[[], Term | None]] = [
        maker.unary, maker.unary, maker.binary, maker.binary, maker.binary, maker.choice, maker.conv, maker.conv,
        maker.conv, maker.conv_transpose, maker.pool, maker.pool, maker.matmul, maker.transpose, maker.transpose,
        maker.reshape, maker.slice, maker.concat, maker.pad, maker.reduce, maker.softmax, maker.take, maker.expand,
        maker.cumulate,
    ]  # fmt: skip
    while len(maker.builder.instructions) < length:
        made = kinds[maker.number(0, len(kinds) - 1)]()
        if made is not None and prod(made.shape) <= _MOST and made.rank <= 6:
            maker.terms.append(made)
    read = {number for each in maker.builder.instructions for number in each.reads}
    leaving = [term for term in maker.terms if term.number not in read] or maker.terms[-1:]
    program = maker.builder.program({f"y{number}": term for number, term in enumerate(dict.fromkeys(leaving))})
    known = program.known | {place: maker.weights[name] for name, place in program.weights.items()}
    return Made(program=program, known=known, feeds=feeds)
