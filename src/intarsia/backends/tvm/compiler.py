"""A program as TVM's kernels: fused, scheduled, compiled, and the order in which they are called.

What depends on weights alone is a part of its own, `Plan.prepare`, which runs once, when the weights are there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import prod
from typing import Any, Self

from intarsia.backends.lowering.program import CONSTANT, INPUT, LEAVES, Instruction, Program
from intarsia.backends.tvm.kernels import filled, kernel_of
from intarsia.backends.tvm.schedules import Registers, scheduled


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """A value between kernels: its numpy name of element type, and its shape."""

    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One kernel on values by name, the last of which it writes."""

    kernel: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is called, in order: what needs weights and constants alone, and the rest.

    ``made`` is what the calls write, ``outputs`` says which value each output is.
    """

    prepare: tuple[Call, ...]
    run: tuple[Call, ...]
    made: Mapping[str, Tensor]
    outputs: Mapping[str, str]

    def to_bytes(self) -> bytes:
        """As JSON."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def of_bytes(cls, content: bytes) -> Self:
        """What `to_bytes` wrote."""
        from pydantic import TypeAdapter

        return TypeAdapter(cls).validate_json(content)


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """Kernels that TVM can compile, and what to do with them."""

    kernels: Any
    plan: Plan


_FUSION = {"relax.FuseOps.max_depth": 16}
"""What reads a value twice holds its expression twice: longer chains would become too long to compile."""


def module_of(program: Program, device: Any, opt_level: int) -> Module:
    """Fuse and schedule, for TVM's target and with this effort of TVM's passes."""
    import tvm
    from tvm import relax

    parts = _Parts.of(with_turned_weights(program))
    registers = Registers.of(device)
    with tvm.transform.PassContext(opt_level=opt_level, config=_FUSION), device:
        steps = relax.transform
        passes = [steps.DeadCodeElimination(["prepare", "run"]), steps.AnnotateTIROpPattern()]
        fused = tvm.transform.Sequential([*passes, steps.FuseOps(), steps.FuseTIR()])(parts.module())
    names = {place: f"{each.name}/{each.attributes['name']}" for place, each in parts.leaves.items()}
    prepare = _Reader(fused["prepare"], names, parts.fixed, parts.shared)
    run = _Reader(fused["run"], names, (*parts.leaves, *parts.shared), parts.results)
    plan = Plan(
        prepare=tuple(prepare.calls),
        run=tuple(run.calls),
        made=prepare.made | run.made,
        outputs={name: names[place] for name, place in parts.program.outputs.items() if place in names},
    )
    kernels = {
        name.name_hint: scheduled(function, registers).with_attr("global_symbol", name.name_hint)
        for name, function in fused.functions_items()
        if isinstance(function, tvm.tirx.PrimFunc)
    }
    return Module(kernels=tvm.IRModule(kernels), plan=plan)


def with_turned_weights(program: Program) -> Program:
    """Weights of convolutions with the output channel last, so that those of neighbours lie side by side; once."""
    instructions: list[Instruction] = []
    places: dict[int, int] = {}
    fixed: set[int] = set()
    for place, each in enumerate(program.instructions):
        reads = tuple(places[read] for read in each.reads)
        attributes = each.attributes
        if each.name == "conv" and attributes["groups"] == 1 and reads[1] in fixed and not attributes.get("turned"):
            weight = instructions[reads[1]]
            order = [*range(1, len(weight.shape)), 0]
            shape = tuple(weight.shape[axis] for axis in order)
            instructions.append(Instruction("transpose", reads[1:], {"order": order}, weight.dtype, shape))
            reads, attributes = (reads[0], len(instructions) - 1), {**attributes, "turned": True}
        places[place] = len(instructions)
        if each.name != INPUT and fixed.issuperset(reads):
            fixed.add(len(instructions))
        instructions.append(replace(each, reads=reads, attributes=attributes))
    outputs = {name: places[place] for name, place in program.outputs.items()}
    return replace(program, instructions=tuple(instructions), outputs=outputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """A program in two: what depends on weights and constants alone, and the rest.

    Attributes:
        program: The program.
        early: Places of the instructions of the first part.
        late: Places of those of the second.
        shared: Places whose results the first part computes for the second, or as outputs.
        results: Places that the second part computes as outputs.
    """

    program: Program
    early: tuple[int, ...]
    late: tuple[int, ...]
    shared: tuple[int, ...]
    results: tuple[int, ...]

    @classmethod
    def of(cls, program: Program) -> Self:
        """By what each instruction reads."""
        moving = set(program.inputs.values())
        early, late = [], []
        for place, each in enumerate(program.instructions):
            if each.name in LEAVES or 0 in each.shape:  # nothing is computed where no element is
                continue
            if moving.isdisjoint(each.reads):
                early.append(place)
            else:
                late.append(place)
                moving.add(place)
        wanted = {*program.outputs.values(), *(read for place in late for read in program.instructions[place].reads)}
        return cls(
            program=program,
            early=tuple(early),
            late=tuple(late),
            shared=tuple(place for place in early if place in wanted),
            results=tuple(sorted(set(program.outputs.values()).intersection(late))),
        )

    @property
    def leaves(self) -> dict[int, Instruction]:
        """Inputs, weights and constants, by place."""
        return {place: each for place, each in enumerate(self.program.instructions) if each.name in LEAVES}

    @property
    def fixed(self) -> tuple[int, ...]:
        """Places of weights and constants."""
        return tuple(place for place, each in self.leaves.items() if each.name != INPUT)

    def module(self) -> Any:
        """Both parts as functions of TVM's Relax."""
        from tvm import relax

        builder = relax.BlockBuilder()
        self._write(builder, "prepare", self.fixed, self.early, self.shared)
        self._write(builder, "run", (*self.leaves, *self.shared), self.late, self.results)
        return builder.get()

    def _write(
        self, builder: Any, name: str, given: Sequence[int], body: Sequence[int], results: Sequence[int]
    ) -> None:
        from tvm import relax

        instructions = self.program.instructions
        known = {
            place: relax.Var(f"v{place}", relax.TensorType(instructions[place].shape, instructions[place].dtype))
            for place in given
        }
        with builder.function(name, list(known.values())):
            with builder.dataflow():
                for place in body:
                    known[place] = self._emitted(builder, instructions[place], known)
                found = builder.emit_output(relax.Tuple([known[place] for place in results]))
            builder.emit_func_output(found)

    def _emitted(self, builder: Any, each: Instruction, known: Mapping[int, Any]) -> Any:
        """One instruction; constants of one element become part of it."""
        instructions = self.program.instructions
        places = [place for place in each.reads if 0 not in instructions[place].shape]
        reads = [instructions[place] for place in places]
        numbers = {
            slot: self.program.constants[read.attributes["name"]].reshape(()).item()
            for slot, read in enumerate(reads)
            if read.name == CONSTANT and prod(read.shape) == 1
        }
        kernel = kernel_of(each, reads)

        def run(*tensors: Any) -> Any:
            rest = iter(tensors)
            operands = []
            for slot, read in enumerate(reads):
                operands.append(filled(read, numbers[slot]) if slot in numbers else next(rest))
            return kernel(*operands)

        tensors = [known[place] for slot, place in enumerate(places) if slot not in numbers]
        return builder.emit_te(run, *tensors, primfunc_name_hint=each.name)


class _Reader:
    """The calls of a function of TVM's Relax after fusion, in order."""

    def __init__(self, function: Any, names: dict[int, str], given: Sequence[int], results: Sequence[int]) -> None:
        """Read those of a function whose parameters and results are the values at these places of the program.

        ``names`` has the values' names by place; those of the results are added.
        """
        self.calls: list[Call] = []
        self.made: dict[str, Tensor] = {}
        self._part = str(function.attrs["global_symbol"])
        self._names = {param: names[place] for param, place in zip(function.params, given, strict=True)}
        self._fields: list[Any] = []
        for block in function.body.blocks:
            for binding in block.bindings:
                self._read(binding.var, binding.value)
        returned = [self._names[each] for each in self._fields]
        names.update(zip(results, returned, strict=True))

    def _read(self, var: Any, value: Any) -> None:
        from tvm import relax

        if isinstance(value, relax.Tuple):
            self._fields = list(value.fields)
        elif isinstance(value, relax.Call):
            kernel, reads = value.args[0].name_hint, value.args[1].fields
            name = self._names[var] = f"{self._part}/{len(self.made)}"
            result = value.ty_args[0]
            self.made[name] = Tensor(dtype=str(result.dtype), shape=tuple(int(size) for size in result.shape))
            self.calls.append(Call(kernel=kernel, values=(*(self._names[read] for read in reads), name)))
        elif value in self._names:
            self._names[var] = self._names[value]
