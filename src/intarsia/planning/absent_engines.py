"""Why engines that are named cannot be used here: what is the same of several of them is said once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from intarsia.planning.engine_set import Absence
from intarsia.target import Target
from intarsia.target.detect import lack
from intarsia.wording import listed

_CPU = "cpu"
_SHARED = ("runs ", "compiles ")
"""Verbs of reasons that begin with an engine's name, and may be of several."""


def absent_engines(named: Iterable[Target], lacks: Absence) -> Iterator[str]:
    """A sentence for each device that is not here, then one for each reason why engines cannot be used.

    Args:
        named: The engines' targets.
        lacks: Why one cannot be used; ``None`` for one that can.
    """
    told = [(target, why) for target in named if (why := lacks(target)) is not None]
    types = dict.fromkeys(target.device_type for target, _ in told if target.device_type != _CPU)
    yield from filter(None, map(lack, types))
    by_reason: dict[str, dict[str, None]] = {}
    for target, why in told:
        name, _, reason = why.partition(" ")
        is_shared = name == target.kind.name and reason.startswith(_SHARED)
        by_reason.setdefault(reason if is_shared else why, {}).update({name: None} if is_shared else {})
    for reason, names in by_reason.items():
        verb, _, what = reason.partition(" ")
        yield f"{listed(names)} {verb.removesuffix('s')} {what}" if len(names) > 1 else " ".join((*names, reason))
