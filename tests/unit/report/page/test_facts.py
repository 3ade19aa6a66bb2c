from __future__ import annotations

import math
import shlex
from typing import Any

import pytest

from intarsia.report.page import facts, partitions, plans
from intarsia.report.page.engines import colour
from tests.cli_fakes import ALONE, MIX, OLD, PARTITIONS, REPORT


def test_the_verdict_names_the_engines() -> None:
    assert facts.verdict(REPORT) == "mnn and onnxruntime"
    assert facts.verdict(ALONE) == "mnn alone"
    third = {**PARTITIONS[0], "target": "ncnn"}
    assert facts.verdict(REPORT | {"partitions": [*PARTITIONS, third]}) == "mnn, onnxruntime and ncnn"


def test_plans_stand_by_their_latency_with_bars_on_one_scale() -> None:
    mix, mnn, ort = plans.plans(REPORT)
    assert [mix["figure"], mnn["figure"], ort["figure"]] == ["16.0", "19.4", "21.7"]
    assert (mix["is_chosen"], mnn["is_best"], ort["is_best"]) == (True, True, False)
    assert mix["whisker"] == (100 * 1.19 / 1.241, 100)
    assert mnn["width"] == pytest.approx(100 / 1.241) == mnn["one"]
    assert (mix["name"], mix["tag"], mix["colours"]) == (
        "mnn + onnxruntime",
        "collage",
        [colour("mnn"), colour("onnxruntime")],
    )


def test_the_plan_that_was_asked_for_stands_among_them() -> None:
    given = REPORT | {"chosen": "manual", "mixes": []}
    asked = next(plan for plan in plans.plans(given) if plan["is_chosen"])
    assert (asked["tag"], asked["figure"], asked["speed"], asked["transitions"]) == ("manual", "16.0", 1.2155, 1)


def test_a_mix_is_not_listed_among_the_engines_alone() -> None:
    reduced = MIX | {
        "name": "rough-1",
        "targets": ["openvino"],
        "transitions": 0,
        "precision": ["int8"],
        "latency_ms": 9.0,
    }
    report = REPORT | {"reduced_precision": [reduced, reduced | {"name": "rough-2", "latency_ms": math.inf}]}
    timed = plans.plans(report)
    assert [(heading, [plan["name"] for plan in held]) for heading, held in plans.groups(timed)] == [
        ("Every engine alone", ["mnn", "onnxruntime -optimization-level=all"]),
        ("Mixes of engines", ["mnn + onnxruntime"]),
        ("In reduced precision", ["openvino in int8"]),
    ]
    given = plans.groups(plans.plans(REPORT | {"chosen": "manual", "mixes": []}))
    assert [heading for heading, _ in given] == ["Every engine alone", "The plan that was asked for"]


def test_the_first_screen_shows_the_fastest_of_each_and_what_ships() -> None:
    mixes = [MIX | {"name": f"collage-{n}", "latency_ms": 10.0 + n} for n in range(9)]
    timed = plans.plans(REPORT | {"mixes": mixes, "chosen": "collage-8"})
    (_, alone), (_, shown) = plans.foremost(timed)
    assert len(alone) == 2
    assert [plan["tag"] for plan in shown] == ["collage-0", "collage-1", "collage-2", "collage-8"]


def test_what_is_left_out_of_the_sentences_stands_on_the_page() -> None:
    places = [ALONE["opportunities"][0]] * 9
    sentences = facts.reasons(ALONE | {"opportunities": places})
    assert "6 more places where another engine is faster (all are listed below)" in sentences
    assert not any("--verbose" in sentence for sentence in sentences)


def test_who_failed_and_who_was_absent() -> None:
    assert [(each["target"], each["stage"]) for each in facts.failures(REPORT)] == [
        ("ncnn", "capability"), ("odd", "crash"), ("tensorrt", "absent"),
    ]  # fmt: skip


def test_parts_have_bars_for_each_time_that_is_known() -> None:
    first, second = partitions.parts(REPORT, None)
    assert [(name, each) for name, each, _ in first["bars"]] == [("predicted", 11.25), ("measured", 11.9)]
    assert first["bars"][1][2] == 100
    assert first["off"] == pytest.approx(11.25 / 11.9 - 1)
    assert second["runner_up"] == "~8.30 (+3.90) mnn"
    first, second = partitions.parts(REPORT, [20.0, 5.0])
    assert first["bars"][2] == ("now", 20.0, 100)
    assert second["bars"][2] == ("now", 5.0, 25)


def test_the_timeline_is_one_run_from_left_to_right() -> None:
    line = partitions.timeline(REPORT, None)
    assert line is not None
    first, second = line["order"]
    assert (line["source"], line["whole_ms"]) == ("measured in the finished plan", 16.0)
    assert (first["left"], second["left"]) == (0, pytest.approx(100 * 11.9 / 16))
    assert first["width"] + second["width"] == pytest.approx(100)
    assert second["transition"] == pytest.approx(100 * 0.31 / 4.1)
    assert {label: len(each) for label, each in line["lanes"].items()} == {"mnn": 1, "onnxruntime": 1}


def test_the_timeline_of_one_part_is_left_out() -> None:
    assert partitions.timeline(ALONE, None) is None
    assert partitions.timeline(ALONE, [19.0]) is None
    assert partitions.shared(ALONE) == "time"


@pytest.mark.parametrize(
    ("more", "run_ms", "source"),
    [
        ({}, [1.0, 2.0], "measured just now"),
        ({"measured_ms": None}, None, "predicted"),
        ({"measured_ms": None, "predicted_ms": None}, None, None),
    ],
)
def test_the_timeline_takes_the_best_times_there_are(
    more: dict[str, Any], run_ms: list[float] | None, source: str | None
) -> None:
    line = partitions.timeline(REPORT | {"partitions": [part | more for part in PARTITIONS]}, run_ms)
    assert source == (line and line["source"])


def test_memory_has_a_column_for_each_figure_of_bytes() -> None:
    bare = REPORT | {"figures": None, "singles": [{"target": "mnn", "failure": None}], "mixes": []}
    held = {"peak": 3_000_000, "steady": 1_000_000, "peak_samples": [3_000_000]}
    mixes = [MIX | {"memory": {"peak": 5}, "cold_s": 0.5}]
    found = facts.memory(bare | {"figures": {"memory": held, "cold_s": None}, "mixes": mixes})
    assert found == {
        "whats": ["peak", "steady"],
        "rows": [
            {"of": "what ships", "sizes": [3_000_000, 1_000_000], "cold_s": None},
            {"of": "collage", "sizes": [5, None], "cold_s": 0.5},
        ],
        "has_start": True,
    }
    plain = facts.memory(bare | {"memory": {"peak_bytes": 7}})
    assert plain is not None
    assert (plain["whats"], plain["has_start"]) == (["peak"], False)
    assert facts.memory(bare) is None


def test_the_commands_can_be_pasted() -> None:
    report = REPORT | {"model": "my model.onnx", "config": "config -targets='mnn -threads=2',llvm"}
    said = shlex.split(facts.command(report | {"budget_s": 20.0, "seed": 3}))
    assert said[:5] == ["intarsia", "compile", "my model.onnx", "--target", "config -targets='mnn -threads=2',llvm"]
    assert said[5:] == ["--threads", "2", "--budget", "20", "--seed", "3", "--partition", "collage"]
    assert "--target" not in facts.command(REPORT)
    buckets = [{"ranges": {"seq": [1, 64]}}, {"ranges": {"seq": [65, 512]}}]
    assert "--shape seq=1..512/64 " in facts.command(REPORT | {"buckets": buckets})
    bound = report | {"shapes": {"N": 2, "x": [1, 3], "y": [4]}, "max_memory": 5000, "max_error": 0.05}
    assert shlex.split(facts.command(bound))[-12:-2] == [
        *("--max-memory", "5000", "--max-error", "0.05", "--shape", "N=2", "--shape", "x=1x3", "--shape", "y=4x"),
    ]
    assert "model.onnx' --shape N=2 --shape x=1x3 --shape y=4x --partition manual" in facts.replay(bound)
    assert facts.replay(report | {"artifact": "a b.intarsia"}).splitlines() == [
        "intarsia explain 'a b.intarsia' --plan > plan.yaml",
        "intarsia compile 'my model.onnx' --partition manual --plan plan.yaml",
    ]


def test_an_old_report_has_less_to_show() -> None:
    assert facts.segments(OLD) is None
    assert facts.opportunities(OLD) == []
    assert [plan["speed"] for plan in plans.plans(OLD)] == [None] * 3
    assert facts.reasons(OLD)


def test_segments_mark_the_least() -> None:
    found = facts.segments(REPORT)
    assert found is not None
    assert found["targets"] == ["onnxruntime", "mnn", "ncnn"]
    assert [row["least"] for row in found["rows"]] == [10.9, 0.35, 3.64]


def test_what_it_needs_stands_with_the_reasons() -> None:
    needs = {
        "memory": None,
        "alternative": None,
        "alternative_memory": None,
        "artifact": 172_000_000,
        "model": 87_000_000,
    }
    assert "its artifact takes 172 MB for a model of 87 MB" in facts.reasons(REPORT | {"needs": needs})
