"""Records of how many instructions a kernel executes on a board: what the count depends on, and what it is.

The data that a kernel meets is not among the facts: kernels branch on it hardly or not at all. What a whole network
executes is counted anew, on its own data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from intarsia.codegen import toolchain
from intarsia.codegen.call_counts import UNIT
from intarsia.codegen.module import Literal, Operand, Scratch, Table
from intarsia.cost.records.outcomes import value_of
from intarsia.cost.records.record import Failure, Instructions, Key

if TYPE_CHECKING:
    import numpy as np

    from intarsia.codegen.boards.board import Board
    from intarsia.codegen.module import Kernel
    from intarsia.codegen.toolchain import Toolchain
    from intarsia.cost.records.store import Store


Count = Instructions | Failure


def key_of(
    engine: str,
    kernel: Kernel,
    operands: Sequence[tuple[str, tuple[int, ...]]],
    known: Mapping[int, np.ndarray],
    board: Board,
    tools: Toolchain,
    library: Path | None,
) -> Key:
    """Everything that the count of a kernel depends on.

    Args:
        engine: Whose kernel it is.
        kernel: Its text and its arguments.
        operands: Type and shape of what it reads.
        known: Operands that are constants, by place.
        board: Where it runs; the compiler's flags are its own.
        tools: What compiles it.
        library: The folder of the kernel's own sources.
    """
    digest = hashlib.sha256()
    for function in kernel.functions:
        digest.update(f"{function.name}\0{function.text}\0".encode())
    for argument in kernel.arguments:
        match argument:
            case Table(array=array):
                digest.update(_of_array(array))
            case Operand(place=place) if place in known:
                digest.update(_of_array(known[place]))
            case Operand(place=place):
                digest.update(repr((place, *operands[place])).encode())
            case Scratch() | Literal():
                digest.update(repr(argument).encode())
    for source in kernel.sources:
        digest.update(source.encode() + ((library or Path()) / source).read_bytes())
    return Key(
        facts={
            "engines": {engine: ""},
            "kernel": digest.hexdigest(),
            "board": board.name,
            "flags": list(board.flags),
            "compiler": toolchain.version(tools),
            "unit": UNIT,
        }
    )


def recalled(store: Store | None, key: Key) -> Count | None:
    """What is recorded, if anything is."""
    found = None if store is None else store.get(key, "instructions")
    if found is None:
        return None
    count: Count = value_of("instructions", found)
    return count


def keep(store: Store | None, key: Key, count: Count, provenance: Mapping[str, Any]) -> None:
    """Record it."""
    if store is not None:
        store.put("instructions", key, asdict(count), provenance)


def _of_array(array: np.ndarray) -> bytes:
    return f"{array.dtype}{array.shape}".encode() + hashlib.sha256(array.tobytes()).digest()
