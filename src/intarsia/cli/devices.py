"""``intarsia devices``: the hardware of this machine, and which engines serve each device."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from intarsia.cli.console import print_answer, print_table, print_text
from intarsia.cli.options import json_option, long_option, with_options
from intarsia.cli.worker_options import worker_options
from intarsia.wording import counted

if TYPE_CHECKING:
    from intarsia.remote.place import WorkerPlace


@click.command(short_help="Show this machine's hardware.")
@with_options(*worker_options)
@json_option
@long_option
def devices(as_json: bool, verbose: bool, place: WorkerPlace | None) -> None:
    """Show the devices of this machine, what of it this process may use, and which engines serve each.

    With --verbose each is written out as a target. Why an engine is not usable, and what fixes it, is said by doctor.
    """
    if place is None:
        from intarsia.planning.inventory import devices_report

        report: Mapping[str, Any] = devices_report()
    else:
        from intarsia.remote.client import Worker

        with Worker(place) as worker:
            report = worker.devices()
    print_answer(report, partial(_print, verbose=verbose), as_json=as_json)


def _print(report: Mapping[str, Any], *, verbose: bool) -> None:
    machine, cores = report["machine"], report["cores"]
    click.echo(f"{machine['cpu']}, {machine['architecture']}, {machine['system']}")
    print_text(f"{_threads(cores)}; {report['memory_bytes'] / 2**30:.1f} GiB of memory\n")
    found = report["devices"]
    rows = [(each["device"], each["name"], ", ".join(each["engines"]) or "none that is usable") for each in found]
    print_table(("device", "name", "engines"), rows)
    for reason in report["absent"].values():
        print_text(reason)
    for each in found if verbose else ():
        print_text(f"\n{each['device']}: {each['target']}")


def _threads(cores: Mapping[str, Any]) -> str:
    budget = cores["budget"]
    bounds = [counted(cores["shown"], "logical core")]
    if cores["affinity"] != cores["shown"]:
        bounds.append(f"affinity to {cores['affinity']}")
    if cores["quota"] is not None:
        bounds.append(f"a quota of {counted(cores['quota'], 'CPU')}")
    return f"{counted(budget, 'thread')} for us: {', '.join(bounds)}"
