"""The flags of a command line that say something about the configuration, read into one value, `Rewrites`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from intarsia.config.cli_overrides.schemas import find_option, kind_named, read_text
from intarsia.config.executor import LEVEL as EXECUTOR_LEVEL
from intarsia.config.runtime import LEVEL as RUNTIME_LEVEL
from intarsia.errors import SpecError
from intarsia.spec import Bool, Level, Option
from intarsia.spec.types import Value
from intarsia.target.target import LEVEL as TARGET_LEVEL

Options = Mapping[str, Mapping[str, Value]]
"""Values of options, by kind and option."""

LEVELS: Mapping[str, Level] = MappingProxyType(
    {"target": TARGET_LEVEL, "executor": EXECUTOR_LEVEL, "runtime": RUNTIME_LEVEL}
)
"""The levels whose kinds have flags of their own: ``--<level>-<kind>-<option>``."""

SET = "set"
_WHOLE = ("target", "executor", "runtime", "config", SET)
"""Flags that take one text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrites:
    """What a command line says of the configuration; ``None`` or empty where it says nothing.

    Attributes:
        target: The text of the last ``--target``.
        options: Of ``--target-<kind>-<option>``, by kind and option.
        executor: The text of the last ``--executor``.
        runtime: The text of the last ``--runtime``.
        executor_options: Of ``--executor-<kind>-<option>``.
        runtime_options: Of ``--runtime-<kind>-<option>``.
        paths: Of ``--set PATH=VALUE``, in order: the path and the text of its value.
        config: The last ``--config``: a file that the rest is laid over.
        rest: The words that are none of these, in order.
    """

    target: str | None = None
    options: Options = field(default_factory=lambda: MappingProxyType({}))
    executor: str | None = None
    runtime: str | None = None
    executor_options: Options = field(default_factory=lambda: MappingProxyType({}))
    runtime_options: Options = field(default_factory=lambda: MappingProxyType({}))
    paths: tuple[tuple[str, str], ...] = ()
    config: str | None = None
    rest: tuple[str, ...] = ()


def parse_flags(argv: Sequence[str]) -> Rewrites:
    """What a command line says of the configuration. Of a flag that is repeated the last one counts.

    A value stands after ``=`` or in the next word; one that starts with ``-`` needs the ``=``. A bool may stand alone.
    Words after ``--`` are left as they are.

    Raises:
        SpecError: A value is missing, or is not of its option's type.
    """
    said: dict[str, str] = {}
    options: dict[str, dict[str, dict[str, Value]]] = {level: {} for level in LEVELS}
    paths: list[tuple[str, str]] = []
    rest: list[str] = []
    words = deque(argv)
    while words:
        word = words.popleft()
        flag, equals, text = word.partition("=")
        if word == "--":
            rest += [word, *words]
            break
        if flag.removeprefix("--") in _WHOLE and flag.startswith("--"):
            value = text if equals else _next_word(flag, words)
            if flag == f"--{SET}":
                paths.append(_path(value))
            else:
                said[flag.removeprefix("--")] = value
        elif (found := find_flag(flag)) is not None:
            stated = options[found.level].setdefault(found.kind, {})
            stated[found.option.name] = _value(found, flag, text if equals else None, words)
        else:
            rest.append(word)
    return Rewrites(
        **said,
        options=_frozen(options["target"]),
        executor_options=_frozen(options["executor"]),
        runtime_options=_frozen(options["runtime"]),
        paths=tuple(paths),
        rest=tuple(rest),
    )


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


def _value(found: Flag, flag: str, text: str | None, words: deque[str]) -> Value:
    type_ = found.option.type
    if text is None and isinstance(type_, Bool):
        text = words.popleft() if words and type_.reads(words[0]) else "true"
    return read_text(type_, _next_word(flag, words) if text is None else text, flag)


def _next_word(flag: str, words: deque[str]) -> str:
    if not words or words[0].startswith("-"):
        raise SpecError(f"{flag} needs a value; if it starts with '-', write it after '=', as in {flag}=-x")
    return words.popleft()


def _path(text: str) -> tuple[str, str]:
    path, equals, value = text.partition("=")
    if not equals:
        raise SpecError(f"--{SET} {text}: write PATH=VALUE, such as targets[1].mcpu=cortex-a72")
    return path, value


def _frozen(options: Mapping[str, Mapping[str, Value]]) -> Options:
    return MappingProxyType({kind: MappingProxyType(dict(stated)) for kind, stated in options.items()})
