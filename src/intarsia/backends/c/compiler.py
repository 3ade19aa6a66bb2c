"""What the machine's C compiler is told, and what the library that it makes of a text serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from intarsia.backends.contract import compiler_flags
from intarsia.backends.native.library import cpu_features
from intarsia.codegen import toolchain
from intarsia.codegen.toolchain import Build
from intarsia.errors import BackendUnavailableError
from intarsia.files import scratch

if TYPE_CHECKING:
    from intarsia.target import Target

OPTIMISED = (
    "-std=c99", "-O3", "-fPIC", "-fvisibility=hidden",
    # A product and a sum in one step, as every engine does; C99 to the letter would round twice.
    "-ffp-contract=fast",
    # Nobody reads errno or the flags of exceptions: so square roots and choices become vectors.
    "-fno-math-errno", "-fno-trapping-math",
)  # fmt: skip
_SETS = ("sse3", "ssse3", "sse4_1", "sse4_2", "avx", "avx2", "fma", "f16c", "bmi1", "bmi2", "abm", "movbe", "popcnt",
         "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512ifma", "avx512vbmi", "avx512_vbmi2",
         "avx512_vnni", "avx512_bitalg", "avx512_vpopcntdq", "avx512_bf16", "avx_vnni", "gfni", "vaes",
         "vpclmulqdq")  # fmt: skip
"""Instruction sets that a compiler may use for this machine, by Linux's names."""
_DOTTED = {"sse4_1": "sse4.1", "sse4_2": "sse4.2", "abm": "lzcnt", "bmi1": "bmi"}
"""Those that LLVM calls otherwise."""


def lack() -> str | None:
    """Why there is no compiler here, with the command that installs one; ``None`` if there is one."""
    try:
        toolchain.host()
    except BackendUnavailableError as error:
        return str(error)
    return None


def instruction_sets(target: Target) -> tuple[str, ...]:
    """What a library for a target may use, and so needs where it runs: this machine's, where nothing is said."""
    if not target.options.keys() & {"mcpu", "march", "mattr"}:
        return tuple(name for name in _SETS if name in cpu_features())
    found = target.features
    return tuple(
        name
        for name in _SETS
        if found.has(name) or found.has(name.replace("_", "")) or found.has(_DOTTED.get(name, name))
    )


def library(text: str, target: Target) -> bytes:
    """A shared library of one text.

    Raises:
        BackendUnavailableError: There is no compiler.
        CompileError: It refuses.
    """
    flags = (*OPTIMISED, *compiler_flags(target))
    with scratch() as folder:
        build = Build(sources={"model.c": text}, flags=flags, link=("-shared", "-lm"))
        return toolchain.build(toolchain.host(), build, folder, "model.so").read_bytes()
