"""Every figure in the README and on the page of benchmarks comes from a committed result."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks.road import RESULTS as ROAD
from benchmarks.suite import RESULTS as SUITE
from benchmarks.table import DEMO, KNOWN, networks, pages, render, why
from tests.unit.benchmarks.made_up import entry, suite


def committed() -> tuple[dict[str, Any], dict[str, Any], str]:
    suite, road = (json.loads(file.read_text(encoding="utf-8")) for file in (SUITE, ROAD))
    return suite, road, DEMO.read_text(encoding="utf-8")


def test_the_pages_hold_the_committed_figures() -> None:
    for page, names in pages(committed()[0]).items():
        text = page.read_text(encoding="utf-8")
        assert "<!-- networks -->" in text
        assert render(text, *committed(), names) == text


def test_the_known_networks_were_all_measured() -> None:
    measured = committed()[0]["networks"]
    assert [name for name in KNOWN if "failed" in measured.get(name, ("failed",))] == []
    assert len(KNOWN) >= 12


def test_a_part_that_does_not_end_is_refused() -> None:
    with pytest.raises(ValueError, match="does not end"):
        render("# Intarsia\n<!-- networks -->\n", *committed(), KNOWN)


def test_each_network_that_ran_has_a_row() -> None:
    mixed = entry(1.25, 1.6, engines=("mnn", "onnxruntime", "mnn"))
    mixed["footprint"] = {
        "intarsia": {"cold_ms": 80.4, "peak_mb": 300.0},
        "openvino": {"cold_ms": 120.0, "peak_mb": 250.0},
    }
    results = suite(mixed=mixed, noisy=entry(void=True), broken={"failed": "no engine"})
    _, _, first, second = networks(results, ("mixed", "broken", "absent", "noisy")).splitlines()
    assert first == (
        "| mixed | 16 | 12 | 12.5 | - | - | **10** | 1.60 | 1.25 (1.24 to 1.26) | 2 | 300 (250) | 80 (120) | 1e-06 "
        "| mix wins: mnn → onnxruntime |"
    )
    assert "(void)" in second
    assert second.endswith("| 0 | - | - | 1e-06 | no mix wins: openvino alone |")


def test_what_is_our_own_is_no_mix() -> None:
    plan = entry(engines=("onnxruntime", "winograd"))["plan"] | {"true_mix": False}
    assert why(plan) == "our Winograd kernels in ONNX Runtime"
