"""Where the program of a target is built for and runs: this machine, an emulated board, or an emulated processor."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from intarsia.backends import registry
from intarsia.backends.c.compiler import OPTIMISED
from intarsia.backends.contract import compiler_flags
from intarsia.backends.contract.source import WritesSource
from intarsia.codegen import emulator, machines, toolchain
from intarsia.codegen.boards.board import Board, Memory
from intarsia.codegen.boards.of_target import emulated, memories
from intarsia.codegen.toolchain import Toolchain
from intarsia.errors import ConfigError
from intarsia.target import Target

_BARE = "arm-none-eabi"
HERE = "this machine"
"""What pages call the place whose times mean something."""
_MACHINES = {"x86": ("x86_64", "AMD64"), "aarch64": ("aarch64", "arm64"), "riscv": ("riscv64",), "arm": ("armv7l",)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a program runs.

    Attributes:
        name: As pages call it.
        triple: Of the toolchain; empty for this machine's own.
        board: The emulated board, if it is one.
        flags: For the compiler.
        memories: What values and weights lie in, fastest first; empty where nothing limits them.
        library: The folder of the sources of others that are compiled beside a network.
    """

    name: str
    triple: str
    board: Board | None
    flags: tuple[str, ...]
    memories: tuple[Memory, ...] = ()
    library: Path | None = None

    @property
    def is_host(self) -> bool:
        """Whether it runs on this machine's own processor."""
        return not self.triple

    def tools(self) -> Toolchain:
        """What it is compiled with.

        Raises:
            BackendUnavailableError: It is not installed; the message says what to install.
        """
        return toolchain.cross(self.triple) if self.triple else toolchain.host()

    def check_tools(self) -> None:
        """Whether a program can be built and run here.

        Raises:
            BackendUnavailableError: A compiler or an emulator is missing; the message says what to install.
        """
        tools = self.tools()
        if self.board is not None:
            emulator.system_emulator()
        elif self.triple and tools.triple:
            emulator.user_emulator(self.triple)


def place_of(target: Target, engines: Iterable[Target] = ()) -> Place:
    """Where the code of a target runs, and with which sources of others.

    Args:
        target: The host.
        engines: Whose functions are in the code.

    Raises:
        ConfigError: Nothing here runs or emulates such a processor.
        BackendUnavailableError: The sources of an engine are not here.
    """
    backends = ((registry.of(each), each) for each in dict.fromkeys(engines))
    folders = (backend.library(each) for backend, each in backends if isinstance(backend, WritesSource))
    return replace(_place(target), library=next(filter(None, folders), None))


def runs_nowhere(engines: Iterable[Target]) -> str:
    """Why nothing here can run the code of these engines; empty if something can."""
    for each in dict.fromkeys(engines):
        backend = registry.of(each)
        if isinstance(backend, WritesSource) and backend.runs_nowhere:
            return f"{each.kind.name}: {backend.runs_nowhere}"
    return ""


def _place(target: Target) -> Place:
    board = emulated(target)
    if board is not None:
        return Place(
            name=f"QEMU's {board.name}", triple=_BARE, board=board, flags=board.flags, memories=memories(target)
        )
    if "stack" in target.options and not machines.is_microcontroller(target):
        raise ConfigError(f"{target}: the deepest stack is known for microcontrollers only; leave -stack out")
    if _is_here(target):
        flags = (*OPTIMISED, *compiler_flags(target))
        return Place(name=HERE, triple="", board=None, flags=flags, memories=memories(target))
    family = machines.family_of(target)
    if family is None and not machines.is_microcontroller(target):
        known = ", ".join(toolchain.FAMILIES)
        raise ConfigError(f"there is no C compiler for the processor of {str(target)!r}; those known are for {known}")
    if family is None or family == _BARE:
        what = f"no board that is emulated here has the processor of {str(target)!r}"
        raise ConfigError(f"{what}; name one of the emulated boards, as in -board=mps2-an386")
    flags = (*OPTIMISED, *machines.flags_of(target, family))
    name = toolchain.FAMILIES[family].emulator
    return Place(name=name, triple=family, board=None, flags=flags, memories=memories(target))


def _is_here(target: Target) -> bool:
    """Whether a target says nothing of its processor, or that it is of this machine's architecture."""
    architecture = target.features.architecture
    if not architecture:
        return "mtriple" not in target.options and not machines.is_microcontroller(target)
    return platform.machine() in _MACHINES.get(architecture, ())
