"""What the code that IREE compiled does, read from its compiler: a list of dispatches, fills and copies.

IREE compiles a model of fixed sizes to one command buffer, which is recorded once and run at each call. Its text at the
stage ``hal`` names each dispatch with the number of its workgroups, its constants, and the memory that it works on.
What is not such a list, as a loop, is no `Commands`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from intarsia.errors import CompileError

INPUT, TRANSIENT, CONSTANT = "input", "transient", "constant"


@dataclass(frozen=True, slots=True)
class Place:
    """Bytes of a memory: its kind, its number among those of the kind, and the first byte and how many."""

    kind: str
    number: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Dispatch:
    """A function called once for each workgroup."""

    function: str
    workgroups: tuple[int, int, int]
    constants: tuple[int, ...]
    bindings: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Fill:
    """A pattern of so many bytes, repeated."""

    to: Place
    pattern: int
    width: int


@dataclass(frozen=True, slots=True)
class Copy:
    """Bytes moved from one place to another."""

    to: Place
    source: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """What one call does, in order.

    Attributes:
        steps: Dispatches, fills and copies.
        transients: Bytes of each memory of its own.
        outputs: For each result, where it lies.
        constants: Bytes of each constant.
    """

    steps: tuple[Dispatch | Fill | Copy, ...]
    transients: tuple[int, ...]
    outputs: tuple[Place, ...]
    constants: tuple[int, ...]


_NUMBER = re.compile(r"(%[\w$-]+) = arith\.constant (-?\d+|true|false)(?: : (\w+))?")
_FUNCTION = re.compile(r"^  util\.func (?:private|public) @(\S+?)\((.*?)\)(?: ->|\s*attributes|\s*\{)", re.MULTILINE)
_LOOKUP = re.compile(r"(%[\w$-]+) = hal\.executable\.lookup\.function .*::@([\w$.-]+)\)")
_GLOBAL = re.compile(r"(%[\w$-]+) = util\.global\.load (?:immutable )?@([\w$.-]+) : !hal\.buffer\b(?!_)")
_FILL = re.compile(
    r"hal\.command_buffer\.fill_buffer<.*> target\((\S+) : [^)]*\)\[(\S+), (\S+)\] pattern\((\S+) : i(\d+)\)"
)
_COPY = re.compile(
    r"hal\.command_buffer\.copy_buffer<.*> source\((\S+) : [^)]*\)\[(\S+)\] target\((\S+) : [^)]*\)\[(\S+)\] "
    r"length\((\S+)\)"
)
_DISPATCH = re.compile(
    r"hal\.command_buffer\.dispatch<[^>]*> target\([^)]*\)\[(\S+?)\] workgroups\(\[(.*?)\]\)"
    r"(?: constants\(\[(.*?)\]\))? bindings\(\[(.*?)\]\)",
    re.DOTALL,
)
_BINDING = re.compile(r"\((%[\w$-]+) : [^)]*\)\[(%[\w$-]+), (%[\w$-]+)\]")
_EXECUTE = re.compile(r"hal\.device\.queue\.execute[\w.]*<.*?commands\((\S+?)\)(?: bindings\(\[(.*?)\]\))?", re.DOTALL)
_ALLOCA = re.compile(r"(%[\w$-]+) = hal\.device\.queue\.alloca<.*: !hal\.buffer\{(%[\w$-]+)\}")
_VIEWED = re.compile(r"(%[\w$-]+) = hal\.buffer_view\.buffer<(%[\w$-]+) :")
_VIEW = re.compile(
    r"(%[\w$-]+) = hal\.buffer_view\.create buffer\((%[\w$-]+) : !hal\.buffer\)\[(%[\w$-]+), (%[\w$-]+)\]"
)
_RETURN = re.compile(r"util\.return (.*?) : !hal\.buffer_view")
_STORE = re.compile(r"util\.global\.store (%[\w$-]+), @([\w$.-]+) : !hal\.buffer\b(?!_)")
_IMPORT = re.compile(r"hal\.allocator\.import<.*> source\(\S+ : !util\.buffer\)\[\S+, (%[\w$-]+)\]")
_ELSEWHERE = ("hal.device.queue.fill", "hal.device.queue.copy", "hal.device.queue.update", "scf.", "io_parameters")


def commands_of(text: str, entry: str) -> Commands:
    """The commands of a function.

    Args:
        text: The module at the stage ``hal``.
        entry: The function that is called.

    Raises:
        CompileError: It is no plain list of commands.
    """
    try:
        return _Reader(text, entry).commands()
    except (KeyError, ValueError, IndexError) as error:
        raise CompileError(
            "iree", f"what it compiled is no plain list of dispatches, which a program could call ({error})"
        ) from error


class _Reader:
    def __init__(self, text: str, entry: str) -> None:
        self._bodies = dict(_functions(text))
        self._main = self._bodies[entry]
        self._numbers = _numbers(self._main)
        self._constants = _constants(text)

    def commands(self) -> Commands:
        main = self._main
        strange = next((each for each in _ELSEWHERE if each in main), None) or (
            "cf.cond_br" if "cf.cond_br" in main else None
        )
        executes = _EXECUTE.findall(main)
        if strange is not None or len(executes) != 1:
            raise ValueError(strange or f"{len(executes)} command buffers")
        places = {name: (INPUT, int(view.removeprefix("%arg"))) for name, view in _VIEWED.findall(main)}
        transients: list[int] = []
        for name, size in _ALLOCA.findall(main):
            places[name] = (TRANSIENT, len(transients))
            transients.append(self._numbers[size])
        views = {view: (*places[name], self._numbers[start], self._numbers[size])
                 for view, name, start, size in _VIEW.findall(main)}  # fmt: skip
        outputs = [Place(*views[each.strip()]) for each in _RETURN.findall(main)[-1].split(",")]
        (_, bound), *_ = executes
        slots = [(*places[name], self._numbers[start]) for name, start, _ in _BINDING.findall(bound or "")]
        recording = next((body for name, body in self._bodies.items() if "memoize_apply" in name), main)
        return Commands(
            steps=tuple(_steps(recording, slots, places, self._constants)),
            transients=tuple(transients),
            outputs=tuple(outputs),
            constants=tuple(self._constants.values()),
        )


def _functions(text: str) -> Iterator[tuple[str, str]]:
    starts = list(_FUNCTION.finditer(text))
    for found in starts:
        yield found[1], text[found.start() : text.index("\n  }", found.start())]


def _numbers(body: str) -> dict[str, int]:
    words = {"true": 1, "false": 0}
    return {name: words[value] if value in words else int(value) for name, value, _ in _NUMBER.findall(body)}


def _constants(text: str) -> dict[str, int]:
    """Bytes of each buffer of constants, by its global."""
    found = {}
    for body in re.split(r"^  util\.initializer \{", text, flags=re.MULTILINE)[1:]:
        body = body[: body.index("\n  }")]
        sizes, stores = _IMPORT.findall(body), _STORE.findall(body)
        if stores and (len(stores), len(sizes), body.count("util.buffer.constant")) != (1, 1, 1):
            raise ValueError("weights that are made when it starts")
        if stores:
            found[stores[0][1]] = _numbers(body)[sizes[0]]
    return found


def _steps(
    body: str,
    slots: list[tuple[str, int, int]],
    places: Mapping[str, tuple[str, int]],
    constants: Mapping[str, int],
) -> Iterator[Dispatch | Fill | Copy]:
    numbers = _numbers(body)
    functions = dict(_LOOKUP.findall(body))
    order = list(constants)
    blobs = {name: order.index(symbol) for name, symbol in _GLOBAL.findall(body) if symbol in constants}

    def place(name: str, offset: str, size: str) -> Place:
        if name in blobs:
            return Place(CONSTANT, blobs[name], numbers[offset], numbers[size])
        if name in places:
            return Place(*places[name], numbers[offset], numbers[size])
        kind, number, start = slots[numbers[name]]
        return Place(kind, number, start + numbers[offset], numbers[size])

    found: list[tuple[int, Dispatch | Fill | Copy]] = []
    for each in _DISPATCH.finditer(body):
        name, groups, given, bindings = each.groups()
        x, y, z = (numbers[part.strip()] for part in groups.split(","))
        values = tuple(numbers[part.strip()] for part in given.split(",")) if given else ()
        bound = tuple(place(*row) for row in _BINDING.findall(bindings))
        found.append((each.start(), Dispatch(functions[name], (x, y, z), values, bound)))
    for each in _FILL.finditer(body):
        name, offset, size, pattern, width = each.groups()
        found.append((each.start(), Fill(place(name, offset, size), numbers[pattern], int(width) // 8)))
    for each in _COPY.finditer(body):
        source, start, to, offset, size = each.groups()
        found.append((each.start(), Copy(place(to, offset, size), place(source, start, size))))
    if len(found) != body.count("hal.command_buffer.") - sum(
        body.count(f"hal.command_buffer.{name}") for name in ("create", "execution_barrier", "finalize", "device")
    ):
        raise ValueError("a command that is none of fill, copy and dispatch")
    return (step for _, step in sorted(found, key=lambda each: each[0]))
