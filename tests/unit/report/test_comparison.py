"""One sentence of advice, made from a report by hand."""

from __future__ import annotations

from typing import Any

import pytest

from intarsia.report.comparison import Comparison
from intarsia.search.decision.conclusion import Conclusion

SINGLES: list[dict[str, Any]] = [
    {"target": "onnxruntime", "tuned": "onnxruntime -execution-mode=parallel", "spin": "free", "latency_ms": 10.0},
    {"target": "mnn", "failure": {"stage": "crash", "reason": "SIGSEGV", "repro": None}},
]


MIX = [{"target": "openvino"}, {"target": "ncnn"}, {"target": "openvino"}]
ALONE = [{"target": "onnxruntime -execution-mode=parallel"}]


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
        "partitions": MIX if chosen == "collage" else ALONE,
        "spin": "free",
        "search": {},
        "threads": 2,
        "machine": {},
    }


@pytest.mark.parametrize("best", ["onnxruntime", None])
def test_a_mix_names_each_engine_once_in_running_order(best: str | None) -> None:
    advice = Comparison(report("collage", best)).recommendation
    assert advice == "Ship the mix of openvino + ncnn: because of the figures."


def test_a_plan_in_less_than_fp32_is_named_as_such() -> None:
    reduced = report("openvino in int8-static", "onnxruntime") | {
        "partitions": [{"target": "openvino", "precision": {"int8-static": ["conv"]}}],
    }
    assert Comparison(reduced).recommendation == "Ship openvino in int8-static with spin free: because of the figures."


def test_a_single_engine_is_shipped_with_its_options() -> None:
    advice = Comparison(report("onnxruntime", "onnxruntime")).recommendation
    assert advice == "Ship onnxruntime -execution-mode=parallel with spin free: because of the figures."


def test_what_it_needs_is_in_the_advice() -> None:
    needs = {
        "memory": None,
        "alternative": None,
        "alternative_memory": None,
        "artifact": 172_000_000,
        "model": 87_000_000,
    }
    found = Comparison(report("onnxruntime", "onnxruntime") | {"needs": needs})
    assert found.recommendation.endswith("figures; its artifact takes 172 MB for a model of 87 MB.")
    assert found.json()["needs"] == needs


def test_its_json_is_part_of_the_report_with_the_advice() -> None:
    whole = report("onnxruntime", "onnxruntime")
    shown = Comparison(whole).json()
    assert shown.pop("recommendation") == Comparison(whole).recommendation
    assert shown == {name: whole[name] for name in shown}
    assert {"singles", "mixes", "best_single", "search", "machine"} <= shown.keys()
    assert "artifact" not in shown


def alternatives(low: float, high: float, peak_mb: int) -> dict[str, Any]:
    """ONNX Runtime at 10 ms and 100 MB, and OpenVINO with a speed in this interval."""
    best = SINGLES[0] | {"memory": {"peak": 100 * 10**6}, "speedup_vs_best_single": None}
    gain = {"median": (low + high) / 2, "low": low, "high": high}
    alternative = {
        "target": "openvino",
        "tuned": "openvino",
        "latency_ms": 20.0 / (low + high),
        "speedup_vs_best_single": gain,
        "shown_vs_best_single": "slower" if high < 0.97 else "no difference shown",
    }
    return report("onnxruntime", "onnxruntime") | {
        "singles": [best, alternative | {"memory": {"peak": peak_mb * 10**6}}, SINGLES[1]]
    }


@pytest.mark.parametrize(
    ("low", "high", "peak_mb", "said"),
    [
        (0.79, 0.81, 90, "the next engine, openvino, takes 1.25 times as long."),
        (0.98, 1.01, 90, "no difference shown to openvino (0.98 to 1.01 times as fast)."),
        (0.97, 0.99, 90, "no difference shown to openvino (0.97 to 0.99 times as fast, but not beyond the noise)."),
        (
            0.98,
            1.01,
            40,
            "no difference shown to openvino (0.98 to 1.01 times as fast), which takes 40 MB where this takes 100 MB.",
        ),
    ],
)
def test_the_next_engine_is_named_with_what_speaks_for_it(low: float, high: float, peak_mb: int, said: str) -> None:
    assert Comparison(alternatives(low, high, peak_mb)).recommendation.endswith(f"figures; {said}")


def test_a_mix_stands_beside_the_best_engine_alone() -> None:
    figures = {"latency_ms": {"median": 8.0}, "figures": {"memory": {"peak": 121 * 10**6}}}
    best = [SINGLES[0] | {"memory": {"peak": 100 * 10**6}}]
    advice = Comparison(report("collage", "onnxruntime") | figures | {"singles": best}).recommendation
    assert advice.endswith("it takes 8.00 ms and 121 MB, the best engine alone, onnxruntime, 10.0 ms and 100 MB.")


@pytest.mark.parametrize("conclusion", Conclusion)
def test_no_mix_wins_is_only_said_where_mixes_raced_and_none_was_faster(conclusion: Conclusion) -> None:
    tried = report("onnxruntime", "onnxruntime") | {
        "mixes": [{"name": "collage", "targets": ["a", "b"]}],
        "conclusion": conclusion.value,
    }
    plan = "onnxruntime -execution-mode=parallel with spin free"
    is_none = conclusion in (Conclusion.LOST, Conclusion.NO_DIFFERENCE)
    lead = f"No mix wins: ship {plan}; because" if is_none else f"Ship {plan}: because"
    assert Comparison(tried).recommendation.startswith(lead)


def test_a_noisy_machine_is_said() -> None:
    noisy = {"control_void": True, "control": {"median": 0.99, "low": 0.572, "high": 1.295}}
    given = report("collage", None) | {"search": noisy}
    itself = "(the same plan against itself: 0.57 to 1.29)"
    assert Comparison(given).recommendation.endswith(f"ask again on a quieter machine {itself}.")
    given["reason"] = f"too noisy to tell {itself}"
    assert Comparison(given).recommendation.endswith(f"too noisy to tell {itself}; ask again on a quieter machine.")


def test_in_a_void_race_no_engine_is_held_against_another() -> None:
    found = alternatives(0.79, 0.81, 90)
    found["singles"][1]["shown_vs_best_single"] = "void"
    assert Comparison(found).recommendation.endswith("because of the figures.")


def test_what_was_timed_apart_is_marked_and_stands_last() -> None:
    found = alternatives(0.79, 0.81, 90)
    apart = {"target": "ncnn", "tuned": "ncnn", "latency_ms": 9.0, "benchmarked": False}
    shown = repr(Comparison(found | {"singles": [apart, *found["singles"]]})).splitlines()
    assert [line.split()[0] for line in shown[1:5]] == ["10.0", "12.5", "~9.00", "-"]


def test_printed_it_is_a_table_and_the_advice() -> None:
    shown = repr(Comparison(alternatives(0.79, 0.81, 90)))
    assert shown.splitlines()[0] == "Comparison of m.onnx on this machine, threads 2:"
    assert [line.split()[0] for line in shown.splitlines()[1:-1]] == ["10.0", "12.5", "-"]
    assert shown.splitlines()[-1].startswith("Ship onnxruntime")
