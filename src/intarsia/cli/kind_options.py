"""The option of each kind as a parameter of click: ``--target-llvm-mcpu``. There are more than five hundred.

So a command line declares those that stand on it, and no others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from intarsia.errors import SpecError

if TYPE_CHECKING:
    from intarsia.config.cli_overrides.flags import Flag
    from intarsia.spec.types import OptionType

PREFIXES = ("--target-", "--executor-", "--runtime-")
"""How the flags of kinds begin."""

_COLUMN = 14
_PLURAL = {"target": "targets", "executor": "executors", "runtime": "runtimes"}


class KindValue(click.ParamType[Any]):
    """A value of one option of a kind."""

    name = "value"

    def __init__(self, type_: OptionType) -> None:
        self._type = type_

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value, or a `SpecError` that shows its place."""
        from intarsia.config.cli_overrides.paths import read_text

        return read_text(self._type, value, "" if param is None else param.opts[-1])


class KindOption(click.Option):
    """One option of one kind, in all spellings that a command line has of it. Help shows those of a kind together."""

    def __init__(self, flag: Flag, number: int, spellings: Sequence[str]) -> None:
        self.flag = flag
        super().__init__([*spellings, f"kind_option_{number}"], type=KindValue(flag.option.type), hidden=True)


def kind_options(words: Sequence[str]) -> list[KindOption]:
    """The options of kinds that these words of a command line name."""
    spelled = {word.partition("=")[0]: None for word in words if word.startswith(PREFIXES)}
    if not spelled:
        return []
    from intarsia.config.cli_overrides.flags import find_flag

    found: dict[str, tuple[Flag, list[str]]] = {}
    for word in spelled:
        flag = find_flag(word)
        if flag is not None:
            found.setdefault(str(flag), (flag, []))[1].append(word)
    return [KindOption(flag, number, spellings) for number, (flag, spellings) in enumerate(found.values())]


def with_values(words: Sequence[str], options: Sequence[click.Parameter]) -> list[str]:
    """The words with the value of each of these options after its ``=``, or a `SpecError`; bools of kinds need none."""
    named = {name: option for option in options for name in option.opts}
    found: list[str] = []
    left = deque(words)
    while left:
        word = left.popleft()
        if word == "--":
            return [*found, word, *left]
        found.append(f"{word}={_value(word, named, left)}" if word in named else word)
    return found


def _value(word: str, named: Mapping[str, click.Parameter], left: deque[str]) -> str:
    from intarsia.spec import Bool

    option = named[word]
    type_ = option.flag.option.type if isinstance(option, KindOption) else None
    if isinstance(type_, Bool) and not (left and type_.reads(left[0])):
        return "true"
    if not left or left[0].startswith("-"):
        raise SpecError(f"{word} needs a value; if it starts with '-', write it after '=', as in {word}=-x")
    return left.popleft()


def write_names(formatter: click.HelpFormatter) -> None:
    """The names of the options of every kind, a section for each level."""
    for level, rows in _in_short().items():
        with formatter.section(f"Flags of {_PLURAL[level]}, as --{level}-KIND-OPTION[=VALUE]"):
            _write_rows(formatter, rows)


def print_flags(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    """Print every flag of every kind with its meaning, and leave: the callback of ``--help-targets``."""
    if not value or context.resilient_parsing:
        return
    from intarsia.config.cli_overrides.flags import LEVELS, all_flags
    from intarsia.target.describe import describe_option

    formatter = context.make_formatter()

    def kind_of(flag: Flag) -> tuple[str, str]:
        return flag.level, flag.kind

    for (level, name), flags in groupby(all_flags(), kind_of):
        with formatter.section(f"{level.capitalize()} {name}: {LEVELS[level].kinds[name].meaning}"):
            rows = (describe_option(name, flag.option, level=level) for flag in flags)
            formatter.write_dl([(row.flag, row.help) for row in rows])
    click.echo(formatter.getvalue().rstrip())
    context.exit()


def _in_short() -> dict[str, list[tuple[str, str]]]:
    """For each level its kinds, with the names of their options; those that many kinds share stand first, once."""
    from intarsia.config.cli_overrides.flags import LEVELS
    from intarsia.target.describe import describe_kinds

    kinds = describe_kinds().values()
    shared = {
        level: dict.fromkeys(
            option.name for kind in kinds if kind.level == level for option in kind.options if option.is_shared
        )
        for level in ("device", "engine")
    }
    both = [name for name in shared["device"] if name in shared["engine"]]
    rows = [("every KIND", ", ".join(both))]
    rows += [
        (f"every {level}", ", ".join(name for name in names if name not in both)) for level, names in shared.items()
    ]
    rows += [(kind.name, _names(kind.own_options)) for kind in kinds if kind.own_options]
    rows.append(("no others", ", ".join(kind.name for kind in kinds if not kind.own_options)))
    drives = {
        level: [(kind.name, _names(kind.options.values())) for kind in LEVELS[level].kinds.values() if kind.options]
        for level in ("executor", "runtime")
    }
    return {"target": rows, **drives}


def _write_rows(formatter: click.HelpFormatter, rows: Iterable[tuple[str, str]]) -> None:
    """Two columns, as click writes them, but no name is broken at its dashes."""
    for first, names in rows:
        indent = " " * formatter.current_indent
        lines = wrap(
            names,
            formatter.width,
            initial_indent=f"{indent}{first:<{_COLUMN}}",
            subsequent_indent=f"{indent}{'':<{_COLUMN}}",
            break_on_hyphens=False,
        )
        formatter.write("".join(f"{line}\n" for line in lines))


def _names(options: Iterable[Any]) -> str:
    return ", ".join(option.name for option in options)
