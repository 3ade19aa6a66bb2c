"""The flags of a command line as the verbs read them, without a verb."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import click

from intarsia.cli.machine import KindCommand, machine_options, rewrites_of
from intarsia.config.cli_overrides import Rewrites, merge_all


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What a command line says of a configuration, the last ``--config``, and the words that are no flags of these."""

    rewrites: Rewrites
    config: str | None
    rest: tuple[str, ...]


def read_flags(words: Iterable[str]) -> Rewrites:
    """What the words say of a configuration."""
    return read_line(words).rewrites


def read_line(words: Iterable[str]) -> Line:
    """What the words say of a configuration, and the rest of them."""

    def verb() -> None:
        """Do nothing."""

    for option in machine_options:
        option(verb)
    command: click.Command = click.command(cls=KindCommand, add_help_option=False)(verb)
    command.params = [param for param in command.params if param.name != "help_targets"]
    for param in command.params:
        param.callback = None  # which reads the file of --config
    context = command.make_context("verb", list(words), ignore_unknown_options=True, allow_extra_args=True)
    return Line(rewrites=rewrites_of(context), config=context.params["config"], rest=tuple(context.args))


def merge(
    *,
    builtin: Mapping[str, Any] | None = None,
    default_file: Mapping[str, Any] | None = None,
    file: Mapping[str, Any] | None = None,
    rewrites: Rewrites | None = None,
) -> dict[str, Any]:
    """As `merge_all`: the fields of a configuration and the settings, in one dict."""
    merged = merge_all(builtin=builtin, file=default_file if file is None else file, rewrites=rewrites)
    return {**merged.settings, **merged.form}
