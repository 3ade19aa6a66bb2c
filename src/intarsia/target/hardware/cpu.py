"""The CPU of this machine as options of an ``llvm`` target: all that Linux shows; elsewhere triple and cores."""

from __future__ import annotations

import functools
import platform
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from intarsia.target.cores import thread_budget
from intarsia.target.features import Architecture, architecture, features_of
from intarsia.target.hardware.driver_process import Options

_CPUINFO = Path("/proc/cpuinfo")
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
_SYSTEMS = {"Linux": "unknown-linux-gnu", "Darwin": "apple-darwin", "Windows": "pc-windows-msvc"}
_LEVELS = ("x86-64-v4", "x86-64-v3", "x86-64-v2", "x86-64")

Block = Mapping[str, str]
"""What ``/proc/cpuinfo`` says of one core."""


def cpu_options() -> Options:
    """The CPU that runs this process: its name, features that differ from the name's, and the cores it may use."""
    try:
        cpuinfo = _CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        cpuinfo = ""
    return options_of_cpu(platform.machine(), platform.system(), cpuinfo, thread_budget())


def options_of_cpu(machine: str, system: str, cpuinfo: str, cores: int) -> Options:
    """The options of a CPU of which the operating system says this.

    ``mattr`` states what the processor of that name has but this machine does not show, as in many virtual machines,
    and what it shows beyond. Of cores that differ, the first names it, and the features are those that all show.

    Args:
        machine: As ``uname -m`` says.
        system: As ``uname -s`` says.
        cpuinfo: Linux's ``/proc/cpuinfo``, empty elsewhere.
        cores: How many of them may be used.
    """
    options: dict[str, Any] = {"kind": "llvm", "mtriple": _triple(machine, system), "num-cores": cores}
    found = features_of("llvm", options).architecture
    blocks = list(_blocks(cpuinfo))
    flags = [block.get("flags", block.get("Features", "")).split() for block in blocks]
    if found and any(flags):
        options |= _processor(architecture(found), blocks[0], frozenset[str].intersection(*map(frozenset, flags)))
    return options


def visible_features(architecture_name: str) -> frozenset[str]:
    """The features that an operating system shows of a processor; whether it has others cannot be known here."""
    return _named(architecture(architecture_name), _names()["flags"].get(architecture_name, "").split())


def _triple(machine: str, system: str) -> str:
    machine = _MACHINES.get(machine.lower(), machine.lower())
    rest = _SYSTEMS.get(system, f"unknown-{system.lower() or 'none'}")
    return f"{machine}-{rest}eabihf" if machine.startswith("arm") and system == "Linux" else f"{machine}-{rest}"


def _blocks(cpuinfo: str) -> Iterable[Block]:
    """One block for each core; what follows them, of the board, has no flags and is left out."""
    for text in cpuinfo.split("\n\n"):
        pairs = (line.partition(":") for line in text.splitlines())
        block = {key.strip(): value.strip() for key, _, value in pairs}
        if "flags" in block or "Features" in block:
            yield block


def _processor(found: Architecture, block: Block, flags: Iterable[str]) -> dict[str, Any]:
    """``mcpu`` and ``mattr`` of a processor of which the operating system shows these flags."""
    visible = _named(found, _names()["flags"][found.name].split())
    shown = found.closed(_named(found, flags) & visible) & visible
    name = _fitting(found, _candidates(found, block), shown, visible)
    if not name:
        return {}
    differences = _differences(found, found.processors[name], shown, visible)
    return {"mcpu": name} | ({"mattr": differences} if differences else {})


def _named(found: Architecture, flags: Iterable[str]) -> frozenset[str]:
    return frozenset(feature for flag in flags if (feature := found.feature(flag)) is not None)


def _candidates(found: Architecture, block: Block) -> list[str]:
    """The processors that have these numbers, most capable first."""
    if found.name == "x86":
        vendor, family, model = (block.get(key, "") for key in ("vendor_id", "cpu family", "model"))
        if not (family.isdigit() and model.isdigit()):
            return []
        rows = _names().get(vendor, {}).get(f"{int(family):x}", {})
        return [name for name, models in rows.items() if any(_lies_in(int(model), part) for part in models.split())]
    implementer, part = (block.get(key, "").lower().removeprefix("0x") for key in ("CPU implementer", "CPU part"))
    rows = _names()["arm"].get(implementer, {})
    return [name for name, parts in rows.items() if part in parts.split() and name in found.processors]


def _lies_in(number: int, part: str) -> bool:
    first, _, last = part.partition("-")
    return int(first, 16) <= number <= int(last or first, 16)


def _fitting(found: Architecture, names: list[str], shown: frozenset[str], visible: frozenset[str]) -> str:
    """The first of these that has nothing the machine does not show, else the least; of no names, the best level."""
    names = names or [level for level in _LEVELS if level in found.processors]
    fitting = (name for name in names if found.processors[name] & visible <= shown)
    return next(fitting, names[-1] if names else "")


def _differences(found: Architecture, has: frozenset[str], shown: frozenset[str], visible: frozenset[str]) -> list[str]:
    """The shortest `-mattr` that makes the visible features those that are shown."""
    gone = (has & visible) - shown
    roots = sorted(feature for feature in gone if not (found.closed((feature,)) - {feature}) & gone)
    left = functools.reduce(found.without, roots, has)
    new = shown - left
    ends = sorted(feature for feature in new if not any(feature in found.closed((other,)) for other in new - {feature}))
    return [*(f"-{feature}" for feature in roots), *(f"+{feature}" for feature in ends)]


@functools.cache
def _names() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_name("names.toml").read_text(encoding="utf-8"))
