"""The instructions that each call of a module executes on an emulated board, and what the module computes there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from intarsia.codegen import harness
from intarsia.codegen.boards.board import STACK_BYTES, Board
from intarsia.codegen.boards.of_target import roomy
from intarsia.codegen.emulator import MARKER
from intarsia.codegen.harness import Program
from intarsia.codegen.module import Call, Function, SourceModule
from intarsia.codegen.programs import program_of

UNIT = "instructions in QEMU"
"""What is counted. They are not cycles: a load from slow memory counts as much as an addition."""
_REST = 2 * STACK_BYTES
"""Bytes of the first memory beside a workspace: the stack, and what the C library writes."""
_MARK = Function(name=MARKER, text="", headers=('"io.h"',))


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What running a module gave.

    Attributes:
        calls: Instructions of each call, in the module's order: of the first run.
        results: The outputs by interface name, of each run.
        stack_bytes: The most stack that was used.
    """

    calls: tuple[int, ...]
    results: tuple[Mapping[str, np.ndarray], ...]
    stack_bytes: int

    @property
    def total(self) -> int:
        """Instructions of all calls."""
        return sum(self.calls)


def count(
    module: SourceModule,
    feeds: Sequence[Mapping[str, np.ndarray]],
    board: Board,
    *,
    library: Path | None = None,
    timeout_s: float = harness.TIMEOUT_S,
) -> Counted:
    """Build a module for a board, run it there, and count.

    Args:
        module: What is run.
        feeds: The inputs of each run, by interface name.
        board: Where; memories that a target states do not limit it.
        library: The folder that the module's own ``sources`` and ``include_folders`` lie in.
        timeout_s: For all runs together.

    Raises:
        BackendUnavailableError: A compiler or the emulator is not installed.
        CompileError: It does not compile.
        ConfigError: It does not fit into the board's memories.
        BackendTimeoutError: It did not end in time.
        ExecutionError: It ended badly.
    """
    functions = {**module.functions, MARKER: _MARK}
    marked = replace(module, calls=tuple(_marked(module.calls)), functions=functions)
    board = roomy(board)
    ran = harness.run(
        _in_largest(program_of(marked, library), board),
        [[each[name] for name in module.inputs] for each in feeds],
        board=board,
        counted=True,
        timeout_s=timeout_s,
    )  # fmt: skip
    return Counted(
        calls=ran.counts[0][1:-1],
        results=tuple(dict(zip(module.outputs, arrays, strict=True)) for arrays in ran.results),
        stack_bytes=ran.stack_bytes,
    )


def _in_largest(program: Program, board: Board) -> Program:
    """The program with its workspace in the largest memory, where that beside the stack has no room for it."""
    first, *others = board.written
    largest = max(others, key=lambda each: each.size, default=first)
    if program.workspace + _REST <= first.size or largest.size <= first.size:
        return program
    return replace(program, workspace_memory=largest.name)


def _marked(calls: Sequence[Call]) -> Iterator[Call]:
    mark = Call(function=MARKER, arguments=())
    yield mark
    for each in calls:
        yield each
        yield mark
