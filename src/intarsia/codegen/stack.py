"""The deepest stack of a program for a Cortex-M, along the chain of calls that needs most.

How much a function needs is what the compiler says (``-fstack-usage``); of a library's function, what its instructions
take off the stack pointer. Who calls whom is read from the instructions of the linked program, so that calls are found
which the compiler made itself. Where a function leaves by a jump into another, its own part counts although it is free
by then: the sum is never too small.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from intarsia.codegen import processes
from intarsia.codegen.toolchain import TIMEOUT_S, Toolchain
from intarsia.errors import CompileError

_FUNCTION = re.compile(r"^[0-9a-f]+ <(?P<name>[^>]+)>:$")
_CALL = re.compile(
    r"^(?:bl|blx|b|b\.w|b\.n|b[a-z]{2}(?:\.[wn])?|cbn?z)\s.*<(?P<name>[^>+]+)(?P<inside>\+0x[0-9a-f]+)?>$"
)
_INDIRECT = re.compile(r"^(?:blx|bx)\s+(?P<register>r\d+|ip|fp)")
_PUSH = re.compile(r"^(?:push|stmdb\s+sp!,|stmfd\s+sp!,)\S*\s*\{(?P<registers>[^}]*)\}")
_VPUSH = re.compile(r"^(?:vpush|vstmdb\s+sp!,)\S*\s*\{(?P<registers>[^}]*)\}")
_DOWN = re.compile(r"^sub(?:w|\.w|s)?\s+sp,\s*(?:sp,\s*)?#(?P<bytes>\d+)")
_DOWN_BY = re.compile(r"^sub(?:w|\.w|s)?\s+sp,\s*(?:sp,\s*)?r")
_STORE_DOWN = re.compile(r"^v?strd?\S*\s.*\[sp, #-(?P<bytes>\d+)\]!")
_WORD = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """The deepest chain of calls.

    Attributes:
        size: Bytes, from the caller of the first function down.
        chain: Each function with its own bytes, the first called first.
        unknown: Why more may be needed; empty where it is certain that it is not.
    """

    size: int
    chain: tuple[tuple[str, int], ...]
    unknown: str = ""


@dataclass(slots=True)
class _Function:
    """What the instructions of a function say."""

    taken: int = 0
    calls: dict[str, None] = field(default_factory=dict)
    doubt: str = ""


def deepest(program: Path, entry: str, tools: Toolchain, usage: Iterable[Path] = ()) -> Stack:
    """The deepest stack below a call of a function.

    Args:
        program: Linked, for a Cortex-M.
        entry: The name of the function.
        tools: What it was built with.
        usage: The ``.su`` files that the compiler wrote.

    Raises:
        CompileError: The program has no such function.
    """
    done = processes.run([tools.tool("objdump"), "-d", program], name="objdump", timeout_s=TIMEOUT_S)
    functions = _functions(done.stdout)
    if entry not in functions:
        raise CompileError(tools.name, f"{program.name} has no function {entry}")
    stated = _stated(usage)
    for name, function in functions.items():
        if name in stated:
            function.taken, doubt = stated[name]
            function.doubt = function.doubt or doubt
    return _deepest(entry, functions, {}, ())


def _functions(listing: str) -> dict[str, _Function]:
    functions: dict[str, _Function] = {}
    current, name = _Function(), ""
    for line in listing.splitlines():
        head = _FUNCTION.match(line)
        if head is not None:
            name = head["name"]
            current = functions.setdefault(name, _Function())
        elif "\t" in line:
            text = line.split("\t", 2)[-1].partition("@")[0].partition(";")[0].replace("\t", " ").strip()
            _note(text, name, current)
    return functions


def _note(text: str, name: str, function: _Function) -> None:
    call = _CALL.match(text)
    if call is not None:
        if call["name"] != name or not call["inside"]:
            function.calls[call["name"]] = None
    elif _INDIRECT.match(text):
        function.doubt = f"{name} calls through a pointer"
    elif _DOWN_BY.match(text):
        function.doubt = f"{name} takes memory of a size that only running tells"
    else:
        function.taken += _taken(text)


def _taken(text: str) -> int:
    """Bytes that an instruction takes off the stack pointer."""
    pushed = _PUSH.match(text)
    if pushed is not None:
        return _WORD * _count(pushed["registers"])
    pushed = _VPUSH.match(text)
    if pushed is not None:
        return _count(pushed["registers"]) * (2 * _WORD if pushed["registers"].startswith("d") else _WORD)
    down = _DOWN.match(text) or _STORE_DOWN.match(text)
    return int(down["bytes"]) if down is not None else 0


def _count(registers: str) -> int:
    """How many registers a list names, as ``r4-r7, lr``."""
    count = 0
    for part in registers.split(","):
        first, _, last = part.strip().partition("-")
        count += int(last[1:]) - int(first[1:]) + 1 if last else 1
    return count


def _stated(usage: Iterable[Path]) -> Mapping[str, tuple[int, str]]:
    """Of each function that ``.su`` files name, its bytes, and what is not certain. Of two of a name, the larger."""
    found: dict[str, tuple[int, str]] = {}
    for path in usage:
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            place, size, how = line.split("\t")
            name = place.rpartition(":")[2]
            doubt = (
                ""
                if how.startswith("static") or "bounded" in how
                else f"{name} takes memory of a size that only running tells"
            )
            found[name] = max(found.get(name, (0, "")), (int(size), doubt))
    return found


def _deepest(name: str, functions: Mapping[str, _Function], known: dict[str, Stack], path: tuple[str, ...]) -> Stack:
    if name in path:
        return Stack(size=0, chain=(), unknown=f"{name} calls itself")
    if name in known:
        return known[name]
    function = functions.get(name)
    if function is None:
        return Stack(size=0, chain=((name, 0),), unknown=f"{name} is not in the program")
    below = [_deepest(each, functions, known, (*path, name)) for each in function.calls]
    worst = max(below, key=lambda each: each.size, default=Stack(size=0, chain=()))
    doubts = [function.doubt, *(each.unknown for each in below)]
    found = Stack(
        size=function.taken + worst.size,
        chain=((name, function.taken), *worst.chain),
        unknown=next(filter(None, doubts), ""),
    )
    known[name] = found
    return found
