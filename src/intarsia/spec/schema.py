"""Declares the options of a kind, each with type, default, unit and meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from intarsia.spec.types import Bool, Enum, Int, OptionType, PowerOfTwo, Str, Value

Options = Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option of a kind.

    Attributes:
        name: As written, after the dashes.
        type: What its values are, and how they are read and printed.
        default: Its value where nothing is stated; ``None`` where that is for whoever reads the option to decide.
        unit: Of a number; empty for a pure one.
        older: Earlier spellings of its name, accepted with a deprecation warning.
    """

    name: str
    type: OptionType
    default: Value = None
    unit: str = ""
    meaning: str
    older: tuple[str, ...] = ()


def flag(name: str, meaning: str, *, default: bool | None = None) -> Option:
    """An option that is true or false."""
    return Option(name=name, type=Bool(), default=default, meaning=meaning)


def whole(name: str, meaning: str, default: int | None = None, *, minimum: int | None = 0, unit: str = "") -> Option:
    """An option that is a whole number."""
    return Option(name=name, type=Int(minimum=minimum), default=default, meaning=meaning, unit=unit)


def power_of_two(name: str, meaning: str, *, unit: str = "") -> Option:
    """An option that is a power of two, with nothing as its default."""
    return Option(name=name, type=PowerOfTwo(), meaning=meaning, unit=unit)


def choice(name: str, meaning: str, *choices: str, default: str | None = None) -> Option:
    """An option that is one of these words."""
    return Option(name=name, type=Enum(choices), default=default, meaning=meaning)


def text(name: str, meaning: str, default: str | None = None) -> Option:
    """An option that is any text."""
    return Option(name=name, type=Str(), default=default, meaning=meaning)


def fill_nothing(options: Options) -> Options:
    """The default `Kind.fill`: no option follows from the others."""
    return options


def find_no_fault(options: Options) -> Iterable[tuple[str, str]]:
    """The default `Kind.check`: there are no rules beyond the schema."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A family of specs with one schema.

    Attributes:
        name: Its first word in text.
        options: What may be stated, by name, in the order that help lists it.
        fill: Adds what follows from the stated options by table. Pure, idempotent, and the same on every machine.
        check: Yields an option's name and what is wrong with it, for rules that its type cannot say.
    """

    name: str
    meaning: str
    options: Mapping[str, Option] = field(repr=False)
    fill: Callable[[Options], Options] = field(default=fill_nothing, repr=False)
    check: Callable[[Options], Iterable[tuple[str, str]]] = field(default=find_no_fault, repr=False)

    def complete(self, options: Options) -> Options:
        """Return the stated options and those that follow from them, in canonical form."""
        return self.fill(options)

    def faults(self, options: Options) -> Iterable[tuple[str, str]]:
        """Return the option's name and the error for each rule that the options break."""
        return self.check(options)


def schema(*groups: Iterable[Option]) -> Mapping[str, Option]:
    """Return a table of these options. Raises `ValueError` for a duplicate name or one that text cannot hold."""
    table: dict[str, Option] = {}
    for option in (option for group in groups for option in group):
        if option.name in table:
            raise ValueError(f"option {option.name!r} is already declared")
        if (
            option.name in {"kind", "tag"}
            or not option.name[:1].isalpha()
            or not option.name.replace("-", "_").isidentifier()
        ):
            raise ValueError(f"{option.name!r} cannot be the name of an option")
        table[option.name] = option
    return MappingProxyType(table)
