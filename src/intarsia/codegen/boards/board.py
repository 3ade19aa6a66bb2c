"""`Board`: a microcontroller board as a program sees it, and those that QEMU emulates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

KIB, MIB = 1 << 10, 1 << 20
STACK_BYTES = 64 * KIB
FLASH = "flash"
_VECTORS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One memory of a board.

    Attributes:
        name: As programs and messages call it: ``sram``, ``dtcm``, ``flash``.
        address: Where it starts.
        size: Bytes.
        is_written: Whether a program can write to it.
    """

    name: str
    address: int
    size: int
    is_written: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """A board that is emulated.

    Attributes:
        name: As QEMU calls the machine.
        processors: As GCC and LLVM call them: that of the board first, then those whose programs run on it too.
        flags: For the compiler.
        memories: Those that hold values, the fastest first, then ``flash``, which holds code, weights and tables. The
            first holds the stack and what a program writes.
        vectors: What starts at the address at which the processor starts.
        files: Where inputs wait and results are kept, which are not the network's.
        source: Where the figures are from.
    """

    name: str
    processors: tuple[str, ...]
    flags: tuple[str, ...]
    memories: tuple[Memory, ...]
    vectors: Memory
    files: Memory
    source: str

    @property
    def written(self) -> tuple[Memory, ...]:
        """The memories that hold values, the fastest first."""
        return tuple(each for each in self.memories if each.is_written)

    @property
    def flash(self) -> Memory:
        """The memory of code and weights."""
        return self.memory(FLASH)

    def memory(self, name: str) -> Memory:
        """The memory of a name."""
        return next(each for each in self.memories if each.name == name)


_ARM = "https://developer.arm.com/documentation"
_MPS2 = "QEMU 7.2, hw/arm/mps2.c, as its monitor shows it (info mtree -f)"
_MPS3 = "QEMU 7.2, hw/arm/mps2-tz.c and hw/arm/armsse.c, as its monitor shows it (info mtree -f)"


def _mps2(name: str, processors: tuple[str, ...], flags: tuple[str, ...], psram: int, source: str) -> Board:
    return Board(
        name=name,
        processors=processors,
        flags=(f"-mcpu={processors[0]}", "-mthumb", *flags),
        memories=(
            Memory(name="sram", address=0x20000000, size=4 * MIB),
            Memory(name="psram", address=psram, size=8 * MIB),
            Memory(name="flash", address=_VECTORS, size=4 * MIB - _VECTORS, is_written=False),
        ),
        vectors=Memory(name="vectors", address=0, size=_VECTORS, is_written=False),
        files=Memory(name="files", address=psram + 8 * MIB, size=8 * MIB),
        source=f"{source}; {_MPS2}",
    )


EMULATED: Mapping[str, Board] = {
    board.name: board
    for board in (
        _mps2(
            "mps2-an385",
            ("cortex-m3", "cortex-m0", "cortex-m0plus", "cortex-m1"),
            ("-mfloat-abi=soft",),
            0x21000000,
            f"Arm, AN385: Cortex-M3 on MPS2+, {_ARM}/dai0385/",
        ),
        _mps2(
            "mps2-an386",
            ("cortex-m4",),
            ("-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"),
            0x21000000,
            f"Arm, AN386: Cortex-M4 on MPS2+, {_ARM}/dai0386/",
        ),
        _mps2(
            "mps2-an500",
            ("cortex-m7",),
            ("-mfpu=fpv5-d16", "-mfloat-abi=hard"),
            0x60000000,
            f"Arm, AN500: Cortex-M7 on V2M-MPS2+, {_ARM}/dai0500/",
        ),
        Board(
            name="mps3-an547",
            processors=("cortex-m55", "cortex-m85", "cortex-m33", "cortex-m35p", "cortex-m23"),
            flags=("-mcpu=cortex-m55", "-mthumb", "-mfpu=auto", "-mfloat-abi=hard"),
            memories=(
                Memory(name="dtcm", address=0x20000000, size=512 * KIB),
                Memory(name="sram", address=0x21000000, size=4 * MIB),
                Memory(name="ddr", address=0x60000000, size=128 * MIB),
                Memory(name="flash", address=0x01000000, size=2 * MIB, is_written=False),
            ),
            vectors=Memory(name="vectors", address=0, size=_VECTORS, is_written=False),
            files=Memory(name="files", address=0x68000000, size=128 * MIB),
            source=f"Arm, AN547: Corstone SSE-300 with Cortex-M55 on MPS3, {_ARM}/dai0547/; {_MPS3}",
        ),
    )
}
"""The boards that QEMU emulates. A memory called flash is a RAM there, to which nothing writes."""
