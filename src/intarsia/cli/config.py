"""``intarsia config``: what flags and files come to, and which of them said what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import click
from click.core import ParameterSource

from intarsia.cli.console import print_json, print_table
from intarsia.cli.machine import SETTINGS, Machine, MachineCommand, machine_of
from intarsia.cli.options import json_option, search_options, verbose_option, with_options


@click.group(short_help="Show what flags and files come to.")
def config() -> None:
    """Show configurations: what --config, --target and the other flags of compile come to together."""


@config.command(cls=MachineCommand, short_help="Show each leaf and who stated it.")
@with_options(*search_options)
@json_option
@verbose_option
@click.pass_context
def show(context: click.Context, /, as_json: bool, **flags: Any) -> None:
    """Show the configuration that the same flags mean for compile, each leaf with who stated it.

    A leaf is stated by a flag, a file or a tag, it is derived from the rest, or it is a default.
    """
    from intarsia.config.cli_overrides.account import account

    machine = machine_of(context)
    leaves = account(machine.merged, machine.config)
    settings = list(_settings(context, machine))
    if as_json:
        written = [asdict(leaf) for leaf in leaves]
        print_json({"config": machine.config.export(), "leaves": written, "settings": settings})
        return
    click.echo(f"{machine.config}\n")
    rows = [(leaf.path, leaf.value, f"tag {leaf.tag}, by {leaf.by}" if leaf.tag else leaf.by) for leaf in leaves]
    print_table(("leaf", "value", "from"), [*rows, *((each["name"], each["value"], each["by"]) for each in settings)])


def _settings(context: click.Context, machine: Machine) -> Iterator[dict[str, str]]:
    """The settings of a compile that are not part of a configuration and have a value."""
    flags = {option.lstrip("-"): param for param in context.command.params for option in param.opts}
    said = {
        ParameterSource.COMMANDLINE: "--{}",
        ParameterSource.DEFAULT_MAP: machine.file_name,
        ParameterSource.DEFAULT: "default",
    }
    for name in SETTINGS:
        parameter = str(flags[name].name)
        value, source = context.params[parameter], context.get_parameter_source(parameter)
        if value not in (None, ()):
            text = ",".join(f"{key}={item}" for key, item in value.items()) if isinstance(value, dict) else str(value)
            yield {"name": name, "value": text, "by": said.get(source, "").format(name) if source else ""}
