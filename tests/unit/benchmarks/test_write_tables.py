"""Every figure in the README and on the page of benchmarks comes from a committed result."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.write_tables import (
    KNOWN,
    PAGES,
    SHORT,
    Figures,
    in_short,
    limits,
    networks,
    peaks,
    render,
    summary,
    why,
    wins,
)
from tests.unit.benchmarks.made_up import entry, gain, suite


def test_the_pages_hold_the_committed_figures() -> None:
    parts = Figures.read().parts
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    assert [render(text, parts) for text in texts] == texts
    assert all(any(f"<!-- {name} -->" in text for text in texts) for name in parts)


def test_the_known_networks_were_all_measured() -> None:
    measured = Figures.read().suite["networks"]
    assert [name for name in KNOWN if "failed" in measured.get(name, ("failed",))] == []
    assert len(KNOWN) >= 12


def test_a_part_that_does_not_end_is_refused() -> None:
    with pytest.raises(ValueError, match="does not end"):
        render("# Intarsia\n<!-- networks -->\n", {"networks": "| |"})


def test_each_network_that_ran_has_a_row() -> None:
    mixed = entry(1.25, 1.6, engines=("mnn", "onnxruntime", "mnn"))
    mixed["footprint"] = {
        "intarsia": {"cold_ms": 80.4, "peak_mb": 300.0},
        "openvino": {"cold_ms": 120.0, "peak_mb": 250.0},
    }
    results = suite(mixed=mixed, noisy=entry(void=True), broken={"failed": "no engine"})
    _, _, first, second = networks(results, ("mixed", "broken", "absent", "noisy")).splitlines()
    assert first == (
        "| mixed | 16 | ~12 | 12.5 | - | - | **10** | 1.60 | 1.25 (1.24 to 1.26) | 2 | 300 (250) | 80 (120) | 1e-06 "
        "| mix wins: mnn → onnxruntime |"
    )
    assert "(void)" in second
    assert second.endswith("| 0 | - | - | 1e-06 | no mix wins: openvino alone |")


def test_shares_of_the_peak_are_those_of_the_same_times() -> None:
    roofline = {
        "peaks": {"flops_per_ms": 2.6e8, "bytes_per_ms": 2.4e7},
        "networks": {"net": {"gflop": 8.21, "direct_ms": 5.0}},
    }
    *_, row = limits(suite(net=entry(1.25), other=entry()), roofline).splitlines()
    assert row == "| net | 8.21 | 5 | ~42% | 40% | - | - | 50% |"
    assert "at 260 GFLOP/s at most and moves 24.0 GB/s" in peaks(roofline)


def test_milliseconds_agree_with_the_times_beside_them() -> None:
    """Whatever an engine took in the rounds that it ran, it is held against the product in the same rounds."""
    found = entry(0.99, 1.05)
    found["median_ms"] |= {"openvino": 9.0, "onnxruntime-default": 8.0, "onnxruntime-all": 7.6}
    found["baselines"]["onnxruntime"] |= {"raced": True, "ms": 7.6}
    row = networks(suite(net=found), ("net",)).splitlines()[-1].split(" | ")
    assert row[1:4] == ["10.5", "~9.97", "9.9"]
    found["times_as_long"] = {"onnxruntime-all": 1.01}
    row = networks(suite(net=found), ("net",)).splitlines()[-1].split(" | ")
    assert row[1:4] == ["10.5", "10.1", "9.9"]


def test_the_short_table_has_five_columns_of_one_benchmark() -> None:
    """The baselines were measured while the machine was fast: only ratios of rounds that both ran in are compared."""
    found = entry(0.99, 1.05)
    found["median_ms"] |= {"openvino": 7.0, "onnxruntime-default": 8.0}
    header, _, row, void = in_short(suite(net=found, noisy=entry(void=True)), ("net", "absent", "noisy")).splitlines()
    assert header.split(" | ") == ["| network", *SHORT[1:-1], "gain |"]
    assert row == "| net | 10.5 | 9.9 (OpenVINO) | **10** | 0.99 (0.99 to 0.99) |"
    assert void.endswith("(void) |")


def test_the_gain_of_a_row_is_the_ratio_of_its_columns() -> None:
    for row in in_short(Figures.read().suite, KNOWN).splitlines()[2:]:
        _, _, best, product, shown = row.strip("| ").split(" | ")
        ratio = float(best.split()[0]) / float(product.strip("*"))
        assert ratio == pytest.approx(float(shown.split()[0]), abs=0.02), row


def test_the_summary_counts_what_is_surely_faster() -> None:
    found = suite(fast=entry(1.5), faster=entry(1.7), same=entry(gain(1.01, half_width=0.02)), slower=entry(0.98))
    assert summary(found, tuple(found["networks"])).replace("\n", " ") == (
        "On 2 of 4 known networks the result is 1.50 to 1.70 times as fast as the best engine alone, with that "
        "engine's best settings; on the other 2 it is about as fast (0.98 to 1.01 times)."
    )


def test_what_is_our_own_is_no_mix() -> None:
    plan = entry(engines=("onnxruntime", "winograd"))["plan"] | {"true_mix": False}
    assert why(plan, gain(1.2)) == "our kernels in ONNX Runtime"


def test_a_mix_without_a_gain_says_so() -> None:
    plan = entry(engines=("openvino", "onnxruntime"))["plan"] | {"true_mix": True}
    assert why(plan, gain(1.01, half_width=0.02)) == "mix ships, no gain here: openvino → onnxruntime"


def test_kernels_and_mixes_that_win_are_counted_apart() -> None:
    def shipped(gain: float, true_mix: bool, *engines: str) -> dict[str, Any]:
        one = entry(gain, engines=engines)
        return {**one, "plan": {**one["plan"], "true_mix": true_mix}}

    found = suite(
        ours=shipped(1.3, False, "winograd"),
        little=shipped(1.02, False, "winograd"),
        mixed=shipped(1.2, True, "winograd", "openvino"),
        alone=shipped(1.1, False, "openvino"),
    )
    assert wins(found).replace("\n", " ") == (
        "Of 4 networks, our kernels alone are at least 1.05 times as fast as the best engine without them on 1 (ours), "
        "and a mix of engines on 1 (mixed)."
    )
