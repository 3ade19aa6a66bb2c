"""A module as a program that the harness runs, on this machine, on another one, or on a board.

Weights that are many megabytes lie beside the text as a file that the assembler takes in: as numbers in the text a
compiler would need minutes and gigabytes for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from intarsia.codegen import arena, emit
from intarsia.codegen.arena import Arena
from intarsia.codegen.harness import Array, Program
from intarsia.codegen.module import Constant, SourceModule
from intarsia.codegen.toolchain import Build

ENTRY = "network"
"""``void network(const void *const *inputs, void *const *outputs, void *workspace)``."""
MOST_AS_TEXT = 1 << 20
"""Bytes of constants that are written as numbers."""
_BLOB = "constants.bin"
_ALIGNED = 64
_TRIES = 100
"""Of changes of the arena: such a program need not be the smallest."""


def program_of(module: SourceModule, library: Path | None = None, flags: Sequence[str] = ()) -> Program:
    """A module as a program that the harness runs.

    Args:
        module: With its calls in running order.
        library: The folder that the module's own ``sources`` and ``include_folders`` lie in.
        flags: For the compiler.
    """
    planned = arena.plan(module, tries=_TRIES)
    folder = library or Path()
    return Program(
        what=replace(
            _written(module, _entry(module, planned)),
            files=tuple(folder / each for each in module.sources),
            include_folders=tuple(folder / each for each in module.include_folders),
            flags=tuple(flags),
            defines=dict.fromkeys(module.defines, "1"),
        ),
        entry=ENTRY,
        inputs=tuple(Array(dtype=each.dtype, shape=each.shape) for each in module.inputs.values()),
        outputs=tuple(Array(dtype=each.dtype, shape=each.shape) for each in module.outputs.values()),
        workspace=planned.size,
        alignment=planned.alignment,
    )


def _written(module: SourceModule, entry: str) -> Build:
    """The files of a module."""
    functions = emit.functions_text(module)
    if sum(each.array.nbytes for each in module.constants.values()) <= MOST_AS_TEXT:
        before = "static __attribute__((aligned(16))) "
        arrays = [emit.array_text(each.name, each.array, before) for each in module.constants.values()]
        return Build(sources={f"{ENTRY}.c": "\n".join([functions, *arrays, entry])})
    content = bytearray()
    listing = [".section .rodata"]
    for each in module.constants.values():
        content += bytes(-len(content) % _ALIGNED)
        listing += _labelled(each, len(content))
        content += np.ascontiguousarray(each.array).tobytes()
    listing.append('.section .note.GNU-stack,"",%progbits')
    text = "\n".join([functions, *map(_declared, module.constants.values()), entry])
    sources = {f"{ENTRY}.c": text, "constants.S": "\n".join(listing) + "\n"}
    return Build(sources=sources, blobs={_BLOB: bytes(content)})


def _entry(module: SourceModule, planned: Arena) -> str:
    head = f"void {ENTRY}(const void *const *inputs, void *const *outputs, void *workspace)"
    unused = "    (void)inputs;\n    (void)outputs;\n    (void)workspace;"
    return f"{head};\n{head}\n{{\n{unused}\n{emit.body_text(module, planned)}\n}}\n"


def _labelled(each: Constant, offset: int) -> Iterator[str]:
    yield f".balign {_ALIGNED}\n.globl {each.name}\n.hidden {each.name}\n{each.name}:"
    yield f'.incbin "{_BLOB}", {offset}, {each.array.nbytes}' if each.array.nbytes else ".byte 0"


def _declared(each: Constant) -> str:
    hidden = '__attribute__((visibility("hidden")))'
    return f"extern const {emit.TYPES[each.array.dtype.name]} {each.name}[{max(1, each.array.size)}] {hidden};"
