"""``intarsia doctor``: each engine that there is, usable here or why not, and what mends it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from intarsia.cli.complete import complete_target
from intarsia.cli.console import print_json, print_table
from intarsia.cli.options import json_option, verbose_option
from intarsia.errors import BackendUnavailableError
from intarsia.wording import counted


@click.command(short_help="Show which engines are usable.")
@click.option(
    "--target",
    metavar="SPEC",
    shell_complete=complete_target,
    help="Look at the engines of these targets, in the interpreters they name.",
)
@json_option
@verbose_option
@click.pass_context
def doctor(context: click.Context, target: str | None, as_json: bool) -> None:
    """Show which engines are usable here, on which devices, and how to mend what is not.

    Exits with 3 if none but the reference is usable. The hardware itself is shown by devices.
    """
    from intarsia.backends.registry import devices, names, probe, undriven_names
    from intarsia.runtime import this_machine

    asked = (*names(), *undriven_names()) if target is None else _named(target)
    engines = [{"name": name} | asdict(probe(name)) | {"devices": list(devices(name))} for name in asked]
    machine = this_machine()
    if as_json:
        facts = {"architecture": machine.architecture, "cpu": machine.cpu, "cores": machine.cores}
        print_json({"machine": facts | {"isa": list(machine.isa)}, "engines": engines})
    else:
        click.echo(f"{machine.cpu}, {machine.architecture}, {counted(machine.cores, 'thread')} for us\n")
        print_table(("engine", "usable", "version", "runs on", ""), [_row(engine) for engine in engines])
    if not any(engine["usable"] and not _is_reference(engine["name"]) for engine in engines):
        context.exit(BackendUnavailableError.exit_code)


def _named(target: str) -> list[str]:
    """The engines that targets name; what stands for whichever engine serves it names none."""
    from intarsia.backends.registry import engine_of
    from intarsia.config import CompilationConfig

    targets = CompilationConfig.of(target).flatten()
    return list(dict.fromkeys(engine_of(each) for each in targets if each.kind.is_external))


def _is_reference(name: str) -> bool:
    from intarsia.backends.registry import AWAY
    from intarsia.target import KINDS

    name = name.partition(AWAY)[0]
    return name in KINDS and KINDS[name].is_reference


def _row(engine: dict[str, Any]) -> tuple[str, ...]:
    remark = "; ".join(filter(None, (engine["reason"], engine["mend"])))
    usable = "yes" if engine["usable"] else "no"
    return engine["name"], usable, engine["version"] or "", ", ".join(engine["devices"]), remark
