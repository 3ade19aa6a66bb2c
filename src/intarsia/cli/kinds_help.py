"""The flags of every kind in ``--help``: by name, and with ``--help-targets`` explained."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from intarsia.config.cli_overrides.flags import Flag

_COLUMN = 14
_PLURAL = {"target": "targets", "executor": "executors", "runtime": "runtimes"}


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
