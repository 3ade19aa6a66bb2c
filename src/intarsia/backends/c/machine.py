"""The machine that a library was compiled for, and whether it may be loaded on this one."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from typing import Any

from intarsia.backends.native.library import cpu_features


def facts(instruction_sets: Iterable[str]) -> dict[str, Any]:
    """What a library serves that is compiled here for these instruction sets, as it stands in an artifact."""
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "instruction_sets": list(instruction_sets),
    }


def unserved(facts: Mapping[str, object]) -> str:
    """Why a library with these facts must not be loaded here; empty if it may."""
    for what, here in (("system", platform.system()), ("architecture", platform.machine())):
        if facts[what] != here:
            return f"it is built for {facts[what]}, and this machine is {here}"
    needed = facts["instruction_sets"]
    assert isinstance(needed, list | tuple)
    missing = sorted(set(needed) - cpu_features())
    return f"it is built with {', '.join(missing)}, which this machine lacks" if missing else ""
