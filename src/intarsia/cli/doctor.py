"""``intarsia doctor``: each engine usable, or why not and what mends it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from intarsia.cli.console import print_json, print_table
from intarsia.cli.options import json_option, verbose_option
from intarsia.errors import BackendUnavailableError


@click.command(short_help="Show which engines are usable.")
@json_option
@verbose_option
@click.pass_context
def doctor(context: click.Context, as_json: bool) -> None:
    """Show which engines are usable here, and how to mend those that are not.

    Exits with 3 if none but the reference is usable.
    """
    from intarsia.backends.registry import names, probe
    from intarsia.runtime import this_machine

    engines = [{"name": name} | asdict(probe(name)) for name in names()]
    machine = this_machine()
    if as_json:
        facts = {"architecture": machine.architecture, "cpu": machine.cpu, "cores": machine.cores}
        print_json({"machine": facts | {"isa": list(machine.isa)}, "engines": engines})
    else:
        click.echo(f"{machine.cpu}, {machine.architecture}, {machine.cores} threads for us\n")
        print_table(("engine", "usable", "version", ""), [_row(engine) for engine in engines])
    if not any(engine["usable"] and not _is_reference(engine["name"]) for engine in engines):
        context.exit(BackendUnavailableError.exit_code)


def _is_reference(name: str) -> bool:
    from intarsia.target import KINDS

    return name in KINDS and KINDS[name].is_reference


def _row(engine: dict[str, Any]) -> tuple[str, ...]:
    remark = "; ".join(filter(None, (engine["reason"], engine["mend"])))
    return engine["name"], "yes" if engine["usable"] else "no", engine["version"] or "", remark
