"""``intarsia doctor``: each engine that there is, usable here or why not, and what fixes it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from intarsia.cli.console import print_json, print_table, print_text
from intarsia.cli.machine import complete_target
from intarsia.cli.options import json_option, verbose_option
from intarsia.errors import BackendUnavailableError
from intarsia.target import Target
from intarsia.wording import counted

if TYPE_CHECKING:
    from intarsia.backends.contract import Availability


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
    """Show which engines are usable here, on which devices, and how to fix what is not.

    With --target those are shown that serve it, and whether they compile for it here. Exits with 3 if none but the
    reference does. The hardware itself is shown by devices.
    """
    from intarsia.backends.registry import devices, names, probe, unsupported_names
    from intarsia.runtime import this_machine

    if target is None:
        asked = [(name, probe(name)) for name in (*names(), *unsupported_names())]
    else:
        asked = list(_serving(target))
    engines = [{"name": name} | asdict(found) | {"devices": list(devices(name))} for name, found in asked]
    is_usable = any(engine["usable"] and not _is_reference(engine["name"]) for engine in engines)
    machine = this_machine()
    if as_json:
        facts = {"architecture": machine.architecture, "cpu": machine.cpu, "cores": machine.cores}
        print_json({"machine": facts | {"isa": list(machine.isa)}, "engines": engines})
    else:
        click.echo(f"{machine.cpu}, {machine.architecture}, {counted(machine.cores, 'thread')} for us\n")
        if engines:
            print_table(("engine", "usable", "version", "runs on", ""), [_row(engine) for engine in engines])
        if target is not None:
            print_text(f"\n{_conclusion(target, engines, is_usable=is_usable)}")
    if not is_usable:
        context.exit(BackendUnavailableError.exit_code)


def _serving(text: str) -> Iterator[tuple[str, Availability]]:
    """The engines that targets name or that serve the devices they name, and whether each compiles for them here."""
    from intarsia.backends.contract import Availability
    from intarsia.backends.registry import engine_of, names, probe, unsupported_names
    from intarsia.config import CompilationConfig, engines
    from intarsia.planning.engine_set import absence, no_backend_there

    seen = set()
    for target in CompilationConfig.of(text).flatten():
        is_named = target.kind.is_engine
        serving = (target,) if is_named else engines(CompilationConfig.of([target]), names(), stand_ins=True)
        for each in serving:
            if not isinstance(each, Target) or not each.kind.is_engine:
                continue  # the device itself, which no engine serves
            name = engine_of(each)
            if name in seen:
                continue
            seen.add(name)
            is_driven = each.kind.name in (*names(), *unsupported_names())
            found = probe(name) if is_driven else Availability(usable=False, reason=absence(each))
            lack = absence(each) if found.usable else no_backend_there(each)
            unusable = Availability(usable=False, version=found.version, devices=found.devices, reason=lack)
            yield name, found if lack is None else unusable


def _conclusion(text: str, engines: Sequence[dict[str, Any]], *, is_usable: bool) -> str:
    """What was looked at, and what can be done where nothing here compiles for it."""
    from intarsia.config import CompilationConfig

    targets = CompilationConfig.of(text).flatten()
    names = ", ".join(target.text(tags=False) for target in targets)
    looked = f"looked at: {names}"
    if is_usable:
        return looked
    if not engines:
        return f"{looked}\nno engine that Intarsia knows compiles for it"
    if all(target.kind.is_engine for target in targets):
        return f"{looked}\nnone of it can be used here"
    is_somewhere = any(target.kind.runs_here for target in targets)
    advice = "Compile on that machine itself, where no --target is needed; or see" if is_somewhere else "See"
    command = f"intarsia compile MODEL --target {shlex.quote(text)}"
    plan = f"{advice} by '{command}' how the model would be divided by priority alone"
    return f"{looked}\nnothing here compiles for it. {plan}"


def _is_reference(name: str) -> bool:
    from intarsia.backends.registry import AWAY
    from intarsia.target import KINDS

    name = name.partition(AWAY)[0]
    return name in KINDS and KINDS[name].is_reference


def _row(engine: dict[str, Any]) -> tuple[str, ...]:
    remark = "; ".join(filter(None, (engine["reason"], engine["fix"])))
    usable = "yes" if engine["usable"] else "no"
    return engine["name"], usable, engine["version"] or "", ", ".join(engine["devices"]), remark
