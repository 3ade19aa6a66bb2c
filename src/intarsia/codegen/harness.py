"""A program around a function of C: it reads inputs from a file, calls the function, and writes what that computed.

The same text runs on an emulated board, under `qemu-user`, and on this machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from pathlib import Path

import numpy as np

from intarsia.codegen import emulator, toolchain
from intarsia.codegen.boards.board import STACK_BYTES, Board
from intarsia.codegen.boards.linker import script
from intarsia.codegen.toolchain import Build, Toolchain
from intarsia.errors import ExecutionError
from intarsia.files import scratch

TIMEOUT_S = emulator.TIMEOUT_S
FEEDS, RESULTS, MAP = "feeds.bin", "results.bin", "map.txt"
_STACK_WORD = np.dtype("<u4")
OPTIMISED = ("-O3", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math")
"""A product and a sum are one step, as in every engine; nobody reads errno or the flags of exceptions."""
SECTIONS = ("-ffunction-sections", "-fdata-sections", "-fstack-usage")


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """An input or a result: how many bytes the function reads or fills, and what they are."""

    dtype: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Bytes."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A function with all that it needs.

    Attributes:
        what: Its sources and flags, without those of the processor.
        entry: Its name: ``void entry(const void *const *inputs, void *const *outputs, void *workspace)``.
        inputs: In its order.
        outputs: In its order.
        workspace: Bytes.
        alignment: Of the workspace, inputs and outputs, in bytes.
        workspace_memory: Name of the memory of the board in which the workspace lies; that of data if left out.
    """

    what: Build
    entry: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    workspace: int
    alignment: int = 16
    workspace_memory: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What calls of the function gave.

    Attributes:
        results: For each call the arrays.
        counts: For each call the instructions executed between each two marks: those that the function itself makes
            by ``io_mark()`` cut it into parts. Empty where they were not counted.
        stack_bytes: The most stack that a call used below its caller's; 0 where the stack is not ours.
    """

    results: tuple[tuple[np.ndarray, ...], ...]
    counts: tuple[tuple[int, ...], ...]
    stack_bytes: int

    @property
    def instructions(self) -> int:
        """Of the first call, all parts together."""
        return sum(self.counts[0]) if self.counts else 0


def main_text(program: Program, calls: int, files_section: str = "") -> str:
    """The text of the file with ``main``.

    Args:
        program: What it calls.
        calls: How often, each time with inputs of its own.
        files_section: Of the inputs and results, where a board has a memory for them.
    """
    aligned = f"__attribute__((aligned({program.alignment})))"
    where = f'__attribute__((aligned({program.alignment}), section("{files_section}")))' if files_section else aligned
    own = (
        f'__attribute__((aligned({program.alignment}), section(".memory.{program.workspace_memory}")))'
        if program.workspace_memory and files_section
        else aligned
    )
    arrays = [("input", each) for each in program.inputs] + [("output", each) for each in program.outputs]
    names = [f"{side}_{number}" for number, (side, _) in enumerate(arrays)]
    lines = [
        f"static uint8_t {name}[{max(1, each.size)}] {where};" for name, (_, each) in zip(names, arrays, strict=True)
    ]
    ins, outs = names[: len(program.inputs)], names[len(program.inputs) :]
    reads = [f"        io_read(feeds, {name}, {each.size}u);" for name, each in zip(ins, program.inputs, strict=True)]
    writes = [
        f"        io_write(results, {name}, {each.size}u);" for name, each in zip(outs, program.outputs, strict=True)
    ]
    newline = "\n"
    return f"""#include "io.h"

void {program.entry}(const void *const *inputs, void *const *outputs, void *workspace);

static uint8_t workspace[{max(1, program.workspace)}] {own};
{newline.join(lines)}

int main(void)
{{
    const void *const inputs[] = {{{", ".join([*ins, "NULL"])}}};
    void *const outputs[] = {{{", ".join([*outs, "NULL"])}}};
    uint32_t deepest = 0;
    const int feeds = io_open("{FEEDS}", 0);
    const int results = io_open("{RESULTS}", 1);
    io_mark(); /* what a mark itself takes */
    io_mark();
    for (int call = 0; call < {calls}; call++) {{
{newline.join(reads)}
        io_paint_stack();
        io_mark();
        {program.entry}(inputs, outputs, workspace);
        io_mark();
        const uint32_t used = (uint32_t)io_painted_stack_used();
        deepest = used > deepest ? used : deepest;
{newline.join(writes)}
    }}
    io_write(results, &deepest, sizeof deepest);
    io_close(results);
    io_close(feeds);
    return 0;
}}
"""


def run(
    program: Program,
    feeds: Sequence[Sequence[np.ndarray]],
    *,
    board: Board | None = None,
    tools: Toolchain | None = None,
    counted: bool = False,
    stack_bytes: int = STACK_BYTES,
    timeout_s: float = TIMEOUT_S,
) -> Outcome:
    """Build a program, run it, and remove it.

    Args:
        program: What to call.
        feeds: For each call its inputs, of the types and shapes that the program states.
        board: The emulated board on which it runs; without one it runs under an operating system.
        tools: What it is compiled with: that of boards, or the host's, where left out.
        counted: Whether instructions are counted, which this machine's own processor does not do.
        stack_bytes: Of the stack on a board.
        timeout_s: For the run, without the compiler.

    Raises:
        BackendUnavailableError: A compiler or an emulator is not installed.
        CompileError: It does not compile.
        ConfigError: It does not fit into the board's memories.
        BackendTimeoutError: It did not end in time.
        ExecutionError: It ended badly.
    """
    if tools is None:
        tools = toolchain.host() if board is None else toolchain.cross("arm-none-eabi")
    with scratch() as folder:
        made = build(program, folder, calls=len(feeds), board=board, tools=tools, stack_bytes=stack_bytes)
        with (folder / FEEDS).open("wb") as file:
            for arrays in feeds:
                for array, each in zip(arrays, program.inputs, strict=True):
                    assert (array.shape, array.dtype.name) == (each.shape, each.dtype), each
                    file.write(np.ascontiguousarray(array).tobytes())
        if board is None:
            ran = emulator.run_as_user(made, tools=tools, counted=counted, timeout_s=timeout_s)
        else:
            ran = emulator.run_on_board(made, board, tools=tools, counted=counted, timeout_s=timeout_s)
        content = (folder / RESULTS).read_bytes()
    return _outcome(program, content, ran.counts, len(feeds))


def build(
    program: Program, folder: Path, *, calls: int, board: Board | None, tools: Toolchain, stack_bytes: int = STACK_BYTES
) -> Path:
    """Compile the program in a scratch folder.

    Raises:
        CompileError: It does not compile.
        ConfigError: It does not fit into the board's memories.
    """
    section = "" if board is None else f".memory.{board.files.name}"
    sources = dict(emulator.hosted_sources() if board is None else emulator.board_sources())
    sources["harness.c"] = main_text(program, calls, section)
    flags, link = [*OPTIMISED, *SECTIONS], ["-Wl,--gc-sections", f"-Wl,-Map={folder / MAP}"]
    if board is not None:
        sources["board.ld"] = script(board, stack_bytes)
        flags += board.flags
        link += ["-nostartfiles", "--specs=nosys.specs", f"-T{folder / 'board.ld'}"]
    elif tools.triple:
        link += ["-static", "-no-pie"]
    what = program.what
    every = replace(
        what, sources={**sources, **what.sources}, flags=(*flags, *what.flags), link=(*link, *what.link, "-lm")
    )
    return toolchain.build(tools, every, folder, "program.elf")


def _outcome(program: Program, content: bytes, marks: Sequence[int], calls: int) -> Outcome:
    wanted = calls * sum(each.size for each in program.outputs) + _STACK_WORD.itemsize
    if len(content) != wanted:
        raise ExecutionError("the program", f"it wrote {len(content)} bytes of results instead of {wanted}")
    start, results = 0, []
    for _ in range(calls):
        arrays = []
        for each in program.outputs:
            count = prod(each.shape)
            arrays.append(np.frombuffer(content, each.dtype, count, start).reshape(each.shape).copy())
            start += each.size
        results.append(tuple(arrays))
    (deepest,) = np.frombuffer(content, _STACK_WORD, 1, start)
    return Outcome(results=tuple(results), counts=parts_of(marks, calls), stack_bytes=int(deepest))


def parts_of(marks: Sequence[int], calls: int) -> tuple[tuple[int, ...], ...]:
    """The counts between marks, of each call of the function: each call makes as many marks as every other.

    Args:
        marks: What the counter wrote for a program of `main_text`.
        calls: How many calls it made.
    """
    if not marks:
        return ()
    empty, rest = marks[1] - marks[0], marks[2:]
    each = len(rest) // calls
    rows = [rest[each * call : each * (call + 1)] for call in range(calls)]
    return tuple(tuple(after - before - empty for before, after in pairwise(row)) for row in rows)
