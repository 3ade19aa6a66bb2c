"""Gates are judged by what the results say, and by nothing that is void or missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.goals import (
    COLD_S,
    Gate,
    Results,
    as_markdown,
    as_text,
    gates,
    geometric_mean,
    near_blocks,
    read,
)
from tests.unit.benchmarks.made_up import entry, gain, suite

FACTS = {
    "networks": "networks with valid figures",
    "worst": "worst model",
    "single": "geometric mean against best single",
    "default": "geometric mean against ORT default",
    "mixes": "models where a true mix wins",
    "predicted": "predicted within",
    "cold": "planned, cold",
    "warm": "planned, warm",
    "scale": "10,000-node graph",
    "overhead": "one-partition plan",
    "manual": "resnet50 in 23 partitions",
    "thorough": "resnet50's plan against",
    "reduced_precision": "slowest with an allowed error of 0.05",
    "fine": "slowest with an allowed error of 0.01",
}


def judged(name: str, **results: Any) -> Gate:
    (found,) = (line for line in gates(Results(**results)) if line.what.startswith(FACTS[name]))
    return found


def of(**networks: dict[str, Any]) -> dict[str, Any]:
    return {"suite": suite(**networks)}


def test_nothing_is_met_where_nothing_was_measured() -> None:
    lines = gates(Results())
    assert len(lines) == len(FACTS)
    assert all(line.is_met is None and not line.figure for line in lines)


def test_each_gate_is_met_by_good_results() -> None:
    mixes = {f"mix{number}": entry(gain(1.2), 1.6, engines=("mnn", "onnxruntime")) for number in range(5)}
    results = Results(
        suite=suite(**mixes, **{f"plain{number}": entry(1.06, 1.4) for number in range(19)}),
        fixed_plans={"overhead": {"time_over_session": gain(1.001)}, "manual": {"time_over_onnxruntime": gain(1.02)}},
        planning={
            **planned(cold_s=11.0, warm_s=2.0),
            "scale": {"nodes": 10_000, "seconds": 1.0},
            "thorough": {"plan_over_thorough": gain(1.01), "plan_candidates": 50, "thorough_candidates": 600},
        },
        accuracy={"networks": {name: reduced() for name in "abcd"}},
    )
    assert [line.what for line in gates(results) if not line.is_met] == []


def planned(*, cold_s: float, warm_s: float) -> dict[str, Any]:
    return {name: {"cold_s": cold_s, "warm_s": warm_s} for name in COLD_S}


def reduced(ratio: float = 1.8, worst: float = 0.009, *, void: bool = False) -> dict[str, Any]:
    found = {"speedup_over_onnxruntime_default": gain(ratio), "worst_error": worst, "void": void}
    return {"allowed": {"0.05": found, "0.01": found}, "void": void}


@pytest.mark.parametrize(
    ("odd", "told"),
    [
        (reduced(1.4), "1.40 (d, of 4)"),
        (reduced(worst=0.06), "d has an error of 0.06"),
        (reduced(void=True), "d is void"),
        ({"failed": "no"}, "of 3"),
    ],
)
def test_every_network_has_to_be_fast_and_to_keep_to_its_error(odd: dict[str, Any], told: str) -> None:
    networks = {name: reduced() for name in "abc"} | {"d": odd}
    for gate in ("reduced_precision", "fine"):
        found = judged(gate, accuracy={"networks": networks})
        assert not found.is_met
        assert told in found.figure


def test_too_few_networks_void_and_failed_ones_are_named() -> None:
    found = judged("networks", **of(a=entry(), b=entry(void=True), c={"failed": "no engine"}))
    assert (found.is_met, found.figure) == (False, "1 of 3 (void or failed: b, c)")


@pytest.mark.parametrize(
    ("gained", "is_met"),
    [
        (gain(0.995, 0.009), True),
        (gain(0.985, 0.001), False),
        (gain(0.995, 0.02), False),  # it might as well be 0.975
        (gain(1.1, 0.05), True),  # wide, but beyond doubt
    ],
)
def test_the_worst_model_decides(gained: dict[str, Any], is_met: bool) -> None:
    found = judged("worst", **of(good=entry(1.5), bad=entry(gained)))
    assert found.is_met is is_met
    assert "(bad)" in found.figure


def test_a_void_model_is_not_the_worst() -> None:
    assert judged("worst", **of(good=entry(1.0), bad=entry(0.5, void=True))).is_met


@pytest.mark.parametrize(("name", "limit"), [("single", 1.08), ("default", 1.35)])
def test_a_mean_is_geometric(name: str, limit: float) -> None:
    # 2 and 0.5 make up for each other; their arithmetic mean of 1.25 would hide that.
    pairs = {"single": (entry(2.0), entry(0.5)), "default": (entry(1.0, 2.0), entry(1.0, 0.5))}
    a, b = pairs[name]
    found = judged(name, **of(a=a, b=b))
    assert (found.is_met, found.figure) == (False, "1.000 over 2")
    near = entry(limit, limit)
    assert judged(name, **of(a=near)).is_met


@pytest.mark.parametrize(
    ("case", "counts"),
    [
        (entry(gain(1.06, sets=(1.05, 1.06, 1.07)), engines=("mnn", "openvino")), True),
        (entry(gain(1.06, sets=(1.04, 1.06, 1.07)), engines=("mnn", "openvino")), False),  # one process is not enough
        (entry(gain(1.06, sets=(1.06, 1.07)), engines=("mnn", "openvino")), False),
        (entry(gain(1.5), engines=("winograd",)), False),
        (entry(gain(1.5), engines=("mnn", "mnn")), False),
        (entry(gain(1.5), engines=("mnn", "openvino"), void=True), False),
    ],
)
def test_a_true_mix_counts_if_it_wins_in_every_process(case: dict[str, Any], counts: bool) -> None:
    assert judged("mixes", **of(case=case, other=entry())).figure.startswith("1 (case)" if counts else "0")


@pytest.mark.parametrize(("predicted_ms", "is_near"), [(9.1, True), (10.9, True), (8.9, False), (11.1, False)])
def test_a_prediction_is_near_within_a_tenth(predicted_ms: float, is_near: bool) -> None:
    assert judged("predicted", **of(a=entry(predicted_ms=predicted_ms))).is_met is is_near


def test_four_of_five_predictions_are_enough() -> None:
    networks = {f"near{number}": entry() for number in range(4)}
    assert judged("predicted", **of(**networks, far=entry(predicted_ms=99.0))).figure == "80% (off: far)"
    assert judged("predicted", **of(**networks, far=entry(predicted_ms=99.0))).is_met
    two = {"far": entry(predicted_ms=99.0), "farther": entry(predicted_ms=999.0)}
    assert judged("predicted", **of(**networks, **two)).is_met is False


@pytest.mark.parametrize(
    ("name", "planning"),
    [
        ("cold", planned(cold_s=12.1, warm_s=1.0)),
        ("warm", planned(cold_s=1.0, warm_s=2.6)),
        ("scale", {"scale": {"nodes": 10_000, "seconds": 5.1}}),
        ("scale", {"scale": {"nodes": 9_999, "seconds": 1.0}}),
        (
            "thorough",
            {"thorough": {"plan_over_thorough": gain(1.03), "plan_candidates": 50, "thorough_candidates": 600}},
        ),
        (
            "thorough",
            {"thorough": {"plan_over_thorough": gain(1.0), "plan_candidates": 50, "thorough_candidates": 499}},
        ),
    ],
)
def test_planning_that_is_too_slow_or_too_poor(name: str, planning: dict[str, Any]) -> None:
    assert judged(name, planning=planning).is_met is False


def test_time_ratios_have_an_upper_limit() -> None:
    assert judged("overhead", fixed_plans={"overhead": {"time_over_session": gain(1.021)}}).is_met is False
    assert judged("manual", fixed_plans={"manual": {"time_over_onnxruntime": gain(1.04)}}).is_met is False


def test_how_near_a_plan_is_to_its_best_blocks() -> None:
    blocks = {"networks": {"a": {"sum_of_best_ms": 9.0}, "b": {"sum_of_best_ms": None}, "gone": {"sum_of_best_ms": 1}}}
    assert near_blocks(Results(**of(a=entry(), b=entry(), c=entry()), block_times=blocks)) == {"a": 0.9}


def test_the_tables_hold_the_same_cells() -> None:
    lines = (Gate(what="a", gate="≥ 1", figure="2", is_met=True), Gate(what="b", gate="≥ 1"))
    assert as_text(lines).splitlines() == [
        "what  gate  figure  met",
        "a     ≥ 1   2       yes",
        "b     ≥ 1           not measured",
    ]
    assert as_markdown(lines).splitlines() == [
        "| what | gate | figure | met |",
        "| --- | --- | --- | --- |",
        "| a | ≥ 1 | 2 | yes |",
        "| b | ≥ 1 |  | not measured |",
    ]


def test_only_the_files_that_are_there_are_read(tmp_path: Path) -> None:
    (tmp_path / "suite.json").write_text(json.dumps(suite(a=entry())), encoding="utf-8")
    results = read(tmp_path)
    assert list(results.valid) == ["a"]
    assert results.planning == {}


@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=20))
def test_the_geometric_mean_of_inverses_is_the_inverse(figures: list[float]) -> None:
    assert geometric_mean(figures) * geometric_mean([1 / figure for figure in figures]) == pytest.approx(1)
