"""What a network is as C code: functions, the calls of them in order, the values between, and the constants.

An engine says per instruction which function computes it (`Kernel`); a `SourceModule` is all of them put together,
before anything has an address. `arena` gives the values addresses, `emit` writes the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np

BYTES: Mapping[str, int] = {
    "bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2,
    "int32": 4, "uint32": 4, "float32": 4, "int64": 8, "uint64": 8, "float64": 8,
}  # fmt: skip
"""Bytes of one element, by type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """The definition of a C function. Two functions of one name have one text.

    Attributes:
        name: What it is called; a C identifier.
        text: The definition, from ``static`` to the closing brace.
        needs: Names of other functions of the module that it calls, or of types and tables that it reads.
        headers: What it includes, e.g. ``<math.h>`` or ``"arm_nnfunctions.h"``.
    """

    name: str
    text: str
    needs: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer:
    """A value between two calls, or an input or output of the module. The shape is as it lies in memory, row by row."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Bytes."""
        return prod(self.shape) * BYTES[self.dtype]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A buffer that lies inside another one: a reshape, a part of a concatenation, a run of rows.

    Attributes:
        buffer: The one inside.
        of: Name of the buffer around it, which may be a view itself.
        offset: Bytes from the start of that one.
    """

    buffer: Buffer
    of: str
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """Numbers known at compile time, as they lie in memory: weights, biases, tables."""

    name: str
    array: np.ndarray = field(compare=False)


@dataclass(frozen=True, slots=True)
class Read:
    """An argument: the address of a buffer or a constant that the call reads, as ``const T *``."""

    name: str


@dataclass(frozen=True, slots=True)
class Write:
    """An argument: the address of a buffer that the call fills, as ``T *``."""

    name: str


@dataclass(frozen=True, slots=True)
class Scratch:
    """An argument: the address of memory of the call's own, as ``void *``; its contents are lost behind the call.

    Attributes:
        size: Bytes.
    """

    size: int


@dataclass(frozen=True, slots=True)
class Literal:
    """An argument: an expression of C."""

    text: str


Argument = Read | Write | Scratch | Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """A buffer that is written may lie over one that the same call reads for the last time.

    It is safe where ``address of write + ahead <= address of read``: the call writes a byte only after it has read all
    that lies so many bytes or more before it. 0 is what works element by element in place.
    """

    write: str
    read: str
    ahead: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a function, in running order.

    Attributes:
        function: Its name.
        arguments: In the order of its parameters.
        overlaps: Where what it writes may lie over what it reads. Without one they are kept apart.
        nodes: Ids of the nodes of the model that it computes, for messages and reports.
        engine: The kind whose code it is: ``c``, ``cmsis-nn``, ``ethos-u``.
        estimate: What its compiler expects it to take where nothing here can run it, by name.
    """

    function: str
    arguments: tuple[Argument, ...]
    overlaps: tuple[Overlap, ...] = ()
    nodes: tuple[str, ...] = ()
    engine: str = "c"
    estimate: Mapping[str, float] = field(default_factory=dict, compare=False)

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the buffers and constants that it reads."""
        return tuple(each.name for each in self.arguments if isinstance(each, Read))

    @property
    def writes(self) -> tuple[str, ...]:
        """Names of the buffers that it fills."""
        return tuple(each.name for each in self.arguments if isinstance(each, Write))

    @property
    def scratch(self) -> int:
        """Bytes of memory of its own."""
        sizes = [each.size for each in self.arguments if isinstance(each, Scratch)]
        return sum(map(_rounded, sizes[:-1])) + sum(sizes[-1:])

    def scratch_offset(self, place: int) -> int:
        """Bytes from the start of that memory at which the argument at a place begins."""
        return sum(_rounded(each.size) for each in self.arguments[:place] if isinstance(each, Scratch))


def _rounded(size: int) -> int:
    """Up to a multiple of what every type of C is aligned to."""
    return -(-size // 16) * 16


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceModule:
    """A network, or a part of one, as C.

    Attributes:
        inputs: What the caller owns and hands over to be read: interface name to buffer.
        outputs: What the caller owns and hands over to be filled. An output may be a view of no other buffer.
        buffers: The values between, which the arena holds.
        views: Buffers inside of buffers.
        constants: By name.
        functions: By name; those that no call needs are left out when text is written.
        calls: In running order.
        sources: Files of a library to compile beside it, as paths inside the library's folder.
        include_folders: Where its headers are, as paths inside the library's folder.
        defines: Macros that the compiler defines for the library's files.
        assembly: Texts of functions that an engine's own compiler made, by a name of C.
        alignment: Bytes that its functions take values and constants to be aligned to.
    """

    inputs: Mapping[str, Buffer]
    outputs: Mapping[str, Buffer]
    buffers: Mapping[str, Buffer]
    views: Mapping[str, View]
    constants: Mapping[str, Constant]
    functions: Mapping[str, Function]
    calls: tuple[Call, ...]
    sources: tuple[str, ...] = ()
    include_folders: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    assembly: Mapping[str, str] = field(default_factory=dict)
    alignment: int = 1

    def root(self, name: str) -> tuple[str, int]:
        """The buffer that a name lies in in the end, and the byte in it at which it starts."""
        offset = 0
        while name in self.views:
            offset += self.views[name].offset
            name = self.views[name].of
        return name, offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """Stands for the address of what an instruction reads: its ``place``-th operand."""

    place: int


@dataclass(frozen=True, slots=True)
class Result:
    """Stands for the address of what an instruction computes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Stands for the address of a constant that comes with the kernel: packed weights, multipliers, a table."""

    array: np.ndarray = field(compare=False)


Given = Operand | Result | Table | Scratch | Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """How an engine computes one instruction.

    Attributes:
        functions: The function that is called, first, and those it needs.
        arguments: In the order of its parameters.
        in_place: Operand to ``ahead`` (see `Overlap`) where the result may lie over that operand.
        sources: Files of a library that it is in.
        include_folders: Where its headers are.
        defines: Macros that the compiler defines for the library's files.
        estimate: As of `Call`.
    """

    functions: tuple[Function, ...]
    arguments: tuple[Given, ...]
    in_place: Mapping[int, int] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    include_folders: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    estimate: Mapping[str, float] = field(default_factory=dict, compare=False)
