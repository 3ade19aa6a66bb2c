"""A program as two networks of LiteRT's: one is run with each call, the other once, when the weights are there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from intarsia.backends.litert import elementwise, layers, reduction, shape
from intarsia.backends.litert.builder import Laid, ModelBuilder, NoKernelError, Operator, Tensor, plain
from intarsia.backends.litert.elementwise import Writer
from intarsia.backends.litert.fusion import fused
from intarsia.backends.lowering.program import CONSTANT, INPUT, LEAVES, WEIGHT, Instruction, Program

if TYPE_CHECKING:
    import numpy as np

_FAMILIES = (elementwise, layers, shape, reduction)
WRITERS: Mapping[str, Writer] = dict(chain.from_iterable(family.WRITERS.items() for family in _FAMILIES))
"""How each primitive is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """What a file holds, operators in running order.

    ``inputs`` and ``outputs`` are numbers of tensors; an output may be there twice.
    """

    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def networks(
    program: Program, inputs: Sequence[str], outputs: Sequence[str], numbers: Mapping[str, np.ndarray]
) -> tuple[Network, Network]:
    """What is computed once, and what with each call; results of the first are weights of the second.

    Inputs and outputs are named in the order in which they are handed over. ``numbers`` has the weights of one element:
    some are 0 or 6, and these are bounds that layers have built in.
    """
    draft = ModelBuilder()
    values: list[Laid] = []
    contents = {**numbers, **program.constants}
    for each in program.instructions:
        values.append(_leaf(draft, each, contents) if each.name in LEAVES else _written(draft, each, values))
    given = [values[program.inputs[name]].tensor for name in inputs]
    wanted = [draft.flat(values[program.outputs[name]]) for name in outputs]
    operators = fused(draft, wanted)
    return _parted(draft.tensors, operators, given, wanted)


def operators_of(each: Instruction, reads: Sequence[Instruction]) -> ModelBuilder:
    """What an instruction alone is written as, on leaves and on what others compute.

    Raises:
        NoKernelError: There is nothing that computes it.
    """
    draft = ModelBuilder()
    values = [draft.leaf(read.dtype, read.shape, is_known=read.name in (WEIGHT, CONSTANT)) for read in reads]
    _written(draft, replace(each, reads=tuple(range(len(reads)))), values)
    return draft


def _written(draft: ModelBuilder, each: Instruction, values: Sequence[Laid]) -> Laid:
    write = WRITERS.get(each.name)
    if write is None:
        raise NoKernelError(each.name)
    return write(draft, each, [values[number] for number in each.reads])


def _leaf(draft: ModelBuilder, each: Instruction, contents: Mapping[str, np.ndarray]) -> Laid:
    name = each.attributes["name"]
    if each.name == INPUT:
        return draft.leaf(each.dtype, each.shape)
    if name in contents:
        return Laid(draft.constant(contents[name], each.dtype), each.dtype, each.shape, plain(len(each.shape)))
    return draft.leaf(each.dtype, each.shape, is_known=True, weight=name)


def _parted(
    tensors: Sequence[Tensor], operators: Sequence[Operator], given: Sequence[int], wanted: Sequence[int]
) -> tuple[Network, Network]:
    once = [each for each in operators if tensors[each.writes[0]].is_known]
    always = [each for each in operators if not tensors[each.writes[0]].is_known]
    computed = set(chain.from_iterable(each.writes for each in once))
    handed = sorted(computed & {*chain.from_iterable(each.reads for each in always), *wanted})
    ready = list(tensors)
    for number, tensor in enumerate(handed):
        ready[tensor] = replace(tensors[tensor], weight=number)
    return _network(tensors, once, [], handed), _network(ready, always, given, wanted)


def _network(
    tensors: Sequence[Tensor], operators: Sequence[Operator], given: Sequence[int], wanted: Sequence[int]
) -> Network:
    """These operators and no tensor that none of them touches."""
    touched = chain(given, wanted, *((*each.reads, *each.writes) for each in operators))
    kept = sorted(set(touched))
    new = {old: number for number, old in enumerate(kept)}

    def renamed(numbers: Iterable[int]) -> tuple[int, ...]:
        return tuple(new[number] for number in numbers)

    return Network(
        tensors=tuple(tensors[old] for old in kept),
        operators=tuple(replace(op, reads=renamed(op.reads), writes=renamed(op.writes)) for op in operators),
        inputs=renamed(given),
        outputs=renamed(wanted),
    )
