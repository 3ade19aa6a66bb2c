"""The table of a comparison: it fits a terminal, and says what its figures stand on."""

from __future__ import annotations

import pytest

from intarsia.cli import console
from intarsia.cli.comparison import print_comparison, print_judgement
from intarsia.cli.tables import MOST_MIXES
from intarsia.report.baseline import judge
from intarsia.report.comparison import Comparison
from intarsia.report.limits import parse_limit
from tests.cli_fakes import COMPARISON, MIX, SINGLES, UNDER_LOAD


def shown(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_the_fastest_comes_first_and_what_was_not_timed_last(capsys: pytest.CaptureFixture[str]) -> None:
    print_comparison(COMPARISON)
    lines = shown(capsys)
    first = [line.split()[0] for line in lines if line]
    assert first[:5] == ["plan", "collage:", "mnn", "onnxruntime", "openvino"]
    assert first[-3:] == ["ncnn", "odd", "tensorrt"]
    assert lines[1].split()[-9:] == ["16.0", "15.7-16.4", "18.0", "1.22", "0.74", "1.20", "231", "190", "2e-06"]
    assert lines[4].split()[-9:] == ["~31.2", "30.1-33.0", "-", "-", "0.85", "0.32", "88", "88", "7e-07"]
    assert any(line.startswith("p99 of 180 to 240 calls; ~ timed apart") for line in lines)


def test_it_fits_a_hundred_columns(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "PIPE_WIDTH", 100)
    slow = {"latency_ms": 12345.6, "interval_ms": {"low": 12000.0, "high": 12999.0}, "p99_ms": 14000.0, "cold_s": 123.4}
    big = {"compile_s": 1234.5, "memory": {"peak": 12345678901, "steady": 12345678901}}
    print_comparison(COMPARISON | {"singles": [*COMPARISON["singles"], SINGLES[0] | slow | big]})
    lines = shown(capsys)
    assert max(map(len, lines)) <= 100
    assert any("12000-12999" in line for line in lines)
    assert not any("…" in line for line in lines[:12])


def test_mixes_beyond_the_first_are_counted_but_shown_by_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    many = COMPARISON | {"mixes": [MIX | {"name": f"collage-{number}"} for number in range(MOST_MIXES + 2)]}
    print_comparison(many)
    lines = shown(capsys)
    assert sum(line.startswith("collage-") for line in lines) == MOST_MIXES
    assert "2 more mixes (--verbose)" in lines
    print_comparison(many, verbose=True)
    lines = shown(capsys)
    assert sum(line.startswith("collage-") for line in lines) == MOST_MIXES + 2
    assert lines[0].split()[-4:] == ["load", "calls", "predicted", "transitions"]


def test_a_column_of_precisions_appears_with_a_second_precision(capsys: pytest.CaptureFixture[str]) -> None:
    print_comparison(COMPARISON)
    assert "type" not in shown(capsys)[0]
    print_comparison(COMPARISON | {"mixes": [MIX | {"precision": "int8"}]})
    lines = shown(capsys)
    assert lines[0].split()[:2] == ["plan", "type"]
    assert [line.split().count("int8") + line.split().count("fp32") for line in lines[1:5]] == [1] * 4


def test_a_void_race_is_said_beside_its_speeds(capsys: pytest.CaptureFixture[str]) -> None:
    print_comparison(COMPARISON)
    assert "void" not in capsys.readouterr().out
    print_comparison(COMPARISON | {"search": COMPARISON["search"] | {"control_void": True}})
    assert "the benchmark of these plans is void" in capsys.readouterr().out


def test_a_plan_over_the_limit_has_not_failed(capsys: pytest.CaptureFixture[str]) -> None:
    failure = {"stage": "memory", "reason": "its peak of 612 MB is over the limit of 500 MB", "repro": None}
    print_comparison(COMPARISON | {"singles": [SINGLES[1], {"target": "openvino", "failure": failure}]})
    [line] = [line for line in shown(capsys) if line.startswith("openvino")]
    assert line.split(maxsplit=1)[1] == "memory: its peak of 612 MB is over the limit of 500 MB"


def test_each_limit_is_told_in_units_that_people_read(capsys: pytest.CaptureFixture[str]) -> None:
    limits = [parse_limit(text) for text in ("p50>+5%", "memory>+1MB", "cold>2s", "error>1e-3", "p50>+1ms")]
    print_judgement(judge(COMPARISON, COMPARISON, limits), None)
    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in shown(capsys) if ">" in line}
    assert rows["p50>+5%"] == "16.0 ms 16.0 ms +0.0 % (-3.1 to +3.2) kept"
    assert rows["memory>+1MB"] == "231 MB 231 MB 0 MB (0 MB to 0 MB) kept"
    assert rows["cold>2s"] == "740 ms 740 ms 740 ms (740 ms to 740 ms) kept"
    assert rows["error>1e-3"] == "2.1e-06 2.1e-06 2.1e-06 (2.1e-06 to 2.1e-06) kept"
    assert rows["p50>+1ms"].endswith("kept")


def test_without_limits_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    print_judgement(judge(COMPARISON, None, []), None)
    assert shown(capsys) == []


def test_under_load_requests_stand_in_place_of_milliseconds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "PIPE_WIDTH", 120)
    report = Comparison(UNDER_LOAD).json()
    print_comparison(report)
    lines = shown(capsys)
    assert lines[0].split() == [
        *("plan", "instances", "requests/s", "95", "%", "p50", "p99", "speed", "cold", "peak", "error"),
    ]  # fmt: skip
    first = [line.split()[0] for line in lines if line]
    assert first[1:5] == ["collage:", "mnn", "onnxruntime", "openvino"]
    assert lines[1].split()[-11:] == [
        *("2", "x", "1", "79.4", "77.0-81.0", "25.1", "28.7", "1.22", "0.74", "231", "2e-06"),
    ]  # fmt: skip
    assert lines[4].split()[-11:] == ["2", "x", "1", "~31.0", "-", "-", "-", "-", "0.85", "88", "7e-07"]
    monkeypatch.setattr(console, "PIPE_WIDTH", 100)
    print_comparison(report)
    assert max(map(len, shown(capsys))) <= 100
    print_comparison(report, verbose=True)
    assert {"compile", "steady"} <= set(shown(capsys)[0].split())


def test_the_advice_says_how_many_instances() -> None:
    found = Comparison(UNDER_LOAD)
    assert "2 instances on 1 thread each answer 79.4 requests a second" in found.recommendation
    assert "79.4 requests/s by 2 x 1" in repr(found)
    assert "threads 2:" in repr(found)
