"""What is written and told of a model follows from the rows of its report."""

from __future__ import annotations

from typing import Any

from benchmarks import tolerance

PASSED = {"target": "openvino", "max_rel_error": 0.01, "allowed_error": 0.03, "latency_ms": 1.0}
CAUGHT = {"max_rel_error": 0.2, "allowed_error": 0.03, "failure": {"stage": "verify", "reason": "it is wrong"}}
REFUSED = {"failure": {"stage": "capability", "reason": "takes no uint8"}}


def found(**faults: dict[str, Any]) -> dict[str, Any]:
    engines = {"openvino": tolerance.verdict(PASSED), "ncnn": tolerance.verdict(REFUSED)}
    return {"engines": engines, "faults": faults}


def test_a_row_is_right_wrong_or_was_not_compared() -> None:
    assert tolerance.verdict(PASSED) == {"error": 0.01, "allowed": 0.03, "right": True}
    assert tolerance.verdict(CAUGHT) == {"error": 0.2, "allowed": 0.03, "right": False}
    assert tolerance.verdict(REFUSED) == {"failed": "capability", "reason": "takes no uint8"}


def test_a_wrong_row_without_figures_is_still_wrong() -> None:
    bare = {"failure": {"stage": "verify", "reason": "a stage is wrong"}}
    assert tolerance.verdict(bare) == {"error": None, "allowed": None, "right": False}


def test_a_fault_that_shows_and_passes_is_told_as_missed() -> None:
    line = tolerance.told(
        found(
            none={"effect": 0.0, **tolerance.verdict(PASSED)},
            truncates={"effect": 0.2, **tolerance.verdict(CAUGHT)},
            narrow={"effect": 0.01, **tolerance.verdict(PASSED)},
            hidden={"effect": 0.0, **tolerance.verdict(PASSED)},
        )
    )
    assert line == "openvino 0.01 of 0.03 right; 1 of 2 faults caught, missed: narrow 0.01 of 0.03 right"
