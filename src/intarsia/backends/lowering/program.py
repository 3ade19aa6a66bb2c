"""What the lowering makes of a sub-graph: a flat list of primitive instructions, each of known type and shape.

A `Program` is the same for every engine; an engine without an ONNX reader has one translation for each primitive.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, Self

import numpy as np

Attributes = Mapping[str, Any]
"""JSON-able."""

INPUT, WEIGHT, CONSTANT = "input", "weight", "constant"
"""Instructions that compute nothing: ``name`` says which input, weight or constant it is."""
LEAVES = frozenset({INPUT, WEIGHT, CONSTANT})


class UnsupportedError(Exception):
    """A node cannot be lowered; the message says why. Turned into a refusal, so it never reaches a user."""


@dataclass(frozen=True, slots=True)
class Term:
    """The result of an instruction: its place in the program, its type by numpy or ml_dtypes name, its shape."""

    number: int
    dtype: str
    shape: tuple[int, ...]

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def is_float(self) -> bool:
        """Whether it holds floating-point numbers."""
        return "float" in self.dtype


@dataclass(frozen=True, slots=True)
class Instruction:
    """One primitive applied to the results of the instructions at these places; type and shape are those of its result.

    ``attributes`` hold what else decides over the result, e.g. strides; ``origin`` the ids of the nodes that it
    computes, or a part of.
    """

    name: str
    reads: tuple[int, ...]
    attributes: Attributes = field(compare=False)
    dtype: str
    shape: tuple[int, ...]
    origin: tuple[str, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        attributes = "".join(f", {name}={value}" for name, value in self.attributes.items())
        operands = ", ".join(f"%{number}" for number in self.reads)
        return f"{self.name}({operands}{attributes}) : {self.dtype}{list(self.shape)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Instructions in running order, places of the results that leave it by name, small arrays made while lowering."""

    instructions: tuple[Instruction, ...]
    outputs: Mapping[str, int]
    constants: Mapping[str, np.ndarray]

    @property
    def inputs(self) -> dict[str, int]:
        """Places of the inputs, by name."""
        return self._leaves(INPUT)

    @property
    def weights(self) -> dict[str, int]:
        """Places of the weights, by name."""
        return self._leaves(WEIGHT)

    @property
    def known(self) -> dict[int, np.ndarray]:
        """The constants, by place."""
        return {place: self.constants[name] for name, place in self._leaves(CONSTANT).items()}

    def _leaves(self, kind: str) -> dict[str, int]:
        return {each.attributes["name"]: n for n, each in enumerate(self.instructions) if each.name == kind}

    def files(self) -> dict[str, bytes]:
        """As two files: the instructions and what the constants are as JSON, and the constants' bytes."""
        rows = [[i.name, i.reads, dict(i.attributes), i.dtype, i.shape] for i in self.instructions]
        constants = [[name, array.dtype.name, array.shape] for name, array in self.constants.items()]
        text = json.dumps({"instructions": rows, "outputs": dict(self.outputs), "constants": constants})
        content = b"".join(array.tobytes() for array in self.constants.values())
        return {"program.json": text.encode(), "constants.bin": content}

    @classmethod
    def of_files(cls, files: Mapping[str, bytes]) -> Self:
        """What `files` wrote."""
        from intarsia.graph.dtypes import numpy_dtype  # which imports onnx, and listing engines imports this file

        data = json.loads(files["program.json"])
        constants, offset = {}, 0
        for name, dtype, shape in data["constants"]:
            count = prod(shape)
            content = files["constants.bin"][offset : offset + count * numpy_dtype(dtype).itemsize]
            array = np.frombuffer(content, numpy_dtype(dtype)).reshape(shape).copy()
            constants[name] = array
            offset += array.nbytes
        return cls(
            instructions=tuple(_instruction(row) for row in data["instructions"]),
            outputs=data["outputs"],
            constants=constants,
        )

    def __str__(self) -> str:
        lines = [f"%{number} = {each}" for number, each in enumerate(self.instructions)]
        returned = ", ".join(f"{name}=%{number}" for name, number in self.outputs.items())
        return "\n".join([*lines, f"return {returned}"])


def strange_type(each: Instruction, reads: Iterable[Instruction], known: frozenset[str]) -> str | None:
    """An element type of an instruction, or of what it reads, that is not among the known ones."""
    return min({each.dtype, *(read.dtype for read in reads)} - known, default=None)


def _instruction(row: Iterable[Any]) -> Instruction:
    name, reads, attributes, dtype, shape = row
    return Instruction(name, tuple(reads), attributes, dtype, tuple(shape))
