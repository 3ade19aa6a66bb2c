"""The memories of a microcontroller as a target's options state them: ``-ram=dtcm:131072,sram:393216``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from intarsia.spec.schema import Options

_ENTRY = re.compile(r"(?P<name>[a-z][a-z0-9_]*):(?P<bytes>[1-9][0-9]{0,17})")
TAKEN = "flash"
"""The name of the memory of code and weights, which the option ``flash`` gives."""


def sizes(entries: Sequence[str]) -> Mapping[str, int]:
    """Bytes by name, in the order of the entries, which have no fault."""
    pairs = (entry.partition(":") for entry in entries)
    return MappingProxyType({name: int(size) for name, _, size in pairs})


def faults_of_memories(options: Options) -> Iterable[tuple[str, str]]:
    """Entries of ``ram`` that are no memory, or have the name of another one."""
    seen: set[str] = set()
    for entry in options.get("ram", ()):
        found = _ENTRY.fullmatch(entry)
        if found is None:
            yield "ram", f"malformed memory {entry!r}; write NAME:BYTES, as sram:262144, with a name in small letters"
        elif found["name"] == TAKEN:
            yield "ram", f"{TAKEN!r} is the memory of code and weights; its bytes are the option {TAKEN}"
        elif found["name"] in seen:
            yield "ram", f"the memory {found['name']!r} appears more than once"
        else:
            seen.add(found["name"])
