"""What LiteRT computes together: operators behind a layer that can be a part of it, and factors that cancel out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from math import prod
from typing import Any

from intarsia.backends.contract.node_facts import words
from intarsia.backends.litert.builder import ModelBuilder, Operator
from intarsia.backends.litert.gelu import ERF, spelled_out, whole

_RELU, _RELU6 = 1, 3
"""Values of the schema's ``ActivationFunctionType``."""
_ACTIVE = words("ADD AVERAGE_POOL_2D CONV_2D CONV_3D DEPTHWISE_CONV_2D DIV FULLY_CONNECTED MAX_POOL_2D MUL SUB")
"""Operators that an activation can be a part of."""
_CHANNEL: Mapping[str, int] = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 3, "FULLY_CONNECTED": 0}
"""Layers, and the dimension of their kernels that counts what they give."""


class _Fusion:
    """A network whose operators are put together, in running order."""

    def __init__(self, draft: ModelBuilder, wanted: Sequence[int]) -> None:
        self.draft = draft
        self.readers = Counter(chain(wanted, *(each.reads for each in draft.operators)))
        self.kept: dict[int, Operator] = {}
        """By the first tensor that they give."""

    def before(self, tensor: int) -> Operator | None:
        """What gives a tensor that nothing else reads."""
        return self.kept.get(tensor) if self.readers[tensor] == 1 else None

    def add(self, each: Operator) -> None:
        """Append an operator, or what does it and one before it at once."""
        rule = _RULES.get(each.name)
        for side, tensor in enumerate(each.reads if rule else ()):
            first = self.before(tensor)
            start = len(self.draft.operators)
            found = rule(self, first, each, side) if rule and first else None
            if found is not None:
                self.kept.pop(tensor)
                for new in (*self.draft.operators[start:], found):
                    self.kept[new.writes[0]] = new
                    self.readers.update(new.reads)
                return
        self.kept[each.writes[0]] = each

    def number(self, tensor: int) -> float | None:
        """The number that a tensor holds, if it is one and known now."""
        content = self.draft.tensors[tensor].content
        return None if content is None or content.size != 1 else float(content.reshape(()))

    def shape(self, tensor: int) -> tuple[int, ...]:
        """Of a tensor, as it lies."""
        return self.draft.tensors[tensor].shape

    def vector(self, tensor: int, size: int) -> int | None:
        """A known tensor of so many numbers along the last dimension, as one of one dimension."""
        source = self.draft.tensors[tensor]
        if (
            not source.is_known
            or source.dtype != "float32"
            or prod(source.shape) != size
            or source.shape[-1:] != (size,)
        ):
            return None
        return self.draft.reshaped(tensor, [size])


_Rule = Callable[[_Fusion, Operator, Operator, int], Operator | None]
"""What does two operators at once: the one before, the one that reads it, and as which operand; or ``None``."""


def _active(first: Operator, activation: int, each: Operator) -> Operator:
    return replace(first, writes=each.writes, options={**first.options, "fusedActivationFunction": activation})


def _activation_of(each: Operator) -> Any:
    return each.options.get("fusedActivationFunction", 0)


def _relu(fusion: _Fusion, first: Operator, each: Operator, side: int) -> Operator | None:
    return _active(first, _RELU, each) if first.name in _ACTIVE and not _activation_of(first) else None


def _relu6(fusion: _Fusion, first: Operator, each: Operator, side: int) -> Operator | None:
    if fusion.number(each.reads[1 - side]) != 6:
        return None
    if first.name == "RELU":
        return replace(each, name="RELU6", reads=first.reads)
    return _active(first, _RELU6, each) if _activation_of(first) == _RELU else None


def _reshaped_twice(fusion: _Fusion, first: Operator, each: Operator, side: int) -> Operator | None:
    return replace(each, reads=(first.reads[0], each.reads[1])) if first.name == "RESHAPE" and side == 0 else None


def _for_each_channel(fusion: _Fusion, first: Operator, each: Operator, side: int) -> int | None:
    """What an operator behind a layer takes besides, if it is a number for each channel and can go into the layer."""
    if first.name not in _CHANNEL or _activation_of(first):
        return None
    if not all(fusion.draft.tensors[number].is_known for number in first.reads[1:]):
        return None
    if fusion.shape(first.writes[0]) != fusion.shape(each.writes[0]):
        return None
    return fusion.vector(each.reads[1 - side], fusion.shape(first.reads[1])[_CHANNEL[first.name]])


def _shifted(fusion: _Fusion, first: Operator, each: Operator, side: int) -> Operator | None:
    """A layer, and a number for each channel added to what it gives."""
    more = _for_each_channel(fusion, first, each, side)
    if more is None:
        return None
    return replace(first, reads=(*first.reads[:2], _sum(fusion, first, more)), writes=each.writes)


def _sum(fusion: _Fusion, layer: Operator, more: int) -> int:
    if len(layer.reads) == 2:
        return more
    old = fusion.draft.tensors[layer.reads[2]]
    if old.content is not None and not old.content.any():
        return more
    return fusion.draft.emit("ADD", [layer.reads[2], more], "float32", old.shape)


def _scaled(fusion: _Fusion, first: Operator, each: Operator, side: int) -> Operator | None:
    """A layer, and what it gives times a number for each channel."""
    factor = _for_each_channel(fusion, first, each, side)
    if factor is None:
        return None
    draft, kernel = fusion.draft, fusion.shape(first.reads[1])
    (size,) = fusion.shape(factor)
    along = [size if axis == _CHANNEL[first.name] else 1 for axis in range(len(kernel))]
    scaled = draft.emit("MUL", [first.reads[1], draft.reshaped(factor, along)], "float32", kernel)
    bias = [draft.emit("MUL", [tensor, factor], "float32", [size]) for tensor in first.reads[2:]]
    return replace(first, reads=(first.reads[0], scaled, *bias), writes=each.writes)


def _product(fusion: _Fusion, first: Operator, each: Operator, side: int) -> Operator | None:
    found = whole(each, fusion.before, fusion.number)
    if found is None:
        return _scaled(fusion, first, each, side)
    gelu, gone = found
    for tensor in gone:
        if tensor != each.reads[side]:
            fusion.kept.pop(tensor)
    return gelu


def _cancelled(fusion: _Fusion, first: Operator, each: Operator, side: int) -> Operator | None:
    """A mean that was made a sum, and is made a mean again."""
    if first.name != "MUL" or side != 0:
        return None
    pool, factor = fusion.before(first.reads[0]), fusion.number(first.reads[1])
    if pool is None or pool.name != "AVERAGE_POOL_2D" or factor is None or fusion.number(each.reads[1]) != factor:
        return None
    fusion.kept.pop(first.reads[0])
    return replace(pool, writes=each.writes)


_RULES: Mapping[str, _Rule] = {
    "ADD": _shifted,
    "DIV": _cancelled,
    "MINIMUM": _relu6,
    "MUL": _product,
    "RELU": _relu,
    "RESHAPE": _reshaped_twice,
}


def fused(draft: ModelBuilder, wanted: Sequence[int]) -> list[Operator]:
    """The same network in fewer operators."""
    fusion = _Fusion(draft, wanted)
    for each in list(draft.operators):
        fusion.add(each)
    made = ([each] if each.name != ERF else spelled_out(draft, each) for each in fusion.kept.values())
    return list(chain.from_iterable(made))
