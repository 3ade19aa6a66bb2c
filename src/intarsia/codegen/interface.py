"""How the code of a network is called: names of C, the entry point, and who owns which memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Literal

from intarsia.codegen.emit import TYPES
from intarsia.codegen.module import BYTES

Entry = Literal["array", "arguments", "structs"]
"""How inputs and outputs are handed over: in one array, each by itself, or in a struct of inputs and one of outputs."""
_WORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    bool class new delete this private public protected template typename namespace operator virtual using try
    catch throw and or not xor true false nullptr asm main workspace weights inputs outputs arguments memories
"""
_RESERVED = frozenset(_WORDS.split())
"""What means something in C or C++, or in the code around a network."""


def identifier(text: str, taken: Iterable[str] = ()) -> str:
    """A name of C in small letters that says what a name says, and that is none of those taken."""
    plain = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "value"
    if plain[0].isdigit():
        plain = f"n{plain}"
    plain = plain[:48]
    if plain in _RESERVED:
        plain = f"{plain}_"
    found, number = plain, 2
    while found in set(taken):
        found, number = f"{plain}_{number}", number + 1
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An input or an output.

    Attributes:
        name: As the model calls it.
        identifier: As C does.
        dtype: Element type.
        shape: In full.
    """

    name: str
    identifier: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Bytes."""
        return prod(self.shape) * BYTES[self.dtype]

    @property
    def type(self) -> str:
        """The element type in C."""
        return TYPES[self.dtype]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the executor and the runtime say about the code.

    Attributes:
        entry: See `Entry`.
        workspace_alignment: Of the workspace and of each value in it, in bytes.
        constant_alignment: Of each array of weights, in bytes.
        link_weights: Whether the weights are arrays in the code; else the caller hands over where they lie.
        static_workspace: Whether the code has its workspace itself; else the caller hands it over.
        registered: Whether the network is found by its name in a table of all networks of a program.
    """

    entry: Entry = "array"
    workspace_alignment: int = 16
    constant_alignment: int = 16
    link_weights: bool = True
    static_workspace: bool = False
    registered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """All that a caller has to know.

    Attributes:
        name: Of the network: each name of its code that can be seen from outside begins with it.
        options: How it is called.
        inputs: In the model's order.
        outputs: In the model's order.
        workspaces: Bytes that it needs in each memory, by the memory's name; one without a name where none is stated.
        weights_bytes: Of all weights and tables together, as they lie in memory.
    """

    name: str
    options: Options
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    workspaces: Mapping[str, int]
    weights_bytes: int

    @property
    def prefix(self) -> str:
        """What macros begin with."""
        return self.name.upper()

    @property
    def memories(self) -> dict[str, str]:
        """The name of the parameter for the workspace in each memory that is used, by the memory's name."""
        return {memory: workspace_name(memory) for memory, size in self.workspaces.items() if size or not memory}

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """Inputs, then outputs."""
        return (*self.inputs, *self.outputs)

    def prototype(self) -> str:
        """The declaration of the entry point, without the semicolon."""
        return f"int32_t {self.name}_run({', '.join(self.parameters()) or 'void'})"

    def parameters(self) -> Iterator[str]:
        """Of the entry point."""
        yield from _ENTRIES[self.options.entry](self)
        if not self.options.static_workspace:
            yield from (f"void *{name}" for name in self.memories.values())
        if not self.options.link_weights:
            yield "const void *weights"

    def places(self) -> tuple[dict[str, str], dict[str, str]]:
        """In the body of the entry point: an expression for each input, and for each output, by its name."""
        ins = {each.name: self._place(each, "inputs", at) for at, each in enumerate(self.inputs)}
        outs = {each.name: self._place(each, "outputs", len(ins) + at) for at, each in enumerate(self.outputs)}
        return ins, outs

    def _place(self, each: Argument, side: str, at: int) -> str:
        if self.options.entry == "array":
            return f"arguments[{at}]"
        return f"{side}->{each.identifier}" if self.options.entry == "structs" else each.identifier


def workspace_name(memory: str) -> str:
    """The name of the parameter for the workspace in a memory."""
    return f"workspace_{memory}" if memory else "workspace"


def arguments(values: Iterable[tuple[str, str, tuple[int, ...]]], taken: Iterable[str] = ()) -> tuple[Argument, ...]:
    """Values by name, element type and shape, each with a name of C of its own."""
    found: list[Argument] = []
    used = set(taken)
    for name, dtype, shape in values:
        own = identifier(name, used)
        used.add(own)
        found.append(Argument(name=name, identifier=own, dtype=dtype, shape=shape))
    return tuple(found)


def _one_array(it: Interface) -> Iterator[str]:
    yield "void *const *arguments"


def _each_by_itself(it: Interface) -> Iterator[str]:
    yield from (f"const {each.type} *{each.identifier}" for each in it.inputs)
    yield from (f"{each.type} *{each.identifier}" for each in it.outputs)


def _two_structs(it: Interface) -> Iterator[str]:
    yield f"const struct {it.name}_inputs *inputs"
    yield f"const struct {it.name}_outputs *outputs"


_ENTRIES = {"array": _one_array, "arguments": _each_by_itself, "structs": _two_structs}
