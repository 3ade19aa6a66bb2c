"""A program and the kernels of its instructions, put together as one `SourceModule`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from intarsia.backends.lowering.program import CONSTANT, INPUT, WEIGHT, Instruction, Program
from intarsia.codegen.copying import COPY
from intarsia.codegen.module import (
    BYTES,
    Argument,
    Buffer,
    Call,
    Constant,
    Function,
    Kernel,
    Literal,
    Operand,
    Overlap,
    Read,
    Result,
    Scratch,
    SourceModule,
    Table,
    View,
    Write,
)

KernelFor = Callable[[int, Instruction, Sequence[Instruction]], tuple[str, Kernel]]
"""The engine of the instruction at a place, and how it computes it on what these instructions compute."""

FREE = frozenset({"reshape"})
"""Instructions that are a view of their operand."""
SLICE, CONCAT = "slice", "concat"
"""Instructions that are views where all lies in one run."""


def assemble(program: Program, known: Mapping[int, np.ndarray], kernel_for: KernelFor) -> SourceModule:
    """The module of a program.

    Args:
        program: Instructions in running order; inputs and outputs in the order that the caller hands them over.
        known: Arrays of the leaves that are constants or weights, by place, as they are to lie in memory.
        kernel_for: Chooses the engine and the kernel of each other instruction.
    """
    maker = _Maker(program, known)
    for place, each in enumerate(program.instructions):
        maker.add(place, each, kernel_for)
    return maker.module()


class _Maker:
    def __init__(self, program: Program, known: Mapping[int, np.ndarray]) -> None:
        self.program = program
        self.known = known
        self.names: dict[int, str] = {}
        self.buffers: dict[str, Buffer] = {}
        self.views: dict[str, View] = {}
        self.inputs: dict[str, Buffer] = {}
        self.outputs: dict[str, Buffer] = {}
        self.constants: dict[str, Constant] = {}
        self.known_constants: dict[tuple[object, ...], str] = {}
        self.functions: dict[str, Function] = {}
        self.calls: list[Call] = []
        self.sources: dict[str, None] = {}
        self.include_folders: dict[str, None] = {}
        self.defines: dict[str, None] = {}

    def add(self, place: int, each: Instruction, kernel_for: KernelFor) -> None:
        buffer = Buffer(name=f"v{place}", dtype=each.dtype, shape=each.shape)
        self.names[place] = buffer.name
        if each.name == INPUT:
            self.inputs[each.attributes["name"]] = buffer
        elif each.name in (WEIGHT, CONSTANT):
            self.names[place] = self._constant(f"k{place}", self.known[place])
        elif 0 in each.shape:
            self.buffers[buffer.name] = buffer  # nothing is computed where no element is
        elif (view := self._view(each, buffer)) is not None:
            self.views[buffer.name] = view
        elif each.name == CONCAT and _is_contiguous(each.shape, each.attributes["axis"]):
            self.buffers[buffer.name] = buffer
            self._gather(each, buffer)
        else:
            engine, kernel = kernel_for(place, each, [self.program.instructions[number] for number in each.reads])
            self.buffers[buffer.name] = buffer
            self._call(each, buffer, engine, kernel)

    def _view(self, each: Instruction, buffer: Buffer) -> View | None:
        """Where the result lies inside of the operand as it is; ``None`` if it does not, or the operand is constant."""
        if not each.reads or self.names[each.reads[0]] in self.constants:
            return None
        of = self.names[each.reads[0]]
        if each.name in FREE:
            return View(buffer=buffer, of=of)
        start = _start_of_slice(each, self.program.instructions[each.reads[0]].shape) if each.name == SLICE else None
        return None if start is None else View(buffer=buffer, of=of, offset=start * BYTES[each.dtype])

    def _gather(self, each: Instruction, result: Buffer) -> None:
        """Have the parts computed where they belong; what lies elsewhere for good is copied there."""
        offset = 0
        for number, place in enumerate(each.reads):
            name = self.names[place]
            size = prod(self.program.instructions[place].shape) * BYTES[each.dtype]
            root = self._whole(name)
            if root in self.buffers and root != result.name:
                self.views[root] = View(buffer=self.buffers.pop(root), of=result.name, offset=offset)
            elif size:
                part = replace(result, name=f"{result.name}p{number}", shape=self.program.instructions[place].shape)
                self.views[part.name] = View(buffer=part, of=result.name, offset=offset)
                self._copy(part.name, name, size, each.origin)
            offset += size

    def _whole(self, name: str) -> str:
        """The buffer that a name is another name of, all of it."""
        while name in self.views:
            around = self.views[name].of
            size = self.views[around].buffer.size if around in self.views else self._sizes[around]
            if size != self.views[name].buffer.size:
                break
            name = around
        return name

    @property
    def _sizes(self) -> dict[str, int]:
        every = (*self.buffers.values(), *self.inputs.values(), *self.outputs.values())
        return {each.name: each.size for each in every}

    def _copy(self, to: str, source: str, size: int, nodes: tuple[str, ...] = ()) -> None:
        self.functions[COPY.name] = COPY
        arguments = (Write(to), Read(source), Literal(f"{size}u"))
        self.calls.append(Call(function=COPY.name, arguments=arguments, nodes=nodes))

    def _call(self, each: Instruction, result: Buffer, engine: str, kernel: Kernel) -> None:
        for function in kernel.functions:
            self.functions[function.name] = function
        self.sources.update(dict.fromkeys(kernel.sources))
        self.include_folders.update(dict.fromkeys(kernel.include_folders))
        self.defines.update(dict.fromkeys(kernel.defines))
        arguments: list[Argument] = []
        for argument in kernel.arguments:
            if isinstance(argument, Operand):
                arguments.append(Read(self.names[each.reads[argument.place]]))
            elif isinstance(argument, Result):
                arguments.append(Write(result.name))
            elif isinstance(argument, Table):
                arguments.append(Read(self._constant(f"k{len(self.constants)}t", argument.array)))
            elif isinstance(argument, Scratch | Literal):
                arguments.append(argument)
        overlaps = tuple(
            Overlap(write=result.name, read=self.names[each.reads[place]], ahead=ahead)
            for place, ahead in kernel.in_place.items()
        )
        call = Call(
            function=kernel.functions[0].name,
            arguments=tuple(arguments),
            overlaps=overlaps,
            nodes=each.origin,
            engine=engine,
            estimate=kernel.estimate,
        )
        self.calls.append(call)

    def _constant(self, name: str, array: np.ndarray) -> str:
        """The name of a constant; equal ones, as of the steps of a recurrent layer, are one."""
        stored = np.ascontiguousarray(array)
        key = (stored.dtype.name, stored.shape, hashlib.sha256(stored.data).digest() if stored.size else b"")
        known = self.known_constants.setdefault(key, name)
        if known == name:
            self.constants[name] = Constant(name=name, array=stored)
        return known

    def module(self) -> SourceModule:
        """All of it; an output that is an input, a constant, a view, or another output is copied at the end."""
        for name, place in self.program.outputs.items():
            made, each = self.names[place], self.program.instructions[place]
            root = self._whole(made)
            if root in self.buffers:
                self.outputs[name] = replace(self.buffers.pop(root), dtype=each.dtype, shape=each.shape)
                continue
            buffer = Buffer(name=f"o{len(self.outputs)}", dtype=each.dtype, shape=each.shape)
            self.outputs[name] = buffer
            self._copy(buffer.name, made, buffer.size, each.origin)
        read = {name for call in self.calls for name in call.reads}
        return SourceModule(
            inputs=self.inputs,
            outputs=self.outputs,
            buffers=self.buffers,
            views=self.views,
            constants={name: each for name, each in self.constants.items() if name in read},
            functions=self.functions,
            calls=tuple(self.calls),
            sources=tuple(self.sources),
            include_folders=tuple(self.include_folders),
            defines=tuple(self.defines),
        )


def _is_contiguous(shape: Sequence[int], axis: int) -> bool:
    """Whether parts along an axis lie one behind the other."""
    return prod(shape[: axis % len(shape)]) == 1


def _start_of_slice(each: Instruction, whole: Sequence[int]) -> int | None:
    """Elements in front of a slice, if it is one run of its operand."""
    starts, steps = each.attributes["starts"], each.attributes["steps"]
    if any(step != 1 for step, size in zip(steps, each.shape, strict=True) if size > 1) or 0 in each.shape:
        return None
    cut = [axis for axis, (part, size) in enumerate(zip(each.shape, whole, strict=True)) if part != size]
    if cut and prod(each.shape[: cut[-1]]) != 1:
        return None
    return sum(int(start) * prod(whole[axis + 1 :]) for axis, start in enumerate(starts))
