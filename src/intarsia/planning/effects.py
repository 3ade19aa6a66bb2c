"""What each option of every kind and level does in a compile, in words: for ``intarsia targets KIND`` and its page."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from intarsia.backends.contract import READ_FOR_ALL
from intarsia.planning.availability import RUNNING, obeys
from intarsia.planning.engine_set import device_writers
from intarsia.planning.remarks import is_compared, readers
from intarsia.spec import Kind
from intarsia.target.kinds.kind import TargetKind

PLANNING = "planning"
"""Reads what says which engines take part, where they run, and for which device."""
NOBODY = "nothing: remark"
"""A compile remarks on it, where it is stated."""
NOT_HERE = "nothing: not run here"
"""No engine here serves the kind, which a compile says: it writes the plan, and ends with exit code 3."""
EXPORTED = "; export --target reads it"
"""Follows where only the code reads it that is written for a device elsewhere."""
REFUSED = "nothing: refused"
"""A compile refuses it, with the reason."""
_OF_CONFIG: Mapping[str, str] = MappingProxyType(
    {
        "host": "the executor aot, engines on it; else remark",
        "devices": "planning, where something is placed; else remark",
        "libraries": "planning; remark on one that serves no target",
    }
)
_SEVERAL = "compile --deployment"
_OF_DEPLOYMENT: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("links", "between", "bandwidth", "latency"), "remark: links are measured")
)


def effects(kind: TargetKind) -> Mapping[str, str]:
    """For each option of a target kind what reads it, or that a compile says that nothing does."""
    if kind.level == "syntax":
        return MappingProxyType(dict.fromkeys(kind.options, PLANNING))
    found = readers(kind)
    exported = {name for writer in device_writers().values() for name in writer.device_options.get(kind.name, ())}
    served = {name: _read_by(kind.name, name, engines) for name, engines in found.items()}
    read = served or dict.fromkeys(kind.options, NOT_HERE)
    return MappingProxyType({name: f"{what}{EXPORTED if name in exported else ''}" for name, what in read.items()})


def _read_by(kind: str, option: str, engines: tuple[str, ...]) -> str:
    if option in READ_FOR_ALL:
        return PLANNING
    planning = (PLANNING,) if is_compared(kind, option) else ()
    return ", ".join((*planning, *engines)) or NOBODY


def level_effects(level: str, kind: Kind) -> Mapping[str, str]:
    """The same of a kind of another level: see `LEVELS`."""
    return MappingProxyType({option: _effect(level, kind.name, option) for option in kind.options})


def _effect(level: str, kind: str, option: str) -> str:
    if level in ("deployment", "link"):
        return _OF_DEPLOYMENT.get(option, _SEVERAL)
    if level == "config":
        return _OF_CONFIG.get(option, PLANNING)
    is_done = kind in RUNNING and obeys(kind, option)
    return f"the {level} {kind}" if is_done else REFUSED
