"""What the simulation of fleets is made from, and how its figures are shown."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.record_stores import projected as projected_store
from benchmarks.record_stores import sizes, table
from benchmarks.scale import FLEETS, LOAD, Measured, fleet_table, here_table, projected

HERE = Measured(demands_s=np.full(100, 0.01), door_s=0.0005, bytes=32_000)


def test_fleets_of_any_size_are_as_busy() -> None:
    rows = projected(HERE, 2_000)
    assert [row["replicas"] for row in rows] == list(FLEETS)
    assert [row["requests_s"] for row in rows] == [round(LOAD * number / 0.01, 1) for number in FLEETS]


def test_what_is_short_first_changes_with_the_size() -> None:
    limits = [row["first_limit"] for row in projected(HERE, 500)]
    assert limits[0] == "the replicas"
    assert limits[-1] == "the network of the machine with the doors"
    assert list(dict.fromkeys(limits)) == ["the replicas", "the door", "the network of the machine with the doors"]


def test_the_less_busy_of_two_has_the_shorter_tail() -> None:
    for row in projected(HERE, 20_000)[2:]:
        assert row["two choices"]["p99_ms"] < row["random"]["p99_ms"]


def test_tables_show_each_row() -> None:
    found = {"p50_ms": 10.0, "p99_ms": 20.0}
    row = {"replicas": 2, "policy": "random", "measured": found, "predicted": {"p50_ms": 11.0, "p99_ms": 18.0}}
    assert list(here_table({"here": [row]}))[2:] == ["| 2 | one that is drawn | 10.0 | 11.0 | 20.0 | 18.0 | 0.90 |"]
    assert len(list(fleet_table({"fleets": projected(HERE, 100)}))) == 2 + len(FLEETS)


def test_a_larger_store_goes_on_as_the_last_one_grew() -> None:
    def row(records: int, ms: float) -> dict[str, object]:
        figures = {"median": ms, "p99": 2 * ms}
        return {"records": records, "bytes": 100 * records, "hit_ms": figures, "miss_ms": figures}

    rows = [row(1_000, 0.1), row(10_000, 0.2), row(100_000, 0.3)]
    found = projected_store(rows)
    assert (found["records"], found["bytes"]) == (1_000_000, 100_000_000)
    assert found["hit_ms"] == {"median": pytest.approx(0.4), "p99": pytest.approx(0.8)}
    text = list(table({"stores": {"sqlite": rows}}))
    assert text[2].startswith("| SQLite | 1,000 | 0 | 0.10 (0.20) | 0.10 (0.20) |")
    assert text[-1].startswith("| SQLite | 1,000,000, predicted | 100 | 0.40 (0.80) |")


def test_a_store_is_looked_at_at_each_power_of_ten() -> None:
    assert sizes(1_000_000) == (1_000, 10_000, 100_000, 1_000_000)
    assert sizes(5_000) == (1_000, 5_000)
    assert sizes(500) == (500,)
