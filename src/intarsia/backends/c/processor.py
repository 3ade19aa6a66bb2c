"""What kernels need to know of the processor they are written for: vectors, registers, the size of a pointer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from intarsia.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Processor:
    """A processor, as far as a kernel's text depends on it.

    Attributes:
        architecture: ``x86``, ``arm``, ``aarch64``, ``riscv``, or empty where nothing says so.
        vector_bytes: Bytes of a vector of floats, by the compiler's vector types; 4 where there are none.
        vector_registers: How many of these there are.
        pointer_bytes: Bytes of an address.
        has_dsp: Whether it has the packed 16-bit multiplications of Cortex-M4 and later.
        has_mve: Whether it has Arm's vector extension for Cortex-M, Helium.
    """

    architecture: str = ""
    vector_bytes: int = 4
    vector_registers: int = 16
    pointer_bytes: int = 8
    has_dsp: bool = False
    has_mve: bool = False

    @classmethod
    def of(cls, target: Target) -> Self:
        """Of a target; this machine's where the target says nothing of its processor."""
        from intarsia.target import Target as Kind

        stated = target.features
        facts = stated if stated.architecture or target.options.keys() & _TELLING else Kind.detect().features
        vector_bytes, registers = _vectors(facts.architecture, facts.has)
        return cls(
            architecture=facts.architecture,
            vector_bytes=vector_bytes,
            vector_registers=registers,
            pointer_bytes=4 if facts.architecture == "arm" else 8,
            has_dsp=facts.has("dsp"),
            has_mve=facts.has("mve"),
        )

    def lanes(self, element_bytes: int) -> int:
        """Elements of so many bytes in one vector; at least one."""
        return max(1, self.vector_bytes // element_bytes)


_TELLING = frozenset({"mcpu", "march", "mtriple", "mattr"})
"""Options that say something of a processor."""


def _vectors(architecture: str, has: Callable[[str], bool]) -> tuple[int, int]:
    """Bytes of a vector and the number of registers. Cortex-M has 32 single floats, and no vectors of floats here."""
    if architecture == "x86":
        if has("avx512f"):
            return 64, 32
        return (32, 16) if has("avx2") else (16, 16)
    if architecture == "aarch64":
        return 16, 32
    return 4, 32
