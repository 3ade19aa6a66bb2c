"""One way to answer from the store, or to compute what it does not hold and record that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from typing import Any, Generic, Protocol, TypeVar

from intarsia.cost.records.outcomes import Kind, value_of
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
        key: All that it depends on.
        read: Makes the value of a stored outcome; raises `ValueError` or `IntarsiaError` where it does not fit what it
            is asked for, and then the record is removed. As the kind says, if left out.
        write: Makes the outcome that is stored of a value.
    """

    kind: Kind
    key: Key
    read: Callable[[Mapping[str, Any]], T] | None = None
    write: Callable[[T], Mapping[str, Any]] = asdict  # type: ignore[assignment] # of a dataclass


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
        value: T = value_of(entry.kind, stored) if entry.read is None else entry.read(stored)
    except (IntarsiaError, ValueError) as error:
        asker.store.discard(entry.key, str(error))
        return None
    asker.cached += entry.kind not in _CONCLUSIONS
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
        asker.measured += entry.kind not in _CONCLUSIONS
        if is_kept(value):
            asker.store.put(entry.kind, entry.key, entry.write(value), asker.provenance)
        return value
