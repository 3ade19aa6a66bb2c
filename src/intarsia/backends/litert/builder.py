"""A LiteRT network while it is written: tensors, operators, and values that do not yet lie as their dimensions say.

LiteRT's layers want channels last, ONNX has them second. So a value says in which order its dimensions lie in memory:
a transposition changes what is said and moves nothing, and an operator that computes element by element leaves the
order as it is. Elements are moved where an operator needs another order, and once for all that need it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

Order = tuple[int, ...]
"""For each dimension in memory, the one of the value that lies there."""


class NoKernelError(Exception):
    """LiteRT has nothing that computes an instruction; the message says of what. Turned into a refusal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """A tensor of the file.

    Attributes:
        dtype: numpy or ml_dtypes name.
        shape: As it lies in memory.
        is_known: Whether it depends on weights and constants alone.
        weight: Name of the graph's weight that it is, or number of what was computed from weights beforehand.
        content: What it holds, for small ones that are known now.
    """

    dtype: str
    shape: tuple[int, ...]
    is_known: bool = False
    weight: str | int | None = None
    content: np.ndarray | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One of LiteRT's operators applied, called as its schema spells it, e.g. ``CONV_2D``; tensors by number."""

    name: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Laid:
    """A value in a tensor: its dimensions as the program counts them, and how they lie in memory."""

    tensor: int
    dtype: str
    shape: tuple[int, ...]
    order: Order

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def is_plain(self) -> bool:
        """Whether it lies as its dimensions are counted."""
        return self.order == plain(self.rank)

    @cached_property
    def stored(self) -> tuple[int, ...]:
        """Its dimensions as they lie."""
        return tuple(self.shape[axis] for axis in self.order)

    def place(self, axis: int) -> int:
        """Where a dimension lies."""
        return self.order.index(axis)


def plain(rank: int) -> Order:
    """Dimensions lying as they are counted."""
    return tuple(range(rank))


def last(order: Order, axis: int) -> Order:
    """The same order, but that one dimension lies behind all others."""
    return (*(each for each in order if each != axis), axis)


def solid(shape: Sequence[int], order: Order) -> list[int]:
    """An order without the dimensions of one element, which lie anywhere."""
    return [axis for axis in order if shape[axis] != 1]


class ModelBuilder:
    """Tensors and operators so far."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.operators: list[Operator] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], int] = {}
        self._moved: dict[tuple[int, tuple[int, ...], Order], int] = {}

    def add(self, tensor: Tensor) -> int:
        """A tensor's number."""
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def leaf(self, dtype: str, shape: Sequence[int], **facts: Any) -> Laid:
        """An input, or a tensor that is known."""
        number = self.add(Tensor(dtype=dtype, shape=tuple(shape), **facts))
        return Laid(number, dtype, tuple(shape), plain(len(shape)))

    def constant(self, content: Any, dtype: str = "int32") -> int:
        """A small tensor of these numbers; equal ones are one."""
        from intarsia.graph.dtypes import numpy_dtype

        array = np.asarray(content, numpy_dtype(dtype))
        key = (dtype, array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = self.add(Tensor(dtype=dtype, shape=array.shape, is_known=True, content=array))
        return self._constants[key]

    def number(self, content: float | bool, dtype: str) -> Laid:
        """A single number, to compute with."""
        return Laid(self.constant(content, dtype), dtype, (), ())

    def content(self, value: Laid) -> np.ndarray | None:
        """What a value holds, if it is small and known now."""
        found = self.tensors[value.tensor].content
        return None if found is None or not value.is_plain else found

    def is_known(self, value: Laid) -> bool:
        """Whether it depends on weights and constants alone."""
        return self.tensors[value.tensor].is_known

    def emit(
        self, name: str, reads: Sequence[int], dtype: str, shape: Sequence[int], /, more: int = 0, **options: Any
    ) -> int:
        """The tensor that an operator gives; ``more`` ones of type int32 and its shape stand behind it."""
        is_known = all(self.tensors[number].is_known for number in reads)
        first = self.add(Tensor(dtype=dtype, shape=tuple(shape), is_known=is_known))
        others = [self.add(Tensor(dtype="int32", shape=tuple(shape), is_known=is_known)) for _ in range(more)]
        self.operators.append(Operator(name=name, reads=tuple(reads), writes=(first, *others), options=options))
        return first

    def give(
        self, name: str, reads: Sequence[int], dtype: str, shape: Sequence[int], order: Order, /, **options: Any
    ) -> Laid:
        """The value of this shape that an operator gives, lying in this order."""
        number = self.emit(name, reads, dtype, [shape[axis] for axis in order], **options)
        return Laid(number, dtype, tuple(shape), order)

    def reshaped(self, tensor: int, shape: Sequence[int]) -> int:
        """A tensor with other dimensions in memory."""
        source = self.tensors[tensor]
        if source.shape == tuple(shape):
            return tensor
        if source.content is not None:
            return self.constant(source.content.reshape(tuple(shape)), source.dtype)
        if source.weight is not None:
            return self.add(replace(source, shape=tuple(shape)))
        return self.emit("RESHAPE", [tensor, self.constant(list(shape))], source.dtype, shape)

    def laid(self, value: Laid, order: Order) -> Laid:
        """A value lying in this order; elements are moved if they have to."""
        if value.order == order:
            return value
        shape = tuple(value.shape[axis] for axis in order)
        key = (value.tensor, value.stored, tuple(value.place(axis) for axis in order))
        if key not in self._moved:
            self._moved[key] = self._permuted(value, order, shape)
        return Laid(self._moved[key], value.dtype, value.shape, order)

    def _permuted(self, value: Laid, order: Order, shape: tuple[int, ...]) -> int:
        if solid(value.shape, value.order) == solid(value.shape, order):
            return self.reshaped(value.tensor, shape)
        content = self.tensors[value.tensor].content
        places = [value.place(axis) for axis in order]
        if content is not None:
            return self.constant(content.reshape(value.stored).transpose(places), value.dtype)
        return self.emit("TRANSPOSE", [value.tensor, self.constant(places)], value.dtype, shape)

    def flat(self, value: Laid) -> int:
        """The tensor that holds a value as its dimensions are counted."""
        return self.laid(value, plain(value.rank)).tensor

    def operand(self, value: Laid, order: Order) -> int:
        """A tensor to be broadcast, as numpy does, with values of more dimensions that lie in this order."""
        if value.size == 1 or order == plain(len(order)):
            return self.flat(value)
        more = len(order) - value.rank
        shape = (*[1] * more, *value.shape)
        lying = (*range(more), *(axis + more for axis in value.order))
        wide = Laid(self.reshaped(value.tensor, [shape[axis] for axis in lying]), value.dtype, shape, lying)
        return self.laid(wide, order).tensor

    def compute(self, name: str, *operands: Laid | float, dtype: str | None = None, **options: Any) -> Laid:
        """An operator that computes element by element; the result lies as the largest operand does."""
        like = next(each for each in operands if isinstance(each, Laid))
        reads = [each if isinstance(each, Laid) else self.number(each, like.dtype) for each in operands]
        shape = np.broadcast_shapes(*(each.shape for each in reads))
        order = self._common_order(reads, len(shape))
        tensors = [self.operand(each, order) for each in reads]
        return self.give(name, tensors, dtype or like.dtype, shape, order, **options)

    def _common_order(self, reads: Sequence[Laid], rank: int) -> Order:
        full = [each for each in reads if each.rank == rank]
        if not full:
            return plain(rank)
        return max(full, key=lambda each: (not self.is_known(each), each.size, not each.is_plain)).order
