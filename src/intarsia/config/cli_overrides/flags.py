"""What a command line says about the configuration, `Rewrites`; and the flag of each option of each kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from intarsia.config.cli_overrides.paths import find_option, kind_named
from intarsia.config.drives import Executor, Runtime
from intarsia.spec import Level, Option
from intarsia.spec.types import Value
from intarsia.target.target import LEVEL as TARGET_LEVEL

Options = Mapping[str, Mapping[str, Value]]
"""Values of options, by kind and option."""

LEVELS: Mapping[str, Level] = MappingProxyType(
    {"target": TARGET_LEVEL, "executor": Executor.level, "runtime": Runtime.level}
)
"""The levels whose kinds have flags of their own: ``--<level>-<kind>-<option>``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrites:
    """What a command line says of the configuration; ``None`` or empty where it says nothing.

    Texts are those of the last flag, options those of ``--<level>-<kind>-<option>`` by kind and option; ``paths`` are
    path and text of each ``--set PATH=VALUE``, in order.
    """

    target: str | None = None
    options: Options = field(default_factory=lambda: MappingProxyType({}))
    executor: str | None = None
    runtime: str | None = None
    executor_options: Options = field(default_factory=lambda: MappingProxyType({}))
    runtime_options: Options = field(default_factory=lambda: MappingProxyType({}))
    paths: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """An option of a kind as the command line states it."""

    level: str
    kind: str
    option: Option

    def __str__(self) -> str:
        return f"--{self.level}-{self.kind}-{self.option.name}"


def find_flag(word: str) -> Flag | None:
    """The option that ``--<level>-<kind>-<option>`` means, in any spelling of kind and option; ``None`` for others."""
    level, dash, name = word.removeprefix("--").partition("-")
    if not word.startswith("--") or not dash or level not in LEVELS:
        return None
    table = LEVELS[level]
    splits = sorted(_splits(name), key=lambda split: split[0] not in table.kinds)  # a plug-in's kind is slow to find
    for kind_name, option_name in splits:
        kind = kind_named(table, kind_name)
        option = None if kind is None else find_option(kind, option_name)
        if kind is not None and option is not None:
            return Flag(level=level, kind=kind.name, option=option)
    return None


def _splits(name: str) -> Iterator[tuple[str, str]]:
    """Every way to divide a name into that of a kind and that of an option: either may have dashes in it.

    A kind with underscores may be written with dashes.
    """
    parts = name.split("-")
    for count in range(1, len(parts)):
        option = "-".join(parts[count:])
        yield "-".join(parts[:count]), option
        if count > 1:
            yield "_".join(parts[:count]), option


def all_flags() -> Iterator[Flag]:
    """The flag of every option of every kind, in the order of the tables."""
    for level, table in LEVELS.items():
        for kind in table.kinds.values():
            for option in kind.options.values():
                yield Flag(level=level, kind=kind.name, option=option)
