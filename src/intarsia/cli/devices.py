"""``intarsia devices``: the hardware of this machine, and which engines serve each device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import click

from intarsia.cli.console import print_answer, print_table, print_text
from intarsia.cli.options import json_option, long_option
from intarsia.wording import counted

HOST = "cpu"


@click.command(short_help="Show this machine's hardware.")
@json_option
@long_option
def devices(as_json: bool, verbose: bool) -> None:
    """Show the devices of this machine, what of it this process may use, and which engines serve each.

    With --verbose each is written out as a target. Why an engine is not usable, and what fixes it, is said by doctor.
    """
    print_answer(_report(), partial(_print, verbose=verbose), as_json=as_json)


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


def _report() -> dict[str, Any]:
    from intarsia.runtime import this_machine
    from intarsia.target.detect import LOOKED_AT, cores_here, lack, memory_bytes

    machine, cores = this_machine(), cores_here()
    absent = {type_: reason for type_ in LOOKED_AT if (reason := lack(type_)) is not None}
    facts = {name: getattr(machine, name) for name in ("cpu", "architecture", "system", "fingerprint")}
    return {
        "machine": facts | {"isa": list(machine.isa)},
        "cores": asdict(cores) | {"budget": cores.budget},
        "memory_bytes": memory_bytes(),
        "devices": list(_devices(machine.cpu)),
        "absent": absent,
    }


def _devices(cpu: str) -> Iterator[dict[str, Any]]:
    from intarsia.target.detect import LOOKED_AT, devices_here

    served = _served()
    for type_ in LOOKED_AT:
        for index, target in enumerate(devices_here(type_)):
            label = type_ if type_ == HOST else f"{type_}:{index}"
            name = target.options.get("device_name") or target.options.get("model") or (cpu if type_ == HOST else "")
            is_software = target.options.get("device_type") == HOST
            yield {
                "device": label,
                "name": f"{name}, software" if is_software else name,
                "is_software": is_software,
                "target": str(target),
                "engines": served.get(label, []),
            }


def _served() -> dict[str, list[str]]:
    """The usable engines of each device, by its label."""
    from intarsia.backends.registry import devices as devices_of
    from intarsia.backends.registry import names, probe

    served: dict[str, list[str]] = {}
    for name in names():
        for label in devices_of(name) if probe(name).usable else ():
            served.setdefault(label, []).append(name)
    return served


def _threads(cores: Mapping[str, Any]) -> str:
    budget = cores["budget"]
    bounds = [counted(cores["shown"], "logical core")]
    if cores["affinity"] != cores["shown"]:
        bounds.append(f"affinity to {cores['affinity']}")
    if cores["quota"] is not None:
        bounds.append(f"a quota of {counted(cores['quota'], 'CPU')}")
    return f"{counted(budget, 'thread')} for us: {', '.join(bounds)}"
