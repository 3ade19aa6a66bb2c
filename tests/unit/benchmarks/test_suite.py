"""What the suite keeps of a network: who was best, what shipped, and why an engine is not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.competitors import Field
from benchmarks.paired_benchmark import Contender, Result
from benchmarks.suite import best_mix, entry, plan, speedup, told

REPORT: dict[str, Any] = {
    "chosen": "collage",
    "spin": "call",
    "reason": "the mix is 1.20 times as fast (1.10 to 1.30)",
    "latency_ms": {"median": 5.0, "min": 4.0, "p90": 6.0},
    "predicted_ms": 4.9,
    "speedup_vs_best_single": {"median": 1.2, "low": 1.1, "high": 1.3},
    "transitions": 1,
    "max_rel_error": 1e-6,
    "search": {"seconds": 42.0},
    "partitions": [
        {"target": "mnn -memory=high", "nodes": ["a", "b"], "predicted_ms": 3.0, "measured_ms": 3.1},
        {"target": "onnxruntime", "nodes": ["c"], "predicted_ms": 1.9, "measured_ms": 1.9},
    ],
    "singles": [
        {"target": "onnxruntime", "tuned": "onnxruntime -optimization-level=all", "spin": "free", "latency_ms": 6.0},
        {"target": "openvino", "tuned": "openvino", "spin": "call", "latency_ms": 7.5},
        {"target": "mnn", "failure": {"stage": "capability", "reason": "gru1: no GRU", "repro": None}},
    ],
    "mixes": [
        {
            "name": "collage",
            "targets": ["mnn", "onnxruntime"],
            "transitions": 1,
            "predicted_ms": 4.9,
            "latency_ms": 5.0,
        },
        {"name": "collage-2", "targets": ["openvino"], "transitions": 0, "predicted_ms": 4.0, "latency_ms": 5.5},
    ],
}


def contender(name: str, kind: str | None = None) -> Contender:
    return Contender(name=name, kind=kind or name, model=Path("model"))


FIELD = Field(
    contenders={
        c.name: c
        for c in (
            contender("onnxruntime-default"),
            contender("onnxruntime-all", "onnxruntime"),
            contender("onnxruntime-extended", "onnxruntime"),
            contender("openvino"),
            contender("ncnn -winograd=false", "ncnn"),
        )
    },
    looks_ms={"onnxruntime-default": 8.0, "onnxruntime-all": 6.0, "onnxruntime-extended": 9.0, "openvino": 6.5},
    wrong={"ncnn -winograd=false": 0.25},
)
RESULT = Result(
    rounds_ms={
        "intarsia": (5.0,) * 30,
        "onnxruntime-default": (8.0,) * 30,
        "onnxruntime-all": (6.0,) * 10 + (6.5,) * 20,
        "openvino": (7.5,) * 10,
        "control": (5.05,) * 30,
    },
    set_sizes=(10, 10, 10),
)


def test_an_entry_names_the_best_single_of_the_race_and_each_engines_best() -> None:
    found = entry(REPORT, FIELD, RESULT)
    assert found["best_single"] == "onnxruntime-all"
    assert found["speedup_over_best_single"]["sets"] == [1.2, 1.3, 1.3]
    assert found["speedup_over_best_single"]["median"] == 1.3
    assert found["speedup_over_onnxruntime_default"]["median"] == 1.6
    assert found["baselines"] == {
        "onnxruntime": {"setting": "onnxruntime-all", "ms": 6.5, "raced": True},
        "openvino": {"setting": "openvino", "ms": 7.5, "raced": True},
        "mnn": {"failure": "capability: gru1: no GRU"},
        "ncnn": {"failure": "answers wrongly, by 2.5e-01"},
    }
    assert (found["void"], found["rounds"], found["set_sizes"]) == (False, 30, [10, 10, 10])
    assert "times as fast as onnxruntime-all, ships mnn + onnxruntime" in told(found | {"seconds": {"race": 60.0}})


def test_an_engine_that_was_too_slow_to_race_keeps_its_first_look() -> None:
    field = Field(contenders=FIELD.contenders, looks_ms={**FIELD.looks_ms, "ncnn -winograd=false": 30.0}, wrong={})
    assert entry(REPORT, field, RESULT)["baselines"]["ncnn"] == {
        "setting": "ncnn -winograd=false",
        "ms": 30.0,
        "raced": False,
    }


def test_no_speedup_over_who_did_not_run() -> None:
    assert speedup(RESULT, "mnn") is None


@pytest.mark.parametrize(
    ("targets", "true_mix"),
    [
        (["mnn -memory=high", "onnxruntime"], True),
        (["mnn -memory=high", "mnn"], False),
        (["openvino"], False),
    ],
)
def test_a_mix_has_two_kinds_of_engine(targets: list[str], true_mix: bool) -> None:
    found = plan({**REPORT, "partitions": [{"target": target} for target in targets]})
    assert found["true_mix"] is true_mix
    assert (found["predicted_ms"], found["measured_ms"], found["planning_s"]) == (4.9, 5.0, 42.0)


def test_the_best_mix_is_compared_with_each_single() -> None:
    found = best_mix(REPORT)
    assert found is not None
    assert (found["engines"], found["latency_ms"]) == (["mnn", "onnxruntime"], 5.0)
    assert found["speedup_over"] == {"onnxruntime": 1.2, "openvino": 1.5}
    assert best_mix({**REPORT, "mixes": []}) is None
