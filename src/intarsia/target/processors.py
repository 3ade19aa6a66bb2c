"""The processors that the cores of one machine are divided into, where a configuration names several: `cpu:0`, `cpu:1`.

There are as many as the highest index asks for. They are the machine's NUMA nodes if it has just so many, and else runs
of its cores, in which the threads of one core stay together.
"""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

from intarsia.errors import ConfigError
from intarsia.wording import counted

SYSTEM = Path("/sys/devices/system")
Processor = frozenset[int]
"""The logical cores of one, by the numbers that Linux gives them."""


def processors_here(count: int, root: Path = SYSTEM) -> tuple[Processor, ...]:
    """The logical cores of each of so many processors, of those that the scheduler may put this thread on.

    Args:
        count: How many processors there are to be.
        root: Where Linux describes the machine's nodes and cores.

    Raises:
        ConfigError: There are fewer cores than processors, or the system cannot bind threads to cores.
    """
    if not hasattr(os, "sched_getaffinity"):
        raise ConfigError(
            f"cpu:{count - 1}: this system does not bind threads to cores, so it has one processor, cpu:0"
        )
    usable = os.sched_getaffinity(0)
    if len(usable) < count:
        there = f"this process may use {counted(len(usable), 'core')}"
        raise ConfigError(
            f"cpu:{count - 1}: {there}, and {counted(count, 'processor')} need one each; name no device beyond "
            f"cpu:{len(usable) - 1}"
        )
    nodes = _nodes(root, usable)
    if len(nodes) == count:
        return nodes
    order = sorted(usable, key=lambda core: (_node_of(core, nodes), *_core_of(core, root), core))
    ends = [len(order) * number // count for number in range(count + 1)]
    return tuple(frozenset(order[start:end]) for start, end in pairwise(ends))


def _nodes(root: Path, usable: set[int]) -> tuple[Processor, ...]:
    """The machine's NUMA nodes by number, with what may be used of them; those of which nothing may be are left out."""
    folders = sorted(root.glob("node/node[0-9]*"), key=lambda folder: int(folder.name.removeprefix("node")))
    found = (frozenset(_listed(_read(folder / "cpulist")) & usable) for folder in folders)
    return tuple(filter(None, found))


def _node_of(core: int, nodes: tuple[Processor, ...]) -> int:
    return next((number for number, node in enumerate(nodes) if core in node), len(nodes))


def _core_of(core: int, root: Path) -> tuple[int, int]:
    """Socket and physical core of a logical one; 0 and its own number where Linux does not tell."""
    found = (_read(root / f"cpu/cpu{core}/topology" / name) for name in ("physical_package_id", "core_id"))
    package, physical = (int(text) if text.isdigit() else None for text in found)
    return package or 0, core if physical is None else physical


def _listed(text: str) -> set[int]:
    """The numbers of a list such as ``0-3,8``."""
    runs = (part.partition("-") for part in text.split(",") if part)
    return {number for first, _, last in runs for number in range(int(first), int(last or first) + 1)}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""
