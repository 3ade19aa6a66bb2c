"""The little language in which rows write the graphs they speak of, one assignment a line, read as a graph of ours.

``t0=add(a,b)`` and ``let t0=add(a,b)`` are nodes; ``on_device(t0,cpu)`` pins what computes ``t0`` and is ``t0`` again;
``device_copy(x,cpu,gpu)`` pins both ends of an edge; ``t.0`` is one output of several; ``return …`` says what comes
out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.fakes import fake_graph

if TYPE_CHECKING:
    from intarsia.graph import Graph

Value = tuple[str, ...]
"""The names that an expression stands for: one, or those of a tuple."""

CHAIN = re.compile(r"chain of ~?(\d+) additions, each using the two previous values")
FOREIGN = re.compile(
    r"\bfn\b|\bdef \b|\bif \b|\bmatch\b|\bref|\bcons\(|\bfree\(|\balloc_\w+\(|\bshape_of\(|\breshape_tensor\(|\binvoke_"
)
"""Functions as values, branches, references, data types, memory and shape operators of another compiler."""


@dataclass(slots=True)
class Program:
    """What the lines say.

    Attributes:
        rows: Id, operator, inputs and outputs of each node.
        pins: Each node or input that is pinned, with the device, and whether what reads it is as well.
        outputs: What is returned.
    """

    rows: list[tuple[str, str, list[str], list[str]]] = field(default_factory=list)
    pins: list[tuple[str, str, bool]] = field(default_factory=list)
    outputs: Value = ()

    def graph(self) -> Graph:
        """The graph of the nodes."""
        weights = {name for _, _, reads, _ in self.rows for name in reads if name.startswith("const")}
        return fake_graph(self.rows, outputs=self.outputs, weights=sorted(weights))


@dataclass(frozen=True, slots=True)
class Term:
    """An expression: a name, a call, a tuple (a call without a name), or one item of another term."""

    name: str
    arguments: tuple[Term, ...] | None = None
    items: tuple[int, ...] = ()


def is_readable(body: str | Sequence[str]) -> bool:
    """Whether `read_program` reads this, and it is a graph."""
    if not isinstance(body, str) and any(FOREIGN.search(line) for line in body):
        return False
    try:
        read_program(body)
    except (AssertionError, IndexError):
        return False
    return True


def read_program(body: str | Sequence[str]) -> Program:
    """The program of these lines, or of a sentence that describes a chain; the last value is returned without
    ``return`` too.
    """
    if isinstance(body, str):
        chain = CHAIN.fullmatch(body)
        assert chain is not None, f"cannot read {body!r}"
        body = list(_chain(int(chain[1])))
    program = _Builder()
    for line in body:
        program.add(line)
    return program.done()


def _chain(length: int) -> Iterator[str]:
    names = ["a", "b"]
    for number in range(length):
        names.append(f"t{number}")
        yield f"{names[-1]}=add({names[-3]},{names[-2]})"


class _Builder:
    def __init__(self) -> None:
        self._program = Program()
        self._names: dict[str, Value] = {}
        self._producer: dict[str, str] = {}
        self._after: list[tuple[str, str]] = []

    def add(self, line: str) -> None:
        match = re.fullmatch(r"(?:return |(?:let )?([A-Za-z_]\w*)=)(.*)", line)
        assert match is not None, f"cannot read {line!r}"
        value = self._value(read_term(match[2]), match[1] or "result")
        self._names[match[1] or "result"] = value
        self._program.outputs = value

    def done(self) -> Program:
        # A copy pins what reads it: known only once the readers are.
        for value, device in self._after:
            readers = [id_ for id_, _, reads, _ in self._program.rows if value in reads]
            self._program.pins += [(reader, device, False) for reader in readers]
        return self._program

    def _value(self, term: Term, name: str) -> Value:
        value = self._bare(term, name)
        for item in term.items:
            value = (value[item],)
        return value

    def _bare(self, term: Term, name: str) -> Value:
        if term.arguments is None:
            return self._names.get(term.name, (term.name,))
        if term.name == "on_device":
            body, device, *flags = term.arguments
            return self._pinned(self._value(body, name), device.name, fixed=Term("constrain_result") in flags)
        if term.name == "device_copy":
            value = self._pinned(self._value(term.arguments[0], name), term.arguments[1].name, fixed=False)
            self._after += [(one, term.arguments[2].name) for one in value]
            return value
        parts = [
            self._value(argument, f"{name}.{number}")
            for number, argument in enumerate(term.arguments)
            if not argument.name.isdigit()
        ]
        reads = [one for part in parts for one in part]
        return tuple(reads) if not term.name else self._node(term, name, reads)

    def _node(self, term: Term, name: str, reads: list[str]) -> Value:
        partitions = [int(argument.name) for argument in term.arguments or () if argument.name.isdigit()]
        writes = [f"{name}.{number}" for number in range(partitions[0])] if partitions else [name]
        self._program.rows.append((name, term.name.capitalize(), reads, writes))
        self._producer |= dict.fromkeys(writes, name)
        return tuple(writes)

    def _pinned(self, value: Value, device: str, *, fixed: bool) -> Value:
        pins = dict.fromkeys((self._producer.get(one, one), device, fixed) for one in value)
        self._program.pins += [pin for pin in pins if pin not in self._program.pins]
        return value


def read_term(text: str) -> Term:
    """The expression that a text is."""
    tokens = re.findall(r"[A-Za-z_]\w*|\d+|[(),.]", text)
    term, rest = _term(tokens)
    assert not rest, f"cannot read {text!r}"
    return term


def _term(tokens: list[str]) -> tuple[Term, list[str]]:
    name, rest = ("", tokens) if tokens[0] == "(" else (tokens[0], tokens[1:])
    arguments: tuple[Term, ...] | None = None
    if rest[:1] == ["("]:
        found: list[Term] = []
        while rest[0] != ")":
            argument, rest = _term(rest[1:])
            found.append(argument)
        arguments, rest = tuple(found), rest[1:]
    items = []
    while rest[:1] == ["."]:
        items.append(int(rest[1]))
        rest = rest[2:]
    return Term(name, arguments, tuple(items)), rest
