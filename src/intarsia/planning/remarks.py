"""What is to be known of a described machine before anything is measured: options that change nothing.

Every remark of planning is a sentence of `Compilation.remarks`, which reports and the command line show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from intarsia.backends import registry
from intarsia.backends.contract import READ_FOR_ALL
from intarsia.target import Target
from intarsia.target.features.features import PROCESSOR_KINDS

_OF_PLANNING = frozenset({"host", "mtriple", "num-cores", "memory-size", "memory-bandwidth", "peak-flops"})
"""Options that the configuration takes over, or that planning compares with this machine, or estimates by."""
_OF_PROCESSOR = frozenset({"mcpu", "mattr"})
"""As `_OF_PLANNING`, of processors: what differs is remarked by `described_machine`."""


def unread_options(engines: Iterable[Target]) -> Iterator[str]:
    """For each target that is described, the options that change nothing, and the engines of which that holds.

    Args:
        engines: Those that take part. Of those that no backend drives nothing is said: they are reported as absent.
    """
    described: dict[Target, dict[str, list[str]]] = {}
    for engine in engines:
        if engine.kind.name not in registry.names():
            continue
        for target in filter(None, (engine, engine.base)):
            unread = described.setdefault(target, {})
            for option in target.options:
                if not is_read(engine, target.kind.name, option):
                    unread.setdefault(option, []).append(engine.kind.name)
    for target, unread in described.items():
        by_engines: dict[tuple[str, ...], list[str]] = {}
        for option, names in unread.items():
            by_engines.setdefault(tuple(dict.fromkeys(names)), []).append(option)
        for several, options in by_engines.items():
            yield f"{listed(options)} of {str(target)!r}: no effect on {listed(several)}"


def is_read(engine: Target, kind: str, option: str) -> bool:
    """Whether an option that its target or the base of that states has an effect on an engine."""
    if option in READ_FOR_ALL or option in _OF_PLANNING:
        return True
    if option in _OF_PROCESSOR and kind in PROCESSOR_KINDS:
        return True
    return option in registry.of(engine).reads.get(kind, ())


def listed(words: Iterable[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
