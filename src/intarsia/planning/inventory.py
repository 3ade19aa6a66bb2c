"""What this machine has: its devices, and the engines that are usable on them, as objects that print as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from intarsia.target import KINDS, Target

if TYPE_CHECKING:
    from intarsia.backends.contract import Availability

HOST: Final = "cpu"


def devices_report() -> dict[str, Any]:
    """The hardware of this machine, what of it this process may use, and which engines serve each device."""
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


def doctor_report(target: str | None) -> dict[str, Any]:
    """Each engine, usable here or why not; only those that serve the targets of a text, if one is given."""
    from intarsia.backends.registry import devices as devices_of
    from intarsia.backends.registry import names, probe, unsupported_names
    from intarsia.runtime import this_machine

    if target is None:
        asked = [(name, probe(name)) for name in (*names(), *unsupported_names())]
    else:
        asked = list(_serving(target))
    found = [{"name": name} | asdict(each) | {"devices": list(devices_of(name))} for name, each in asked]
    machine = this_machine()
    facts = {"architecture": machine.architecture, "cpu": machine.cpu, "cores": machine.cores}
    return {"machine": facts | {"isa": list(machine.isa)}, "engines": found}


def is_reference(name: str) -> bool:
    """Whether an engine is the last resort, by its name or that of it in another interpreter."""
    from intarsia.backends.registry import AWAY

    name = name.partition(AWAY)[0]
    return name in KINDS and KINDS[name].is_reference


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
