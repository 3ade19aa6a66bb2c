from __future__ import annotations

from typing import Any

import pytest

from intarsia.cli import console
from intarsia.cli.tables import print_layers, print_outcome, print_plans
from tests.cli_fakes import ALONE, MIX, OLD, PARTITIONS, REPORT, SINGLES

SCREENS = {80: 60, 120: 40}
"""Lines for each width: at 80 columns a part and what it was compared with take two."""


def test_the_fastest_comes_first_and_failures_last(capsys: pytest.CaptureFixture[str]) -> None:
    print_plans(REPORT)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["plan", "collage:", "mnn", "onnxruntime", "ncnn", "odd", "tensorrt"]
    assert "1.22  1 transition; 1.19 to 1.24" in lines[1]
    assert "best single engine" in lines[2]
    assert "-optimization-level=all" in lines[3]
    assert "refused: no GRU (gru_1)" in lines[4]
    assert "failed at crash: signal 11; repro: /cache/repro/odd.py" in lines[5]
    assert "absent: no backend drives 'tensorrt' yet" in lines[6]


def test_a_plan_that_did_not_race_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    late = MIX | {"name": "late", "latency_ms": 9.0, "speed": None}
    late |= {"speedup_vs_best_single": None, "benchmarked": False}
    print_plans(REPORT | {"mixes": [MIX, late]})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:5]] == ["collage:", "mnn", "onnxruntime", "late:"]
    assert lines[4].split(maxsplit=4)[4:] == ["~9.00      -  1 transition; timed apart"]


def test_beside_the_speeds_of_a_void_race_it_is_said_that_they_show_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    told = "the benchmark of these plans is void: no speed here shows that one is faster"
    print_plans(REPORT)
    assert told not in capsys.readouterr().out
    print_plans(REPORT | {"search": REPORT["search"] | {"control_void": True}})
    assert told in capsys.readouterr().out


def large(parts: int, mixes: int) -> dict[str, Any]:
    """More of everything than fits a screen."""
    singles = [*SINGLES[:2], *({**single, "target": f"engine-{n}"} for n in range(3) for single in SINGLES[2:])]
    reason = {"target": "engine", "reason": "refused: no such operator"}
    return ALONE | {
        "singles": singles,
        "mixes": [
            MIX | {"name": f"collage-{number}", "targets": ["mnn", "onnxruntime"] * 9} for number in range(mixes)
        ],
        "partitions": [{**PARTITIONS[0], "runners_up": [], "not_chosen": [reason] * 9} for _ in range(parts)],
        "opportunities": ALONE["opportunities"] * 9,
    }


@pytest.mark.parametrize("width", SCREENS)
@pytest.mark.parametrize("report", [REPORT, ALONE, OLD, large(23, 9), large(500, 99)])
def test_it_fits_one_screen(
    report: dict[str, Any], width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "screen_width", lambda _: width)
    print_outcome(report)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert len(lines) <= SCREENS[width]


def test_a_long_reason_is_told_whole(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "screen_width", lambda _: 80)
    reason = " ".join(f"word{number}" for number in range(99))
    failed = {"target": "engine", "failure": {"stage": "compile", "reason": reason, "repro": None}}
    print_outcome(REPORT | {"singles": [*SINGLES, failed]})
    assert reason in " ".join(capsys.readouterr().out.split())


def test_the_costliest_parts_are_shown_and_the_rest_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    parts = [{**PARTITIONS[0], "share": number / 55} for number in range(11)]
    print_outcome(REPORT | {"partitions": parts})
    lines = capsys.readouterr().out.splitlines()
    shown = [
        line.split()[0] for line in lines[lines.index(next(x for x in lines if x.startswith("partition "))) + 1 :][:8]
    ]
    assert shown == ["4", "5", "6", "7", "8", "9", "10", "11"]
    assert any(line == "3 more partitions, 5 % together (--verbose)" for line in lines)


def test_verbose_tells_every_alternative_every_reason_and_every_segment(capsys: pytest.CaptureFixture[str]) -> None:
    print_outcome(REPORT, verbose=True)
    out = capsys.readouterr().out
    for part in PARTITIONS:
        assert all(each["target"] in out for each in part["runners_up"])
        assert all(each["reason"] in out for each in part["not_chosen"])
    assert all(segment["first"] in out for segment in REPORT["segments"])
    assert "~15.3" in out  # an estimate


def test_an_old_report_is_shown_as_far_as_it_goes(capsys: pytest.CaptureFixture[str]) -> None:
    print_outcome(OLD, verbose=True)
    assert "it was compiled before runners-up were recorded" in capsys.readouterr().out


MOVED: list[dict[str, Any]] = [
    {"value": "x", "source": "cpu", "destination": "vulkan", "bytes": 4608, "partition": 1, "readers": [1, 2]}
    | {"is_inside": False, "ms": 0.25},
    {"value": "y", "source": "vulkan", "destination": "cpu", "bytes": None, "partition": 2, "readers": []}
    | {"is_inside": True, "ms": None},
]


def test_devices_and_transfers_are_shown_where_there_are_some(capsys: pytest.CaptureFixture[str]) -> None:
    parts = [part | {"device": device} for part, device in zip(PARTITIONS, ("vulkan", "cpu"), strict=True)]
    print_outcome(REPORT | {"partitions": parts, "transfers": MOVED})
    shown = capsys.readouterr().out.splitlines()
    [header] = [line for line in shown if line.startswith("partition ")]
    assert header.split()[:4] == ["partition", "target", "device", "nodes"]
    start = next(place for place, line in enumerate(shown) if line.startswith("transfer "))
    assert [line.split() for line in shown[start : start + 3]] == [
        ["transfer", "way", "partition", "read", "by", "bytes", "took"],
        ["x", "cpu", "→", "vulkan", "1", "1,", "2", "4,608", "0.250"],
        ["y", "vulkan", "→", "cpu", "2", "the", "caller", "-", "in", "its", "call"],
    ]


def test_a_plan_on_the_cpu_says_nothing_of_devices(capsys: pytest.CaptureFixture[str]) -> None:
    print_outcome(REPORT | {"partitions": [part | {"device": "cpu"} for part in PARTITIONS], "transfers": []})
    shown = capsys.readouterr().out
    assert "device" not in shown
    assert "transfer" not in shown


def test_transfers_that_do_not_fit_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    print_outcome(REPORT | {"transfers": MOVED * 6})
    assert "4 more transfers (--verbose)" in capsys.readouterr().out


def test_what_it_needs_is_told_with_the_decision(capsys: pytest.CaptureFixture[str]) -> None:
    needs = {
        "memory": None,
        "alternative": None,
        "alternative_memory": None,
        "artifact": 172_000_000,
        "model": 87_000_000,
    }
    print_outcome(REPORT | {"needs": needs})
    assert "its artifact takes 172 MB for a model of 87 MB" in capsys.readouterr().out.splitlines()


LAYERS = [
    {
        "node": f"conv{place}",
        "op": "Conv + Relu",
        "target": "winograd",
        "kernel": None,
        "ms": {"winograd": 1.0 + place, "mnn": 0.0},
    }
    for place in range(10)
]


def test_layers_are_shown_longest_first_and_the_rest_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    print_layers(REPORT | {"layers": LAYERS})
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["layer", "operator", "winograd", "mnn"]
    assert lines[2].split() == ["conv9", "Conv", "+", "Relu", "10.0", "-"]
    assert "2 more layers (--verbose)" in lines
    print_layers(REPORT | {"layers": [LAYERS[0], {**LAYERS[1], "target": "mnn", "kernel": "Fast"}]}, verbose=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["layer", "operator", "runs", "on", "our", "kernel", "winograd", "mnn"]
    assert lines[-1].startswith("kernels of ours compute 1 of 2 layers, ")


def test_without_layers_no_table_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    print_layers(REPORT)
    assert capsys.readouterr().out == ""
