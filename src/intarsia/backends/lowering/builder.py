"""Appends instructions, and knows the type and shape of each result. The methods are the primitives.

``natives`` are further operations that an engine has as one; for others they are spelled out in primitives, in
`composites`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from intarsia.backends.lowering.program import CONSTANT, INPUT, WEIGHT, Instruction, Program, Term, UnsupportedError

Number = float | int | bool


class Builder:
    """A program that grows."""

    def __init__(self, natives: frozenset[str] = frozenset()) -> None:
        self.natives = natives
        self.instructions: list[Instruction] = []
        self.constants: dict[str, np.ndarray] = {}
        self.origin: tuple[str, ...] = ()
        self._leaves: dict[tuple[str, str], Term] = {}

    def program(self, outputs: dict[str, Term]) -> Program:
        """All that was appended."""
        return Program(
            instructions=tuple(self.instructions),
            outputs={name: term.number for name, term in outputs.items()},
            constants=dict(self.constants),
        )

    def emit(self, name: str, reads: Sequence[Term], dtype: str, shape: Sequence[int], /, **attributes: Any) -> Term:
        """Append an instruction whose result is known to be of this type and shape."""
        place = len(self.instructions)
        numbers = tuple([term.number for term in reads])
        made = Instruction(name, numbers, attributes, dtype, tuple(map(int, shape)), self.origin)
        self.instructions.append(made)
        return Term(place, dtype, made.shape)

    # Leaves

    def leaf(self, kind: str, name: str, dtype: str, shape: tuple[int, ...]) -> Term:
        """An input or a weight; each is there once."""
        if (kind, name) not in self._leaves:
            self._leaves[kind, name] = self.emit(kind, (), dtype, shape, name=name)
        return self._leaves[kind, name]

    def input(self, name: str, dtype: str, shape: tuple[int, ...]) -> Term:
        """An input of the sub-graph."""
        return self.leaf(INPUT, name, dtype, shape)

    def weight(self, name: str, dtype: str, shape: tuple[int, ...]) -> Term:
        """A weight of the graph, handed over when the program is loaded."""
        return self.leaf(WEIGHT, name, dtype, shape)

    def constant(self, array: np.ndarray) -> Term:
        """A small array that the lowering made."""
        name = f"c{len(self.constants)}"
        self.constants[name] = np.ascontiguousarray(array).reshape(np.shape(array))
        return self.leaf(CONSTANT, name, array.dtype.name, array.shape)

    def scalar(self, number: Number, like: Term) -> Term:
        """A constant without dimensions, of another's type."""
        return self.constant(np.array(number, _numpy(like.dtype)))

    # Element by element

    def unary(self, name: str, x: Term) -> Term:
        """One operand; the result is of its type."""
        return self.emit(name, (x,), x.dtype, x.shape)

    def binary(self, name: str, a: Term, b: Term | Number, dtype: str | None = None) -> Term:
        """Two operands of one type, broadcast as numpy does."""
        other = b if isinstance(b, Term) else self.scalar(b, a)
        if a.dtype != other.dtype:
            raise UnsupportedError(f"{name} of {a.dtype} and {other.dtype}")
        return self.emit(name, (a, other), dtype or a.dtype, broadcast(a.shape, other.shape))

    def compare(self, name: str, a: Term, b: Term | Number) -> Term:
        """As `binary`, to flags."""
        return self.binary(name, a, b, "bool")

    def where(self, condition: Term, a: Term, b: Term) -> Term:
        """``a`` where the condition holds, else ``b``."""
        if a.dtype != b.dtype:
            raise UnsupportedError(f"where of {a.dtype} and {b.dtype}")
        shape = broadcast(condition.shape, a.shape, b.shape)
        return self.emit("where", (condition, a, b), a.dtype, shape)

    def cast(self, x: Term, dtype: str) -> Term:
        """To another type; nothing if it is of that type."""
        return x if x.dtype == dtype else self.emit("cast", (x,), dtype, x.shape)

    # Shape

    def reshape(self, x: Term, shape: Sequence[int]) -> Term:
        """The same elements in the same order."""
        if prod(shape) != prod(x.shape):
            raise UnsupportedError(f"reshape of {list(x.shape)} to {list(shape)}")
        return x if tuple(shape) == x.shape else self.emit("reshape", (x,), x.dtype, shape)

    def transpose(self, x: Term, order: Sequence[int]) -> Term:
        """Dimension ``order[i]`` becomes the ``i``-th."""
        order = [int(axis) for axis in order]
        if order == list(range(x.rank)):
            return x
        return self.emit("transpose", (x,), x.dtype, [x.shape[axis] for axis in order], order=order)

    def expand(self, x: Term, shape: Sequence[int]) -> Term:
        """Repeated along new dimensions, and those of size 1."""
        if broadcast(x.shape, tuple(shape)) != tuple(shape):
            raise UnsupportedError(f"expand of {list(x.shape)} to {list(shape)}")
        return x if tuple(shape) == x.shape else self.emit("expand", (x,), x.dtype, shape)

    def slice(self, x: Term, starts: Sequence[int], stops: Sequence[int], steps: Sequence[int] | None = None) -> Term:
        """For each dimension a range of indices: none negative, but a stop of -1 where the step is negative."""
        steps = [1] * x.rank if steps is None else list(steps)
        shape = [len(range(*each)) for each in zip(starts, stops, steps, strict=True)]
        if tuple(shape) == x.shape and all(step == 1 for step in steps):
            return x
        attributes = {"starts": list(starts), "stops": list(stops), "steps": steps}
        return self.emit("slice", (x,), x.dtype, shape, **attributes)

    def part(self, x: Term, axis: int, start: int, stop: int, step: int = 1) -> Term:
        """A range of one dimension."""
        starts, stops, steps = [0] * x.rank, list(x.shape), [1] * x.rank
        starts[axis], stops[axis], steps[axis] = start, stop, step
        return self.slice(x, starts, stops, steps)

    def flip(self, x: Term, axis: int) -> Term:
        """One dimension from behind."""
        return self.part(x, axis, x.shape[axis] - 1, -1, -1)

    def concat(self, terms: Sequence[Term], axis: int) -> Term:
        """One behind the other."""
        if len(terms) == 1:
            return terms[0]
        if len({term.dtype for term in terms}) > 1:
            raise UnsupportedError("concatenation of several element types")
        shape = list(terms[0].shape)
        shape[axis] = sum(term.shape[axis] for term in terms)
        return self.emit("concat", terms, terms[0].dtype, shape, axis=axis)

    def pad(self, x: Term, before: Sequence[int], after: Sequence[int], value: Number = 0) -> Term:
        """More elements of this value at both ends of each dimension; none of the numbers is negative."""
        if not any(before) and not any(after):
            return x
        shape = [size + a + b for size, a, b in zip(x.shape, before, after, strict=True)]
        attributes = {"before": list(before), "after": list(after), "value": value}
        return self.emit("pad", (x,), x.dtype, shape, **attributes)

    # By index; every index is int64 and lies within the dimension

    def take(self, x: Term, indices: Term, axis: int) -> Term:
        """``x[..., indices, ...]`` at the axis: as many dimensions as ``indices`` has stand there."""
        shape = [*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]]
        return self.emit("take", (x, indices), x.dtype, shape, axis=axis)

    def take_along(self, x: Term, indices: Term, axis: int) -> Term:
        """As ``numpy.take_along_axis``, but that ``indices`` may be smaller than ``x`` in the other dimensions."""
        return self.emit("take_along", (x, indices), x.dtype, indices.shape, axis=axis)

    def scatter_along(self, x: Term, indices: Term, updates: Term, axis: int, reduction: str) -> Term:
        """``x`` with elements replaced (``none``) or combined (``add``, ``mul``, ``max``, ``min``) along the axis."""
        return self.emit("scatter_along", (x, indices, updates), x.dtype, x.shape, axis=axis, reduction=reduction)

    def argsort(self, x: Term, axis: int, descending: bool) -> Term:
        """The order that sorts it; equal elements keep theirs."""
        return self.emit("argsort", (x,), "int64", x.shape, axis=axis, descending=descending)

    # Over dimensions

    def reduce(self, name: str, x: Term, axes: Sequence[int], keep: bool = True) -> Term:
        """``sum``, ``prod``, ``max``, ``min`` or ``mean`` over some dimensions."""
        if not axes:
            return x
        shape = reduced(x.shape, axes, keep)
        return self.emit(f"reduce_{name}", (x,), x.dtype, shape, axes=sorted(axes), keep=keep)

    def arg(self, name: str, x: Term, axis: int, keep: bool) -> Term:
        """Index of the first ``max`` or ``min`` along the axis."""
        return self.emit(f"arg{name}", (x,), "int64", reduced(x.shape, [axis], keep), axis=axis, keep=keep)

    def cumulate(self, name: str, x: Term, axis: int) -> Term:
        """Running ``sum`` or ``prod``."""
        return self.emit(f"cum{name}", (x,), x.dtype, x.shape, axis=axis)

    # Layers

    def matmul(self, a: Term, b: Term) -> Term:
        """Products of matrices of at least 2 dimensions, the others broadcast."""
        if a.dtype != b.dtype or a.shape[-1] != b.shape[-2]:
            raise UnsupportedError(f"product of {a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}")
        shape = (*broadcast(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
        return self.emit("matmul", (a, b), a.dtype, shape)

    def conv(self, x: Term, w: Term, bias: Term | None, shape: Sequence[int], **window: Any) -> Term:
        """Convolution of (batch, channels, ...) with (out, in / groups, ...).

        ``window`` has ``strides``, ``dilations``, ``before`` and ``after`` (padding), one number for each dimension,
        and ``groups``. A bias goes with it for engines with the native ``conv_bias``.
        """
        if bias is None or "conv_bias" in self.natives:
            return self.emit("conv", (x, w) if bias is None else (x, w, bias), x.dtype, shape, **window)
        along = self.reshape(bias, along_axis(bias.shape[0], 1, x.rank))
        return self.binary("add", self.emit("conv", (x, w), x.dtype, shape, **window), along)

    def conv_transpose(self, x: Term, w: Term, shape: Sequence[int], **window: Any) -> Term:
        """The transpose of a convolution with weights (in, out / groups, ...).

        ``window`` as for `conv`; ``before`` and ``after`` are cut off the result, or added to it where negative.
        """
        return self.emit("conv_transpose", (x, w), x.dtype, shape, **window)

    def pool(self, name: str, x: Term, shape: Sequence[int], **window: Any) -> Term:
        """``max`` or ``sum`` over a window with ``kernel``, ``strides``, ``dilations``, ``before`` and ``after``.

        What lies in the padding counts for nothing; ``after`` may reach further than the last whole window.
        """
        return self.emit(f"pool_{name}", (x,), x.dtype, shape, **window)


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that all of them are repeated to."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise UnsupportedError(f"shapes {', '.join(map(str, map(list, shapes)))} together") from None


def along_axis(size: int, axis: int, rank: int) -> list[int]:
    """The shape of a vector that stands along one dimension of so many."""
    return [size if place == axis else 1 for place in range(rank)]


def reduced(shape: Sequence[int], axes: Sequence[int], keep: bool) -> tuple[int, ...]:
    """A shape without some dimensions, or with 1 there."""
    return tuple(1 if axis in axes else size for axis, size in enumerate(shape) if keep or axis not in axes)


def _numpy(dtype: str) -> np.dtype:
    from intarsia.graph.dtypes import numpy_dtype

    return numpy_dtype(dtype)
