"""What the page of serving shows of the figures."""

from __future__ import annotations

import json
import re
from typing import Any

from benchmarks import serving_tables as tables

INTERVAL = {"median": 4.0, "low": 3.5, "high": 4.5}


def test_the_overhead_stands_beside_the_call_in_the_process() -> None:
    ms = {
        "http": {"p50": 1.25, "p99": 2.0},
        "grpc": {"p50": 1.4, "p99": 3.0},
        "HTTP, bytes": {"p50": 1.15, "p99": 1.75},
        "in the process": {"p50": 1.0, "p99": 1.5},
    }
    rates = {"in the process, 1": 900.0, "in the process, 2": 1000.0, "HTTP, JSON": 400.0, "HTTP, bytes": 950.0}
    found = {
        "one_client": {"ms": ms, "p50_overhead_ms": {"http": 0.25}},
        "many_clients": {"per_second": rates, "of_best_in_process": {"HTTP, JSON": 0.4, "HTTP, bytes": 0.95}},
    }
    assert list(tables.overhead(found))[1:] == [
        ("calls in the process", "1.00", "1.50", "1000", "1.00"),
        ("HTTP, JSON", "-", "-", "400", "0.40"),
        ("HTTP, bytes", "1.15", "1.75", "950", "0.95"),
        ("HTTP, bytes; asked in Python", "1.25", "2.00", "-", "-"),
        ("gRPC; asked in Python", "1.40", "3.00", "-", "-"),
    ]


def test_two_servers_stand_side_by_side() -> None:
    rates = {"intarsia": INTERVAL | {"median": 400.0}, "kserve": INTERVAL | {"median": 100.0}}
    each = {"per_second": rates, "p99_ms": {"intarsia": 5.0, "kserve": 20.0}, "times_as_many": INTERVAL, "void": True}
    assert list(tables.beside({"doors": {"gRPC": {"16": each}}}))[1:] == [
        ("gRPC", "16", "400", "100", "4.00 (3.50 to 4.50) (void)", "5.0 ms", "20.0 ms")
    ]


def test_too_much_is_told_in_sentences() -> None:
    found: dict[str, Any] = {
        "overload": {
            "seconds": 600.0,
            "ends": {"HTTP, bytes": {"answered": 30, "refused": 5}, "gRPC": {"answered": 18, "refused": 7}},
            "answered_ms": {"p99": 250.0},
            "limit_ms": 1000.0,
            "growth": 0.012,
        },
        "sigterm": {"admitted_and_answered": 9, "answers_that_came": 9},
        "reloads": {"times": 100, "ends": {"HTTP, bytes": {"answered": 40}, "gRPC": {"answered": 41}}},
    }
    told = tables.overload(found).replace("\n", " ")
    assert told.startswith("10 minutes of 125 % of what is answered: 48 requests were answered,")
    assert "and 12 refused," in told
    assert "Memory changed by +1.2 %" in told
    assert told.endswith("100 changes of the file under load lost none of 81 requests.")


def test_what_the_other_server_does_otherwise_has_words() -> None:
    recorded = json.loads(tables.PROTOCOL.read_text(encoding="utf-8"))
    failed = {name for name, each in recorded["tests"].items() if each["failed"]}
    assert failed == set(tables.OTHERS_WAYS)
    rows = list(tables.protocol(recorded))
    assert len(rows) == len(failed) + 1
    assert all(re.fullmatch(r"\d+ of \d+", count) for _, count, _ in rows[1:])


def test_what_ships_for_requests_stands_beside_the_best_engine_alone() -> None:
    rates = {"intarsia": 200.0, "mnn": 100.0, "openvino": 160.0, "openvino-queue": 150.5}
    each = {
        "requests_per_second": rates,
        "times_as_many": {"openvino": INTERVAL, "mnn": INTERVAL},
        "ways": {"intarsia": {"chosen": "winograd", "instances": 2, "threads": 1}},
        "void": False,
    }
    assert list(tables.throughput({"networks": {"net": each}}))[1:] == [
        ("net: winograd", "2 x 1", "200.0", "160.0 (openvino)", "4.00 (3.50 to 4.50)", "150.5")
    ]


def test_a_division_stands_beside_the_best_machine_alone() -> None:
    def plan(name: str, ms: float, median: float) -> dict[str, Any]:
        return {"name": name, "ms": ms, "speed": INTERVAL | {"median": median}}

    def each(chosen: str, *plans: dict[str, Any], void: bool = False) -> dict[str, Any]:
        return {"chosen": chosen, "best_alone": "a", "plans": plans, "control": {"is_void": void, "median": 1.03}}

    found = {
        "fast": {"latency": each("a", plan("a", 8.0, 1.0))},
        "slow": {
            "latency": each("divided", plan("divided", 2.0, 4.0), plan("a", 8.0, 1.0)),
            "throughput": each("b", plan("b", 9.0, 1.0), plan("a", 8.0, 1.1), plan("divided", 4.0, 2.0), void=True),
        },
    }
    assert list(tables.deployments({"networks": {"net": found}}))[1:] == [
        ("net", "fast", "latency", "8.0", "-", "-", "a"),
        ("net", "slow", "latency", "8.0", "2.0", "4.00 (3.50 to 4.50)", "divided"),
        ("net", "slow", "throughput", "8.0", "4.0", "2.00; control 1.03", "b"),
    ]
