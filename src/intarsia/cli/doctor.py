"""``intarsia doctor``: each engine that there is, usable here or why not, and what fixes it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from intarsia.cli.console import echo, print_json, print_table, print_text
from intarsia.cli.machine import complete_target
from intarsia.cli.options import json_option, verbose_option, with_options
from intarsia.cli.worker_options import worker_options
from intarsia.errors import BackendUnavailableError
from intarsia.wording import counted

if TYPE_CHECKING:
    from intarsia.remote.place import WorkerPlace


@click.command(short_help="Show which engines are usable.")
@click.option(
    "--target",
    metavar="SPEC",
    shell_complete=complete_target,
    help="Look at the engines of these targets, in the interpreters they name.",
)
@with_options(*worker_options)
@json_option
@verbose_option
@click.pass_context
def doctor(context: click.Context, target: str | None, as_json: bool, place: WorkerPlace | None) -> None:
    """Show which engines are usable here, on which devices, and how to fix what is not.

    With --target those are shown that serve it, and whether they compile for it here. Exits with 3 if none but the
    reference does. The hardware itself is shown by devices.
    """
    from intarsia.planning.inventory import doctor_report, is_reference

    if place is None:
        report: Mapping[str, Any] = doctor_report(target)
    else:
        from intarsia.remote.client import Worker

        with Worker(place) as worker:
            report = worker.doctor(target)
    engines, machine = report["engines"], report["machine"]
    is_usable = any(engine["usable"] and not is_reference(engine["name"]) for engine in engines)
    if as_json:
        print_json(report)
    else:
        echo(f"{machine['cpu']}, {machine['architecture']}, {counted(machine['cores'], 'thread')} for us\n")
        if engines:
            print_table(("engine", "usable", "version", "runs on", ""), [_row(engine) for engine in engines])
        if target is not None:
            print_text(f"\n{_conclusion(target, engines, is_usable=is_usable)}")
    if not is_usable:
        context.exit(BackendUnavailableError.exit_code)


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


def _row(engine: dict[str, Any]) -> tuple[str, ...]:
    remark = "; ".join(filter(None, (engine["reason"], engine["fix"])))
    usable = "yes" if engine["usable"] else "no"
    return engine["name"], usable, engine["version"] or "", ", ".join(engine["devices"]), remark
