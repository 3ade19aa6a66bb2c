"""Runs programs for other processors in QEMU, and counts the instructions that they execute.

QEMU models no cycles, so nothing here is a time. Instructions are counted by a plugin of our own
(`counting/counter.c`): it gives the exact number at each mark, on boards and under an operating system alike. The other
way, ``-icount`` with a timer of the board, counts in steps of some 40 instructions and works on boards alone.
"""

from __future__ import annotations

import hashlib
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from intarsia.codegen import processes, toolchain
from intarsia.codegen.boards.board import Board
from intarsia.codegen.toolchain import FAMILIES, Toolchain, install
from intarsia.errors import BackendTimeoutError, BackendUnavailableError, CompileError, ExecutionError
from intarsia.files import cache_folder, replacing, scratch

TIMEOUT_S = 300.0
SYSTEM = "qemu-system-arm"
SYSTEM_PACKAGES = ("qemu-system-arm",)
MARKER = "io_mark"
_COUNTER = Path(__file__).parent / "counting" / "counter.c"
_COUNTS = "counts.txt"
_LOCKUP = re.compile(r"[Ll]ockup")
_MOST_TEXT = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a program did.

    Attributes:
        text: What it wrote to standard output and standard error.
        counts: Instructions executed before each mark, since the start; empty where they were not counted.
    """

    text: str
    counts: tuple[int, ...] = ()


def system_emulator() -> str:
    """The path of the emulator of boards.

    Raises:
        BackendUnavailableError: It is not installed.
    """
    path = shutil.which(SYSTEM)
    if path is None:
        raise BackendUnavailableError(f"the emulator {SYSTEM} is not installed; {install(SYSTEM_PACKAGES)}")
    return path


def user_emulator(triple: str) -> str:
    """The path of the emulator of programs for a family of processors.

    Raises:
        BackendUnavailableError: It is not installed.
    """
    family = FAMILIES[triple]
    for name in (family.emulator, f"{family.emulator}-static"):
        path = shutil.which(name)
        if path is not None:
            return path
    raise BackendUnavailableError(
        f"the emulator {family.emulator} is not installed; {install(family.emulator_packages)}"
    )


def run_on_board(
    program: Path, board: Board, *, tools: Toolchain, counted: bool = False, timeout_s: float = TIMEOUT_S
) -> Ran:
    """Run a program on an emulated board, in the program's folder, whose files it may read and write.

    Args:
        program: As `toolchain.build` made it.
        board: Where.
        tools: What it was built with.
        counted: Whether instructions are counted.
        timeout_s: Then it is ended.

    Raises:
        BackendUnavailableError: The emulator is not installed, or the compiler of the counter.
        BackendTimeoutError: It did not end in time.
        ExecutionError: It ended badly.
    """
    command = [system_emulator(), "-M", board.name, "-display", "none", "-monitor", "none", "-serial", "none"]
    command += ["-parallel", "none", "-semihosting-config", "enable=on,target=native"]
    command += ["-kernel", str(program)]
    return _run(command, program, tools, f"{SYSTEM} -M {board.name}", counted=counted, timeout_s=timeout_s)


def run_as_user(program: Path, *, tools: Toolchain, counted: bool = False, timeout_s: float = TIMEOUT_S) -> Ran:
    """Run a program for another processor, or for this one, in the program's folder.

    Raises:
        BackendUnavailableError: The emulator is not installed, or the compiler of the counter.
        BackendTimeoutError: It did not end in time.
        ExecutionError: It ended badly.
    """
    libraries = Path("/usr") / tools.triple  # where Debian has those of the other processor
    command = [user_emulator(tools.triple), "-L", str(libraries), str(program)] if tools.triple else [str(program)]
    name = Path(command[0]).name
    return _run(command, program, tools, name, counted=counted and bool(tools.triple), timeout_s=timeout_s)


def _run(command: Sequence[str], program: Path, tools: Toolchain, name: str, *, counted: bool, timeout_s: float) -> Ran:
    folder = program.parent
    if counted:
        options = f"{counter(command[0])},mark={address_of(program, MARKER, tools):#x},out={_COUNTS}"
        command = [command[0], "-plugin", options, *command[1:]]
        (folder / _COUNTS).unlink(missing_ok=True)
    try:
        done = processes.run(command, name=name, timeout_s=timeout_s, folder=folder)
    except BackendTimeoutError as error:
        sentence = (
            f"the program did not end within {timeout_s:,.0f} s, and was ended; an emulator is many times slower than"
        )
        raise BackendTimeoutError(name, f"{sentence} a processor, and more so on a busy machine") from error
    text = f"{done.stdout}{done.stderr}".strip()
    if done.returncode != 0:
        if _LOCKUP.search(text):
            text = "the processor locked up: the stack is too small, or memory was used that is not there"
        raise ExecutionError(
            name, f"the program ended with {done.returncode}: {text[:_MOST_TEXT] or 'it said nothing'}"
        )
    counts = (folder / _COUNTS).read_text(encoding="ascii").split() if counted else ()
    return Ran(text=text, counts=tuple(map(int, counts)))


def address_of(program: Path, symbol: str, tools: Toolchain) -> int:
    """The address of a function of a program.

    Raises:
        ExecutionError: There is none of that name.
    """
    done = processes.run([tools.tool("nm"), program], name="nm", timeout_s=toolchain.TIMEOUT_S)
    for line in done.stdout.splitlines():
        address, _, name = line.partition(" ")
        if name[2:] == symbol:
            return int(address, 16) & ~(1 if tools.triple.startswith("arm") else 0)
    raise ExecutionError("nm", f"{program.name} has no function {symbol}")


@cache
def counter(emulator: str) -> Path:
    """The plugin that counts, compiled once for a version of QEMU's interface, into the user's cache folder.

    Raises:
        BackendUnavailableError: There is no C compiler for this machine.
        CompileError: It does not compile.
    """
    tools = toolchain.host()
    version = _plugin_version(emulator)
    key = repr((_COUNTER.read_bytes(), toolchain.fingerprint(tools), version))
    place = cache_folder() / "counting" / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.so"
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        with scratch() as folder, replacing(place) as draft:
            flags = ["-O2", "-shared", "-fPIC", f"-DPLUGIN_VERSION={version}"]
            toolchain.call(tools, [*flags, str(_COUNTER), "-o", str(draft)], folder)
    return place


def _plugin_version(emulator: str) -> int:
    """What a plugin says it is written for: from QEMU 9 on, 1 is too old; what we use is in both."""
    done = processes.run([emulator, "--version"], name=emulator, timeout_s=TIMEOUT_S)
    found = re.search(r"version (\d+)", done.stdout)
    if found is None:
        raise CompileError(SYSTEM, f"{shlex.join([emulator, '--version'])} answered {done.stdout.strip()!r}")
    return 1 if int(found[1]) < 9 else 2


def board_sources() -> Mapping[str, str]:
    """The files that every program for a board is built with."""
    return _texts("io.h", "board.c")


def printing_source() -> str:
    """What the C library needs beside them for ``printf`` and files."""
    return _texts("printing.c")["printing.c"]


def hosted_sources() -> Mapping[str, str]:
    """The files that every program under an operating system is built with."""
    return _texts("io.h", "hosted.c")


def _texts(*names: str) -> Mapping[str, str]:
    folder = Path(__file__).parent / "boards"
    return {name: (folder / name).read_text(encoding="utf-8") for name in names}
