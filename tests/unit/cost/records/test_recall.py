"""What the store holds is not computed; what it does not hold is computed once and kept, if it is worth that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from intarsia.cost.records.recall import Entry, computed, recalled
from intarsia.cost.records.record import Key
from intarsia.cost.records.store import Store


class Asker:
    """Counts, and tells whether the machine was held."""

    def __init__(self, folder: Path) -> None:
        self.store = Store(folder / "records.sqlite")
        self.provenance: Mapping[str, Any] = {"model": None}
        self.measured = self.cached = self.held = 0

    @contextmanager
    def machine(self) -> Iterator[None]:
        self.held += 1
        yield


@pytest.fixture
def asker(tmp_path: Path) -> Asker:
    return Asker(tmp_path)


def _read(stored: Mapping[str, Any]) -> float:
    (ms,) = stored["ms"]
    return float(ms)


ENTRY: Entry[float] = Entry(kind="nodes", key=Key(facts={"n": 1}), read=_read, write=lambda ms: {"ms": [ms]})


def test_a_value_is_computed_once_and_then_recalled(asker: Asker) -> None:
    assert recalled(asker, ENTRY) is None
    assert computed(asker, ENTRY, lambda: 2.0) == 2.0
    assert recalled(asker, ENTRY) == 2.0
    assert (asker.measured, asker.cached, asker.held) == (1, 1, 0)


def test_who_waited_for_the_machine_takes_what_was_recorded_meanwhile(asker: Asker) -> None:
    computed(asker, ENTRY, lambda: 2.0)
    assert computed(asker, ENTRY, lambda: 3.0, alone=True) == 2.0
    assert (asker.measured, asker.cached, asker.held) == (1, 1, 1)


def test_what_may_end_otherwise_is_not_kept_and_nothing_is_not_counted(asker: Asker) -> None:
    assert computed(asker, ENTRY, lambda: 2.0, is_kept=lambda _: False) == 2.0
    assert computed(asker, ENTRY, lambda: None) is None
    assert recalled(asker, ENTRY) is None
    assert asker.measured == 1


def test_a_record_that_does_not_fit_makes_way(asker: Asker) -> None:
    asker.store.put("nodes", ENTRY.key, {"ms": [1.0, 2.0]}, {})
    assert recalled(asker, ENTRY) is None
    assert asker.store.count() == 0
    assert computed(asker, ENTRY, lambda: 5.0) == recalled(asker, ENTRY) == 5.0
