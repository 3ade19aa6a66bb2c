"""Which colour stands for which engine on a page: the same in every report, whatever else is in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from zlib import crc32

from intarsia.report.reasons import Json
from intarsia.target.kinds.catalogue import ENGINES

FIXED = tuple(kind.name for kind in ENGINES if not kind.partial)
"""Engines of general purpose, in the order of the style sheet's colours: a new kind goes to the end."""
OTHERS = 6
"""Colours for accelerators, plug-ins, and engines on a device that is not the CPU: the name says which."""
COLOURS = len(FIXED) + OTHERS

_SALT = 127
"""Of the fallback's hash: with it, engines that drive the same GPU differ from one another."""
_BASE = re.compile(r"""\s-base=["']?([\w-]+)""")
_CPU = ("cpu", "llvm", "c")


def colour(target: str, device: str | None = None) -> int:
    """The number of an engine's colour: it follows from the names alone, so that two reports agree.

    ``target`` is a target's text, or a label; without a ``device``, the target's own base says where it runs.
    """
    engine, _, rest = target.partition(" ")
    place = device or (rest.removeprefix("on ") if rest.startswith("on ") else _base(target))
    kind = place.split(":")[0]
    if kind not in _CPU:
        engine = f"{engine} on {kind}"
    return FIXED.index(engine) if engine in FIXED else len(FIXED) + crc32(f"{_SALT} {engine}".encode()) % OTHERS


def _base(target: str) -> str:
    """The device kind that a target's text names as its base; a plan that was timed names no device."""
    found = _BASE.search(target)
    return found[1] if found else _CPU[0]


def shares(report: Json) -> dict[str, float]:
    """The share of the time that each engine of the plan has, by label; of the nodes, where no time is known."""
    parts = report["partitions"]
    times = [part["measured_ms"] for part in parts]
    if None in times:
        times = [part["predicted_ms"] for part in parts]
    if None in times or not sum(times):
        times = [len(part["nodes"]) for part in parts]
    whole = sum(times) or 1
    found: dict[str, float] = {}
    for part, spent in zip(parts, times, strict=True):
        name = label(part["target"], part.get("device"))
        found[name] = found.get(name, 0.0) + spent / whole
    return found


def names(targets: Iterable[str]) -> tuple[str, ...]:
    """The engines of target texts, each once."""
    return tuple(dict.fromkeys(label(target) for target in targets))


def label(target: str, device: str | None = None) -> str:
    """What runs there is called: the engine, as a target's text starts, and its device, if that is not the CPU."""
    engine = target.split(maxsplit=1)[0]
    return engine if device is None or device.startswith("cpu") else f"{engine} on {device}"
