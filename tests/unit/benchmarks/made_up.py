"""Entries of a suite that nobody measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def gain(median: float, half_width: float = 0.005, sets: Sequence[float] | None = None) -> dict[str, Any]:
    return {
        "median": median,
        "low": median * (1 - half_width),
        "high": median * (1 + half_width),
        "sets": [median] * 3 if sets is None else list(sets),
    }


def entry(
    over_single: dict[str, Any] | float = 1.0,
    over_default: float = 1.4,
    *,
    engines: Sequence[str] = ("openvino",),
    predicted_ms: float = 10.0,
    void: bool = False,
) -> dict[str, Any]:
    single = over_single if isinstance(over_single, dict) else gain(over_single)
    return {
        "void": void,
        "control": 1.1 if void else 1.0,
        "median_ms": {
            "intarsia": 10.0,
            "openvino": 10.0 * single["median"],
            "onnxruntime-default": 10.0 * over_default,
            "control": 10.0,
        },
        "best_single": "openvino",
        "speedup_over_best_single": single,
        "speedup_over_onnxruntime_default": gain(over_default),
        "baselines": {
            "onnxruntime": {"setting": "onnxruntime-all", "ms": 12.0, "raced": False},
            "openvino": {"setting": "openvino", "ms": 10.0 * single["median"], "raced": True},
            "mnn": {"failure": "capability: gru1: MNN's GRU is missing"},
            "ncnn": {"failure": "answers wrongly, by 2.0e-01"},
        },
        "plan": {
            "engines": list(engines),
            "transitions": len(engines) - 1,
            "true_mix": len(set(engines)) > 1,
            "predicted_ms": predicted_ms,
            "measured_ms": 10.0,
            "planning_s": 55.0,
        },
        "compile": {"max_rel_error": 1e-6},
    }


def suite(**networks: dict[str, Any]) -> dict[str, Any]:
    return {"machine": {}, "engines": {}, "networks": networks}
