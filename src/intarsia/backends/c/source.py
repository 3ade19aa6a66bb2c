"""The text of a library for this machine: constants are handed over as pointers, and not written out as numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intarsia.backends.c import ENTRY
from intarsia.codegen import arena, emit
from intarsia.codegen.module import SourceModule

_ALIGNED = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A library's text, and what is handed to it.

    Attributes:
        text: Of one file.
        workspace: Bytes of memory that a call needs.
        constants: All constants, each from a multiple of 64 bytes on.
        offsets: Where each constant starts.
    """

    text: str
    workspace: int
    constants: bytes
    offsets: tuple[int, ...]


def source_of(module: SourceModule) -> Source:
    """What is compiled for a module."""
    planned = arena.plan(module, _ALIGNED)
    content = bytearray()
    offsets, macros = [], []
    for place, each in enumerate(module.constants.values()):
        content += bytes(-len(content) % _ALIGNED)
        offsets.append(len(content))
        content += np.ascontiguousarray(each.array).tobytes()
        macros.append(f"#define {each.name} ((const {emit.TYPES[each.array.dtype.name]} *)constants[{place}])")
    names = ("const void *const *inputs", "void *const *outputs", "void *workspace", "const void *const *constants")
    head = f"void {ENTRY}({', '.join(names)})"
    visible = '#if defined(__GNUC__)\n__attribute__((visibility("default")))\n#endif'
    unused = "\n".join(f"    (void){name};" for name in ("inputs", "outputs", "workspace", "constants"))
    body = emit.body_text(module, planned)
    parts = [emit.functions_text(module), *macros, f"{visible}\n{head};", f"{head}\n{{\n{unused}\n{body}\n}}\n"]
    return Source(text="\n".join(parts), workspace=planned.size, constants=bytes(content), offsets=tuple(offsets))
