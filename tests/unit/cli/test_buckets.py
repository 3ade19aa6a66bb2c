from __future__ import annotations

from typing import Any

import pytest

from intarsia.cli import console
from intarsia.cli.tables import print_buckets

ORT = "onnxruntime -optimization-level=extended"


def bucket(
    ranges: dict[str, list[int]], targets: list[str], ms: float | None, gain: float | None, single: str | None
) -> dict[str, Any]:
    return {
        "ranges": ranges,
        "measured_at": {name: sum(ends) // 2 for name, ends in ranges.items()},
        "latency_ms": None if ms is None else {"median": ms, "min": ms, "p90": ms},
        "speedup_vs_best_single": gain and {"median": gain, "low": gain - 0.04, "high": gain + 0.05},
        "best_single": single,
        "partitions": [{"target": target} for target in targets],
    }


REPORT = {
    "buckets": [
        bucket({"batch": [1, 1], "seq": [1, 2]}, [ORT], 0.12, 1.0, "onnxruntime"),
        bucket({"batch": [1, 1], "seq": [3, 128]}, ["openvino", ORT, "openvino"], 8.5, 1.31, "mnn"),
        bucket({"batch": [1, 1], "seq": [129, 512]}, ["openvino"], 103.4, None, None),
    ]
}


@pytest.fixture(params=[80, 120])
def width(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(console, "PIPE_WIDTH", request.param)
    return int(request.param)


def words(text: str) -> list[str]:
    return text.split()


def test_each_row_says_sizes_engines_times_and_gain_and_nothing_is_lost(
    width: int, capsys: pytest.CaptureFixture[str]
) -> None:
    print_buckets(REPORT)
    shown = capsys.readouterr().out
    assert all(len(line) <= max(width, 85) for line in shown.splitlines())
    for word in (
        "seq",
        "129",
        "512",
        "openvino",
        "onnxruntime",
        "mnn",
        "8.50",
        "11.1",
        "1.31",
        "(1.27",
        "1.36)",
        "103",
    ):
        assert word in words(shown.replace(",", " ")), word
    assert {"sizes", "measured", "runs", "ms", "best", "single", "engine", "times", "fast"} <= set(words(shown))
    assert f"onnxruntime runs as: {ORT}" in shown


def test_the_best_single_engine_itself_claims_no_gain(width: int, capsys: pytest.CaptureFixture[str]) -> None:
    print_buckets({"buckets": REPORT["buckets"][:1]})
    shown = capsys.readouterr().out
    assert "the same" in shown
    assert "1.00 (" not in shown


def test_nothing_where_every_size_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    print_buckets({"buckets": ()})
    assert capsys.readouterr().out == ""
