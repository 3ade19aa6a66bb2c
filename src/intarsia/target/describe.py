"""The table of kinds as data for those who show it: help of the command line, ``intarsia targets``, the docs page.

``python -m intarsia.target.describe docs/spec-language.md`` writes the page's section of kinds anew.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from intarsia.files import replace_file
from intarsia.spec import Option
from intarsia.target.aliases import ALIASES
from intarsia.target.kinds.catalogue import KINDS
from intarsia.target.kinds.declare import BASE, COMMON, COMPILER, PYTHON, THREADS
from intarsia.target.kinds.kind import TargetKind
from intarsia.target.target import Target

HEADING = "## Kinds\n"
"""Where the generated section of the docs page begins; it goes to the end."""

_SHARED = (THREADS, *COMMON, BASE, PYTHON, COMPILER)


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionDescription:
    """One option of one kind: the attributes of `Option` as text, and more.

    Attributes:
        flag: As written on the command line: ``--target-llvm-mcpu``.
        type: What its values are, such as ``list of str, unordered``.
        default: Empty where none is stated.
        is_shared: Whether every device, or every engine, has it.
    """

    name: str
    flag: str
    type: str
    default: str
    unit: str
    meaning: str
    older: tuple[str, ...]
    is_shared: bool

    @property
    def help(self) -> str:
        """What the command line says of it: meaning, unit and default."""
        notes = (self.unit and f"in {self.unit}", self.default and f"default {self.default}")
        return f"{self.meaning} [{self.type}{''.join(f'; {note}' for note in notes if note)}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class KindDescription:
    """One kind in words, under the names that `TargetKind` has.

    Attributes:
        runs_here: What of that Intarsia runs: for a device, the engines with a backend; for an engine, device types.
        as_c: What there is of it in networks that are written as C, see `TargetKind.as_c`.
        options: Its own first, then those it shares.
    """

    name: str
    level: str
    device_type: str
    keys: tuple[str, ...]
    engines: tuple[str, ...]
    serves: tuple[str, ...]
    runs_here: tuple[str, ...]
    as_c: str
    is_partial: bool
    meaning: str
    options: tuple[OptionDescription, ...]

    @property
    def own_options(self) -> tuple[OptionDescription, ...]:
        """The options that not every kind of its level has."""
        return tuple(option for option in self.options if not option.is_shared)

    @property
    def runs(self) -> str:
        """What of it runs here, for a table."""
        return "as its targets" if self.level == "syntax" else runs(self.runs_here, self.as_c)


def runs(here: Iterable[str], as_c: str) -> str:
    """What of a kind runs here, in words."""
    return "; ".join(filter(None, (", ".join(here), as_c and f"as C: {as_c}"))) or "no"


def describe_kind(kind: TargetKind) -> KindDescription:
    """What there is to say of a kind."""
    return KindDescription(
        name=kind.name,
        level=kind.level,
        device_type=kind.device_type,
        keys=kind.default_keys,
        engines=kind.engines,
        serves=kind.serves,
        runs_here=kind.runs_on if kind.is_external else kind.runs_here,
        as_c=kind.as_c,
        is_partial=kind.partial,
        meaning=kind.meaning,
        options=tuple(describe_option(kind.name, option) for option in kind.options.values()),
    )


def describe_kinds() -> Mapping[str, KindDescription]:
    """What there is to say of every kind, by name, in the order of the table."""
    return {name: describe_kind(kind) for name, kind in KINDS.items()}


def describe_option(kind: str, option: Option, *, level: str = "target") -> OptionDescription:
    """What there is to say of an option of a kind; ``level`` is what its flag begins with."""
    return OptionDescription(
        name=option.name,
        flag=f"--{level}-{kind}-{option.name}",
        type=option.type.label,
        default="" if option.default is None else option.type.text(option.default),
        unit=option.unit,
        meaning=option.meaning,
        older=option.older,
        is_shared=option in _SHARED,
    )


def section() -> str:
    """The docs page's section of kinds, in Markdown, without its heading."""
    return "\n".join(_section())


def _section() -> Iterator[str]:
    kinds = describe_kinds()
    yield (
        "\nThe fourth column names, for a device, the engines that are made for it, and for an engine, its devices. "
        "*Runs here* names\nwhat Intarsia has a backend for; behind *as C* stands what takes part in networks that the "
        "executor `aot` writes as\n[C without Python](microcontrollers.md). A *no* means: you can describe it and "
        "plan for it, but Intarsia cannot run it.\n"
    )
    yield "| kind | level | device | engines, or devices | runs here | meaning |\n| --- | --- | --- | --- | --- | --- |"
    for kind in kinds.values():
        level = f"{kind.level}, partial" if kind.is_partial else kind.level
        other = ", ".join(kind.engines or kind.serves)
        cells = (f"[`{kind.name}`](#{kind.name})", level, kind.device_type, other, kind.runs, kind.meaning)
        yield f"| {' | '.join(cells)} |"
    yield "\nA *partial* engine takes only part of a graph, so it is never a whole machine by itself.\n"
    yield "Other spellings, which stand for a kind and its options:\n"
    yield "| alias | target |\n| --- | --- |"
    for name, alias in ALIASES.items():
        whole = "; alone, the machine around it" if alias.whole else ""
        yield f"| `{name}` | `{Target(alias.form)}`{whole} |"
    yield "\nEvery device and engine kind has:\n"
    yield from _table(describe_option("KIND", option) for option in (THREADS, *COMMON))
    yield "\nand every engine kind:\n"
    yield from _table(describe_option("KIND", option) for option in (BASE, PYTHON))
    yield "\nand every device kind:\n"
    yield from _table([describe_option("KIND", COMPILER)])
    for kind in kinds.values():
        yield f"\n### `{kind.name}`\n"
        if kind.own_options:
            yield from _table(kind.own_options)
        else:
            yield "No options of its own."
    yield ""


def _table(options: Iterable[OptionDescription]) -> Iterator[str]:
    yield "| option | type | default | meaning |\n| --- | --- | --- | --- |"
    for option in options:
        unit = f" ({option.unit})" if option.unit else ""
        cells = (f"`{option.name}`", option.type, option.default, f"{option.meaning}{unit}")
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _write(page: Path) -> None:
    before, heading, _ = page.read_text(encoding="utf-8").partition(HEADING)
    replace_file(page, f"{before}{heading or HEADING}{section()}".encode())


if __name__ == "__main__":
    _write(Path(sys.argv[1]))
