"""What the figure of one network's plan shows of its report."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.placement import RESULTS, engines, placed, plans

FOUND: dict[str, Any] = {
    "segments": [
        {"nodes": 2, "ms": {"mnn": 3.0, "openvino": 5.0, "ncnn": None}},
        {"nodes": 1, "ms": {"mnn": None, "openvino": 1.0, "ncnn": None}},
    ],
    "partitions": [{"target": "mnn", "nodes": ["a", "b"]}, {"target": "openvino -x=1", "nodes": ["c"]}],
    "singles": [{"target": "openvino", "latency_ms": 6.5}, {"target": "ncnn", "failure": {"stage": "run"}}],
    "mixes": [
        {"targets": ["mnn", "openvino -x=1"], "latency_ms": 4.5},
        {"targets": ["openvino", "mnn"], "latency_ms": None},
    ],
}


def test_engines_that_know_every_segment_come_first() -> None:
    assert engines(FOUND) == ["openvino", "mnn"]


def test_a_part_is_as_many_segments_as_hold_its_nodes() -> None:
    assert placed(FOUND) == [(0, 1, "mnn"), (1, 2, "openvino")]


def test_only_what_was_timed_is_shown() -> None:
    assert plans(FOUND) == [("mnn → openvino", 4.5), ("openvino", 6.5)]


def test_what_is_on_file_can_be_shown() -> None:
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert placed(found)[-1][1] == len(found["segments"])
    assert len(plans(found)) >= len(engines(found)) > 0
