"""One sentence of advice, made from a report by hand."""

from __future__ import annotations

from typing import Any

import pytest

from intarsia.report.comparison import Comparison

SINGLES = [
    {"target": "onnxruntime", "tuned": "onnxruntime -execution-mode=parallel", "spin": "free", "latency_ms": 10.0},
    {"target": "mnn", "failure": {"stage": "crash", "reason": "SIGSEGV", "repro": None}},
]


def report(chosen: str, best: str | None) -> dict[str, Any]:
    return {
        "artifact": "a.itz",
        "model": "m.onnx",
        "chosen": chosen,
        "reason": "because of the figures",
        "singles": SINGLES,
        "mixes": [],
        "best_single": best,
        "speedup_vs_best_single": None,
        "partitions": [{"target": "openvino"}, {"target": "ncnn"}, {"target": "openvino"}],
        "search": {},
        "threads": 2,
        "machine": {},
    }


@pytest.mark.parametrize("best", ["onnxruntime", None])
def test_a_mix_names_each_engine_once_in_running_order(best: str | None) -> None:
    advice = Comparison(report("collage", best)).recommendation
    assert advice == "Ship the mix of openvino + ncnn: because of the figures."


def test_a_single_engine_is_shipped_with_its_options() -> None:
    advice = Comparison(report("onnxruntime", "onnxruntime")).recommendation
    assert advice == "Ship onnxruntime -execution-mode=parallel with spin free: because of the figures."


def test_its_json_is_part_of_the_report_with_the_advice() -> None:
    whole = report("onnxruntime", "onnxruntime")
    shown = Comparison(whole).json()
    assert shown.pop("recommendation") == Comparison(whole).recommendation
    assert shown == {name: whole[name] for name in shown}
    assert {"singles", "mixes", "best_single", "search", "machine"} <= shown.keys()
    assert "artifact" not in shown
