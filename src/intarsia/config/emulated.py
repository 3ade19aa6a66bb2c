"""What a machine that is weaker than this one has: processes that measure for it take no more."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from intarsia.light_dataclass import dataclass


class InstructionSet(StrEnum):
    """How much of an x86 processor an engine may use; each has all that is before it."""

    SSE41 = "SSE4.1"
    AVX = "AVX"
    AVX2 = "AVX2"
    AVX512 = "AVX-512"
    AVX512_VNNI = "AVX-512 with VNNI"
    AVX512_BF16 = "AVX-512 with BF16"
    AVX512_FP16 = "AVX-512 with FP16"
    AMX = "AMX"


_LADDER = (
    (InstructionSet.SSE41, ("sse4.1",)),
    (InstructionSet.AVX, ("avx",)),
    (InstructionSet.AVX2, ("avx2", "fma")),
    (InstructionSet.AVX512, ("avx512f", "avx512bw", "avx512dq", "avx512vl")),
    (InstructionSet.AVX512_VNNI, ("avx512vnni",)),
    (InstructionSet.AVX512_BF16, ("avx512bf16",)),
    (InstructionSet.AVX512_FP16, ("avx512fp16",)),
    (InstructionSet.AMX, ("amx-tile",)),
)
"""The features of each, by their LLVM names. The steps are those of oneDNN's ``ONEDNN_MAX_CPU_ISA``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Emulated:
    """The limits of the described machine; ``None`` where it has no less than this one.

    Attributes:
        cores: Cores that a process which measures is bound to.
        instruction_set: The most capable one that engines may use, as far as they can be told.
    """

    cores: int | None = None
    instruction_set: InstructionSet | None = None


def most_capable(described: Callable[[str], bool], here: Callable[[str], bool]) -> InstructionSet | None:
    """The instruction set that engines here must not exceed; ``None`` where this machine has no more anyway.

    Args:
        described: Whether the described processor has a feature, by its LLVM name.
        here: The same of this machine's processor.
    """
    allowed = InstructionSet.SSE41
    for place, (step, features) in enumerate(_LADDER):
        if all(map(described, features)):
            allowed = step
        elif place:
            return allowed if any(all(map(here, above)) for _, above in _LADDER[place:]) else None
    return None
