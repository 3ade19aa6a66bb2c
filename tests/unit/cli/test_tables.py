from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.cli.tables import ms, print_plans, summary
from tests.cli_fakes import REPORT


@given(st.floats(1e-3, 999, allow_nan=False))
def test_milliseconds_keep_three_digits(value: float) -> None:
    assert float(ms(value)) == pytest.approx(value, rel=5.1e-3)


@pytest.mark.parametrize(("value", "text"), [(None, "-"), (15.96, "16.0"), (220.9, "221"), (0.97, "0.970")])
def test_milliseconds_as_text(value: float | None, text: str) -> None:
    assert ms(value) == text


def test_the_fastest_comes_first_and_failures_last(capsys: pytest.CaptureFixture[str]) -> None:
    print_plans(REPORT)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["plan", "collage-1:", "mnn", "onnxruntime", "ncnn", "odd"]
    assert "best single engine" in lines[2]
    assert "-optimization-level=all" in lines[3]
    assert "failed at capability: gru_1: no GRU" in lines[4]
    assert "failed at crash: signal 11; repro: /cache/repro/odd.py" in lines[5]


def test_what_was_not_measured_is_not_told() -> None:
    unmeasured = REPORT | {"speedup_vs_best_single": None, "latency_ms": None, "max_rel_error": None}
    assert any("1.216 x the speed of mnn" in line for line in summary(REPORT))
    assert {line.split()[0] for line in summary(unmeasured)} == {"predicted", "1", "search"}
