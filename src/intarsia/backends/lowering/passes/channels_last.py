"""Lets values lie in the order that suits their reader: channels last for convolutions and pools.

No transpose is carried out where it stands. Of each value it is known in which orders of dimensions it lies somewhere,
as *forms*; a transpose of the program is another name for the forms that there are. Instructions that do not care
take the order in which most of what they read lies. Where a reader needs an order in which a value does not lie, a
transpose is written, once. So the transposes that are left stand at the borders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from types import MappingProxyType
from typing import Any

from intarsia.backends.lowering.passes.rewriter import Known, Rewriter
from intarsia.backends.lowering.program import LEAVES, Instruction, Program

Order = tuple[int, ...]
"""What lies as ``order`` is the value transposed by it: dimension ``order[i]`` is the i-th in memory."""

CONVOLUTIONS: Mapping[str, str] = MappingProxyType(
    {"conv": "conv_last", "q_conv": "q_conv_last", "conv_transpose": "conv_transpose_last"}
)
"""Convolutions, and the instruction on channels-last data. Weights (a, b, *kernel) become (a, *kernel, b)."""
POOLS: Mapping[str, str] = MappingProxyType(
    {"pool_max": "pool_max_last", "pool_sum": "pool_sum_last", "q_pool_max": "q_pool_max_last",
     "q_pool_avg": "q_pool_avg_last"}
)  # fmt: skip
_ALONG = frozenset({"softmax", "concat", "cumsum", "cumprod", "q_softmax", "argsort"})
"""Instructions along one dimension, ``axis``."""
_LISTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"slice": ("starts", "stops", "steps"), "pad": ("before", "after")}
)
"""Instructions with attributes that are lists by dimension."""
FREE = frozenset(
    {"abs", "acos", "acosh", "add", "and", "asin", "asinh", "atan", "atanh", "cast", "ceil", "cos", "cosh",
     "dequantize", "div", "eq", "erf", "exp", "expand", "floor", "fmod", "ge", "gt", "identity", "int_div", "le", "log",
     "lt", "max", "min", "mod", "mul", "ne", "neg", "not", "or", "pow", "q_add", "q_lookup", "q_mul", "q_sub",
     "quantize", "relu", "round", "shift_left", "shift_right", "sigmoid", "sign", "sin", "sinh", "sqrt", "sub", "tan",
     "tanh", "where", "xor"}
)  # fmt: skip
"""Instructions element by element, with operands that may be repeated along dimensions."""


def channels_last(program: Program, known: Known) -> tuple[Program, Known]:
    """The program in which convolutions and pools have their channels last.

    Args:
        program: As it was lowered, and folded.
        known: Arrays of its leaves that are weights or constants, by place.
    """
    return _Pass(program, known).finished()


def last(rank: int) -> Order:
    """The order with channels last."""
    return (0, *range(2, rank), 1)


class _Pass:
    def __init__(self, program: Program, known: Known) -> None:
        self.program = program
        self.known = known
        self.out = Rewriter()
        self.forms: list[dict[Order, int]] = []

    def finished(self) -> tuple[Program, Known]:
        for place, each in enumerate(self.program.instructions):
            self.forms.append(self._made(place, each))
        outputs = {name: self.at(place, self._plain(place)) for name, place in self.program.outputs.items()}
        return self.out.finished(outputs)

    # Where values lie

    def _plain(self, place: int) -> Order:
        return tuple(range(len(self.program.instructions[place].shape)))

    def at(self, place: int, order: Order) -> int:
        """Where a value lies in an order; it is brought there if it does not."""
        forms = self.forms[place]
        if order not in forms:
            forms[order] = self._turned(place, order)
        return forms[order]

    def _turned(self, place: int, order: Order) -> int:
        """A new form: a view where only dimensions of size 1 change places, else a transpose."""
        each = self.program.instructions[place]
        shape = tuple(each.shape[axis] for axis in order)
        for other, where in self.forms[place].items():
            if _real(other, each.shape) == _real(order, each.shape):
                if where in self.out.known:
                    return self.out.constant(self.out.known[where].reshape(shape), each.origin)
                return self.out.add(Instruction("reshape", (where,), {}, each.dtype, shape, each.origin))
        other, where = next(iter(self.forms[place].items()))
        step = [other.index(axis) for axis in order]
        if where in self.out.known:
            return self.out.constant(self.out.known[where].transpose(step), each.origin)
        return self.out.add(Instruction("transpose", (where,), {"order": step}, each.dtype, shape, each.origin))

    def _cheapest(self, place: int, reads: Sequence[int]) -> Order:
        """The order of an instruction's dimensions in which least of what it reads is moved."""
        each = self.program.instructions[place]
        whole = [read for read in reads if len(self.program.instructions[read].shape) == len(each.shape)]
        plain = self._plain(place)
        orders = dict.fromkeys((plain, *(order for read in whole for order in self.forms[read])))

        def moved(order: Order) -> int:
            return sum(self._moved(read, order) for read in whole)

        return min(orders, key=moved)

    def _moved(self, read: int, order: Order) -> int:
        each = self.program.instructions[read]
        if any(where in self.out.known for where in self.forms[read].values()):
            return 0
        met = {_real(other, each.shape) for other in self.forms[read]}
        return 0 if _real(order, each.shape) in met else prod(each.shape)

    # What instructions become: the forms of their result

    def _made(self, place: int, each: Instruction) -> dict[Order, int]:
        plain = self._plain(place)
        if each.name in LEAVES:
            return {plain: self.out.leaf(each, self.known.get(place))}
        found = self._layer(each) or self._moved_only(place, each) or self._free(place, each)
        if found is None:
            reads = tuple(self.at(read, self._plain(read)) for read in each.reads)
            found = {plain: self.out.add(replace(each, reads=reads))}
        return found

    def _layer(self, each: Instruction) -> dict[Order, int] | None:
        order = last(len(each.shape))
        if each.name in CONVOLUTIONS and len(each.shape) > 2:
            weight = self.forms[each.reads[1]]
            is_known = any(where in self.out.known for where in weight.values())
            if not is_known or ("float" not in each.dtype and not each.name.startswith("q_")):
                return None
            rest = [self.at(read, self._plain(read)) for read in each.reads[2:]]
            reads = (self.at(each.reads[0], order), self.at(each.reads[1], order), *rest)
            return {order: self._as_last(CONVOLUTIONS[each.name], each, reads)}
        if each.name in POOLS and len(each.shape) > 2:
            return {order: self._as_last(POOLS[each.name], each, (self.at(each.reads[0], order),))}
        return None

    def _as_last(self, name: str, each: Instruction, reads: tuple[int, ...]) -> int:
        shape = tuple(each.shape[axis] for axis in last(len(each.shape)))
        return self.out.add(replace(each, name=name, reads=reads, shape=shape))

    def _moved_only(self, place: int, each: Instruction) -> dict[Order, int] | None:
        if each.name == "transpose":
            attrs = list(each.attributes["order"])
            forms = self.forms[each.reads[0]].items()
            return {tuple(attrs.index(axis) for axis in form): where for form, where in forms}
        if each.name == "reshape":
            return self._reshaped(place, each)
        if each.name == "take" and len(self.program.instructions[each.reads[1]].shape) == 1:
            order = self._cheapest(place, each.reads[:1])
            index = self.at(each.reads[1], (0,))
            return {order: self._turned_instruction(each, order, (self.at(each.reads[0], order), index))}
        return None

    def _reshaped(self, place: int, each: Instruction) -> dict[Order, int] | None:
        """Where neighbours are put together or taken apart that are neighbours in memory too, as a view."""
        read = self.program.instructions[each.reads[0]]
        groups = _groups(read.shape, each.shape)
        found = {}
        for form, where in self.forms[each.reads[0]].items():
            order = _order_of(form, groups) if 0 not in read.shape else None
            if order is None:
                continue
            shape = tuple(each.shape[axis] for axis in order)
            if where in self.out.known:
                found[order] = self.out.constant(self.out.known[where].reshape(shape), each.origin)
            else:
                found[order] = self.out.add(replace(each, reads=(where,), shape=shape))
        return found or None

    def _free(self, place: int, each: Instruction) -> dict[Order, int] | None:
        if each.name.startswith("reduce_") or each.name == "q_mean":
            return self._reduced(each)
        if each.name not in FREE and each.name not in _ALONG and each.name not in _LISTS:
            return None
        order = self._cheapest(place, each.reads)
        tables = each.reads[1:] if each.name == "q_lookup" else ()
        aligned = each.reads[: len(each.reads) - len(tables)]
        reads = (*(self._aligned(read, order) for read in aligned), *(self.at(t, self._plain(t)) for t in tables))
        return {order: self._turned_instruction(each, order, reads)}

    def _aligned(self, read: int, order: Order) -> int:
        """An operand in the order of the result; what has fewer dimensions gets those that it is repeated along."""
        each = self.program.instructions[read]
        if len(each.shape) == len(order):
            return self.at(read, order)
        where = self.at(read, self._plain(read))
        if prod(each.shape) == 1 or order == tuple(range(len(order))):
            return where
        whole = (1,) * (len(order) - len(each.shape)) + each.shape
        shape = tuple(whole[axis] for axis in order)
        if where in self.out.known:
            array = self.out.known[where].reshape(whole).transpose(order)
            return self.out.constant(array, each.origin)
        wide = self.out.add(Instruction("reshape", (where,), {}, each.dtype, whole, each.origin))
        if _real(order, whole) == _real(tuple(range(len(order))), whole):
            return self.out.add(Instruction("reshape", (wide,), {}, each.dtype, shape, each.origin))
        return self.out.add(Instruction("transpose", (wide,), {"order": list(order)}, each.dtype, shape, each.origin))

    def _turned_instruction(self, each: Instruction, order: Order, reads: tuple[int, ...]) -> int:
        attrs: dict[str, Any] = dict(each.attributes)
        if "axis" in attrs:
            attrs["axis"] = order.index(attrs["axis"])
        for name in _LISTS.get(each.name, ()):
            attrs[name] = [attrs[name][axis] for axis in order]
        shape = tuple(each.shape[axis] for axis in order)
        return self.out.add(replace(each, reads=reads, attributes=attrs, shape=shape))

    def _reduced(self, each: Instruction) -> dict[Order, int]:
        read = each.reads[0]
        form, where = next(iter(self.forms[read].items()))
        axes, keep = each.attributes["axes"], each.attributes.get("keep", True)
        attrs = {**each.attributes, "axes": sorted(form.index(axis) for axis in axes)}
        if keep:
            order = form
        else:
            kept = [axis for axis in sorted(form) if axis not in axes]
            order = tuple(kept.index(axis) for axis in form if axis not in axes)
        shape = tuple(each.shape[axis] for axis in order)
        return {order: self.out.add(replace(each, reads=(where,), attributes=attrs, shape=shape))}


def _real(order: Order, shape: Sequence[int]) -> Order:
    """The dimensions of more than one index, in this order: what memory shows of it."""
    return tuple(axis for axis in order if shape[axis] != 1)


def _groups(before: Sequence[int], behind: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Runs of dimensions that hold as many elements before a reshape as behind it, as short as can be."""
    found: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(before) or j < len(behind):
        left, right = [], []
        a = b = 1
        if i < len(before):
            left, a, i = [i], before[i], i + 1
        if j < len(behind):
            right, b, j = [j], behind[j], j + 1
        while a != b:
            if (a < b or j >= len(behind)) and i < len(before):
                left.append(i)
                a *= before[i]
                i += 1
            elif j < len(behind):
                right.append(j)
                b *= behind[j]
                j += 1
            else:
                break
        found.append((left, right))
    return found


def _order_of(form: Order, groups: Sequence[tuple[list[int], list[int]]]) -> Order | None:
    """The order of what is reshaped, if the groups lie whole and in order in this form; else ``None``."""
    by_first = {left[0]: (left, right) for left, right in groups if left}
    order: list[int] = []
    place = 0
    while place < len(form):
        left, right = by_first.get(form[place], ([], []))
        if not left or list(form[place : place + len(left)]) != left:
            return None
        order += right
        place += len(left)
    order += [axis for left, right in groups if not left for axis in right]
    return tuple(order)
