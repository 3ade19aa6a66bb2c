"""One way to answer from the store, or to compute what it does not hold and record that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from intarsia.cost.records.outcomes import Kind
from intarsia.cost.records.record import Key
from intarsia.cost.records.store import Store
from intarsia.errors import IntarsiaError

T = TypeVar("T")
_CONCLUSIONS: frozenset[Kind] = frozenset({"prefilter", "no time", "search", "paired_benchmark"})
"""Kinds that are not counted: they follow from measurements that are, or are counted where they are repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Generic[T]):
    """One thing that the store may hold, and how it is read and written.

    Attributes:
        kind: What it is of.
        key: All that it depends on.
        read: Makes the value of a stored outcome; raises `ValueError` or `IntarsiaError` where it does not fit what it
            is asked for, and then the record is removed.
        write: Makes the outcome that is stored of a value.
    """

    kind: Kind
    key: Key
    read: Callable[[Mapping[str, Any]], T]
    write: Callable[[T], Mapping[str, Any]]


class Asker(Protocol):
    """Who asks: a measurer, which counts what was measured and what the store knew."""

    store: Store
    measured: int
    cached: int

    @property
    def provenance(self) -> Mapping[str, Any]:
        """What a record says of where it came from."""

    def machine(self) -> AbstractContextManager[None]:
        """Hold the machine while something is timed."""


def recalled(asker: Asker, entry: Entry[T]) -> T | None:
    """The value in the store; ``None`` if there is none that fits."""
    stored = asker.store.get(entry.key, entry.kind)
    if stored is None:
        return None
    try:
        value = entry.read(stored)
    except (IntarsiaError, ValueError) as error:
        asker.store.discard(entry.key, str(error))
        return None
    asker.cached += _counts(entry)
    return value


def computed(
    asker: Asker,
    entry: Entry[T],
    compute: Callable[[], T | None],
    *,
    is_kept: Callable[[T], bool] = lambda _: True,
    alone: bool = False,
) -> T | None:
    """Compute a value that the store does not hold, and record it.

    Args:
        asker: Whose store takes it.
        entry: What is computed.
        compute: Makes it; ``None`` is neither recorded nor counted, and neither is anything where it raises.
        is_kept: Whether a value is recorded: not where the next try may end otherwise.
        alone: Whether it has the machine to itself; another process may have recorded it while this one waited.
    """
    with asker.machine() if alone else nullcontext():
        value = recalled(asker, entry) if alone else None
        if value is not None:
            return value
        value = compute()
        if value is None:
            return None
        asker.measured += _counts(entry)
        if is_kept(value):
            asker.store.put(entry.kind, entry.key, entry.write(value), asker.provenance)
        return value


def _counts(entry: Entry[Any]) -> int:
    return int(entry.kind not in _CONCLUSIONS)
