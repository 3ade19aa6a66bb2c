"""Builds the program of a project, and runs it: a library in this process, or a program in an emulator.

What is compiled is the very text that is exported. Only the weights go another way: the assembler takes their bytes as
they are, since a compiler reads a large array of numbers for minutes.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
from collections.abc import Mapping
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from intarsia.backends.contract import BoundCall, Executable, Signature, Slot, array_at, following, guarded
from intarsia.codegen import emulator, harness, toolchain
from intarsia.codegen.boards.board import STACK_BYTES
from intarsia.codegen.harness import MAP, Array, Program
from intarsia.codegen.project import Project
from intarsia.codegen.registration import call_arguments
from intarsia.codegen.source_text import weights_text
from intarsia.codegen.toolchain import Build
from intarsia.errors import BackendUnavailableError, ConfigError, ExecutionError, LoadError
from intarsia.files import Scratch
from intarsia.runtime.aot.place import Place

ENTRY = "intarsia_entry"
BLOB = "weights_blob"
_LEAST_STACK = 1024
_BESIDE = 2048
"""Bytes of the first memory that a program has beside stack and workspace: what the C library writes to."""
_USAGE = "-fstack-usage"


def sources_of(project: Project, folder: Path) -> dict[str, str]:
    """The texts that are compiled, an entry point of one form for all projects among them; weights go into a folder."""
    found = dict(project.own_sources())
    found["entry.c"] = entry_text(project)
    if platform.system() != "Linux" and project.interface.options.link_weights:
        found["weights.c"] = "".join(weights_text(project.interface, list(project.arrays()), "Weights."))
        return found
    content = folder / "weights.bin"
    with content.open("wb") as file:
        file.write(project.content)
    found["weights.S"] = "\n".join(_assembled(project, content))
    return found


def _assembled(project: Project, content: Path) -> list[str]:
    options = project.interface.options
    rows = [(each.name, each.offset, each.size, each.memory) for each in project.weights]
    if not options.link_weights:
        rows = [(BLOB, 0, len(project.content), "")]
    lines = []
    for name, offset, size, memory in rows:
        section = f".memory.{memory}" if memory else f".rodata.{name}"
        lines += [f'    .section {section},"a",%progbits', f"    .balign {options.constant_alignment}"]
        lines += [f"    .globl {name}", f"    .type {name}, %object", f"    .size {name}, {max(1, size)}", f"{name}:"]
        lines += [f'    .incbin "{content}", {offset}, {size}'] if size else ["    .byte 0"]
    return [*lines, '    .section .note.GNU-stack,"",%progbits', ""]


def entry_text(project: Project) -> str:
    """``void intarsia_entry(inputs, outputs, workspace)``, which calls the network as its interface wants it."""
    it = project.interface
    count = len(it.inputs)
    pointers = [f"(void *)inputs[{place}]" for place in range(count)]
    pointers += [f"outputs[{place}]" for place in range(len(it.outputs))]
    setup, handed = call_arguments(it, "all")
    lines = [f'#include "{it.name}.h"', "#include <stddef.h>", "", "void intarsia_failed(int status);"]
    memories = []
    if not it.options.static_workspace:
        for memory, name in it.memories.items():
            memories.append("workspace" if not memory else name)
            if memory:
                where = f'section(".memory.{memory}"), aligned({it.options.workspace_alignment})'
                lines.append(f"static uint8_t {name}[{max(1, it.workspaces[memory])}] __attribute__(({where}));")
    if not it.options.link_weights:
        lines.append(f"extern const uint8_t {BLOB}[];")
        memories.append(BLOB)
    head = f"void {ENTRY}(const void *const *inputs, void *const *outputs, void *workspace)"
    return "\n".join(
        [
            *lines,
            f'__attribute__((visibility("default"))) {head};',
            f"{head}",
            "{",
            f"    void *const all[] = {{{', '.join(pointers) or 'NULL'}}};",
            "    (void)all;\n    (void)inputs;\n    (void)outputs;\n    (void)workspace;",
            setup.rstrip("\n"),
            f"    intarsia_failed((int){it.name}_run({', '.join([*handed, *memories])}));",
            "}",
            "",
        ]
    )


def with_library(what: Build, project: Project, place: Place) -> Build:
    """What is compiled, with the files of others that it needs.

    Raises:
        BackendUnavailableError: They are not here.
    """
    if not project.sources:
        return what
    if place.library is None:
        raise BackendUnavailableError(f"the sources of {' and '.join(project.engines)} are not here, which it needs")
    return replace(
        what,
        files=tuple(place.library / each for each in project.sources),
        include_folders=tuple(place.library / each for each in project.include_folders),
        defines={**what.defines, **dict.fromkeys(project.defines, "1")},
    )


class HostProgram(Executable):
    """A library of this machine, in this process. Each bound call has memory of its own."""

    def __init__(self, project: Project, place: Place) -> None:
        """Build and map it.

        Raises:
            BackendUnavailableError: There is no compiler.
            CompileError: The compiler refuses it.
            LoadError: The library cannot be mapped.
        """
        self.inputs, self.outputs = _signatures(project)
        self._size = _own_workspace(project)
        self._alignment = project.interface.options.workspace_alignment
        with Scratch() as made:
            path = build_library(project, place, made.path)
            try:
                self._library: ctypes.CDLL | None = ctypes.CDLL(str(path))
            except OSError as error:
                raise LoadError(place.name, f"the library cannot be mapped: {error}") from error
        self._run: Any = getattr(self._library, ENTRY)
        self._run.restype = None
        self._status: Any = self._library.intarsia_status

    def bind(self, inputs: Mapping[str, np.ndarray | Slot], outputs: Mapping[str, np.ndarray | Slot]) -> BoundCall:
        """The function reads and writes the arrays where they are."""
        run, status = self._run, self._status
        given = (ctypes.c_void_p * max(1, len(self.inputs)))()
        wanted = (ctypes.c_void_p * max(1, len(self.outputs)))()
        memory = np.frombuffer(mmap.mmap(-1, max(1, self._size) + self._alignment), np.uint8)
        start = -memory.ctypes.data % self._alignment
        workspace = ctypes.c_void_p(memory.ctypes.data + start)
        places = [(_pointing(given, at), inputs[value.name]) for at, value in enumerate(self.inputs)]
        places += [(_pointing(wanted, at), outputs[value.name]) for at, value in enumerate(self.outputs)]

        def call() -> None:
            run(given, wanted, workspace)
            if status():
                raise ExecutionError("the program", "it answered that a pointer is missing or not aligned")

        return guarded(following(places, call), "the program", (memory, self._library, given, wanted))

    def close(self) -> None:
        """Drop the library; calls bound to it keep it alive until they are dropped too."""
        self._run = self._status = self._library = None


def _pointing(addresses: Any, place: int) -> Any:
    def point(array: np.ndarray) -> None:
        addresses[place] = array.ctypes.data

    return point


_STATUS = """
int intarsia_status(void);
void intarsia_failed(int status);

static _Thread_local int kept;

__attribute__((visibility("default"))) int intarsia_status(void)
{
    return kept;
}

void intarsia_failed(int status)
{
    kept = status;
}
"""
_ENDS = """#include "io.h"

void intarsia_failed(int status);

void intarsia_failed(int status)
{
    if (status != 0) {
        io_say("the network answered that a pointer is missing or not aligned");
        io_exit(93);
    }
}
"""


def build_library(project: Project, place: Place, folder: Path) -> Path:
    """A shared library of a project, in a scratch folder, with the linker's map and the compiler's ``.su`` files."""
    sources = {**sources_of(project, folder), "status.c": _STATUS.replace("_Thread_local", "__thread")}
    what = Build(
        sources=sources,
        flags=(*place.flags, "-fPIC", _USAGE),
        link=("-shared", f"-Wl,-Map={folder / MAP}", "-lm"),
    )
    return toolchain.build(place.tools(), with_library(what, project, place), folder, "program.so")


class EmulatedProgram(Executable):
    """A program that QEMU runs, anew for each call."""

    def __init__(self, project: Project, place: Place, limit_s: float = emulator.TIMEOUT_S) -> None:
        """Build it.

        Args:
            project: The network.
            place: Where it runs.
            limit_s: Seconds that a run may take.

        Raises:
            BackendUnavailableError: A compiler or the emulator is not installed.
            CompileError: The compiler refuses it.
            ConfigError: It does not fit into the board's memories.
        """
        place.check_tools()
        self.inputs, self.outputs = _signatures(project)
        self._place, self._limit_s = place, limit_s
        self._made = Scratch()
        try:
            self._program = build_program(project, place, self._made.path)
        except BaseException:
            self._made.close()
            raise

    def bind(self, inputs: Mapping[str, np.ndarray | Slot], outputs: Mapping[str, np.ndarray | Slot]) -> BoundCall:
        """Inputs and outputs go through files."""

        def call() -> None:
            feeds = [array_at(inputs[value.name]) for value in self.inputs]
            results = self.run(feeds)
            for value, result in zip(self.outputs, results, strict=True):
                np.copyto(array_at(outputs[value.name]), result)

        return guarded(call, "the program", ())

    def run(self, feeds: list[np.ndarray]) -> list[np.ndarray]:
        """One call.

        Raises:
            ExecutionError: The program ended badly.
            BackendTimeoutError: It did not end in time.
        """
        self._ran(feeds, counted=False)
        content = (self._program.parent / harness.RESULTS).read_bytes()
        results, start = [], 0
        for value in self.outputs:
            shape = value.shape or ()
            results.append(np.frombuffer(content, value.dtype, prod(shape), start).reshape(shape))
            start += results[-1].nbytes
        return results

    def count(self, feeds: list[np.ndarray]) -> int:
        """Instructions that one call executes.

        Raises:
            ExecutionError: The program ended badly.
            BackendTimeoutError: It did not end in time.
        """
        return sum(harness.parts_of(self._ran(feeds, counted=True).counts, 1)[0])

    def _ran(self, feeds: list[np.ndarray], *, counted: bool) -> emulator.Ran:
        folder, place = self._program.parent, self._place
        with (folder / harness.FEEDS).open("wb") as file:
            for array in feeds:
                file.write(np.ascontiguousarray(array).tobytes())
        program, tools, limit_s = self._program, place.tools(), self._limit_s
        if place.board is not None:
            return emulator.run_on_board(program, place.board, tools=tools, counted=counted, timeout_s=limit_s)
        return emulator.run_as_user(program, tools=tools, counted=counted, timeout_s=limit_s)

    def close(self) -> None:
        """Remove the program."""
        self._made.close()


def build_program(project: Project, place: Place, folder: Path) -> Path:
    """A program that makes one call, in a scratch folder, with the linker's map and the compiler's ``.su`` files."""
    program, room = program_of(project, place, folder), stack_room(project, place)
    return harness.build(program, folder, calls=1, board=place.board, tools=place.tools(), stack_bytes=room)


def program_of(project: Project, place: Place, folder: Path) -> Program:
    """What the emulator's harness calls; the weights lie in a scratch folder, which is kept until it is built."""
    it = project.interface
    own = sources_of(project, folder)
    what = Build(
        sources={**own, "status.c": _ENDS},
        flags=(*(place.flags if place.board is None else ()), _USAGE),
        defines={
            f"{it.prefix}_IN_{memory.upper()}": f'__attribute__((section(".memory.{memory}")))'
            for memory in {*it.memories, *(each.memory for each in project.weights)}
            if memory and place.board is not None
        },
    )
    return Program(
        what=with_library(what, project, place),
        entry=ENTRY,
        inputs=tuple(Array(dtype=_stored(each.dtype), shape=each.shape) for each in it.inputs),
        outputs=tuple(Array(dtype=_stored(each.dtype), shape=each.shape) for each in it.outputs),
        workspace=_own_workspace(project),
        alignment=max(16, it.options.workspace_alignment),
    )


def stack_room(project: Project, place: Place) -> int:
    """Bytes that are left for the stack beside the workspace, and not more than a board's stack usually has.

    Raises:
        ConfigError: There are hardly any.
    """
    if place.board is None:
        return STACK_BYTES
    first = place.board.written[0]
    taken = sum(project.interface.workspaces.get(memory, 0) for memory in ("", first.name))
    left = first.size - taken - _BESIDE
    if left < _LEAST_STACK:
        raise ConfigError(
            f"the board has not enough stack: of the {first.size:,} bytes of {first.name} the workspace takes "
            f"{taken:,}, and a program needs {_BESIDE + _LEAST_STACK:,} beside it: {_LEAST_STACK - left:,} bytes are "
            "missing; take a board with more memory, or a smaller model"
        )
    return min(STACK_BYTES, left // 16 * 16)


def executable_of(project: Project, place: Place, limit_s: float = emulator.TIMEOUT_S) -> Executable:
    """The program, built and ready to be bound; in an emulator a run may take ``limit_s`` seconds."""
    return HostProgram(project, place) if place.is_host else EmulatedProgram(project, place, limit_s)


def _own_workspace(project: Project) -> int:
    """Bytes of the workspace that is handed over."""
    return 0 if project.interface.options.static_workspace else project.interface.workspaces.get("", 0)


def _signatures(project: Project) -> tuple[tuple[Signature, ...], tuple[Signature, ...]]:
    inputs, outputs = (
        tuple(Signature(name=each.name, dtype=each.dtype, shape=each.shape) for each in side)
        for side in (project.interface.inputs, project.interface.outputs)
    )
    return inputs, outputs


def _stored(dtype: str) -> str:
    return "uint8" if dtype == "bool" else dtype
