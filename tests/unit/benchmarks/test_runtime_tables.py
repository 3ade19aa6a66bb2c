"""What the pages show of the runtime `cpp` and of control flow."""

from __future__ import annotations

from typing import Any

from benchmarks.runtime_tables import control_flow, cpp_runtime, starts


def test_a_start_is_held_to_the_best_engine_whichever_the_plan_has() -> None:
    ms = {"cpp": 100.0, "cpp again": 101.0, "onnxruntime alone": 125.0, "openvino alone": 200.0}
    start = {"ms": ms, "cpp / openvino alone": 0.5, "cpp / onnxruntime alone": 0.8, "control": 1.01}
    row = {"latency": {"ms": {}, "cpp / python": 0.984, "control": 0.996}, "cold start": start}
    assert list(cpp_runtime({"plans": {"resnet18 openvino": row}}))[1:] == [
        ("resnet18 openvino", "0.98", "1.00", "100", "0.80", "1.01")
    ]


def test_a_loop_is_told_in_a_sentence() -> None:
    loop: dict[str, Any] = {
        "median_ms": {"intarsia": 16.81, "openvino": 21.59},
        "best_single": "openvino",
        "speed_over_best_single": {"median": 1.285, "low": 1.238, "high": 1.313},
        "control": {"median": 1.002, "low": 0.97, "high": 1.02},
        "partitions": [{"target": "mnn"}, {"target": "control-flow"}, {"target": "mnn"}],
        "bodies": [{"partitions": [{"target": "winograd"}]}],
    }
    found = {"refining": loop}
    told = control_flow(found).replace("\n", " ")
    assert "takes 16.8 ms with winograd in the loop and mnn around it, and 21.6 ms on openvino" in told
    loop["bodies"] = [{"partitions": [{"target": "mnn"}]}]
    assert "takes 16.8 ms with mnn in the loop and around it, and" in control_flow(found).replace("\n", " ")
    assert "1.28 times as fast (1.24 to 1.31; control 1.00;" in told


def test_starts_are_told_from_the_least_to_the_most() -> None:
    python = {
        name: {"ratios": {"intarsia, onnxruntime": {"wall_ms": ratio}}} for name, ratio in (("a", 0.8), ("b", 1.1))
    }
    ms = {"cpp": 100.0, "onnxruntime alone": 125.0, "openvino alone": 110.0}
    start = {"ms": ms, "cpp / onnxruntime alone": 0.8, "cpp / openvino alone": 0.9, "control": 1.0}
    plans = {"a onnxruntime": {"cold start": start}, "a mix": {"cold start": start | {"cpp / openvino alone": 2.0}}}
    told = starts(python, {"plans": plans}).replace("\n", " ")
    assert (
        "take 0.80 to 1.10 of the time of the best engine's own start in Python, and 0.90 to 0.90 in C++ (a, b)" in told
    )
