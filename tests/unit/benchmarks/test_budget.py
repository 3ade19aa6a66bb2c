"""Which commands the table of budgets holds, and when a row is too long."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

import networks
from benchmarks.budget import BUDGETS_S, NETWORKS, Case, cases, line, row, too_long
from intarsia.cli.main import cli

REPORT = {
    "chosen": "mnn",
    "reason": "no mix promised to be faster",
    "search": {"announced_s": None, "announced_because": None, "measured": 3},
}


def test_every_network_meets_every_budget_with_and_without_an_error() -> None:
    chosen = list(cases(NETWORKS, 60.0))
    assert len({case.name for case in chosen}) == len(chosen) == 8 * 3 * 2
    assert [case.budget_s for case in chosen] == sorted(case.budget_s for case in chosen)
    assert {case.budget_s for case in cases(NETWORKS, 20.0)} == set(BUDGETS_S[:2])
    assert set(NETWORKS) <= set(networks.NAMES)


def test_the_whole_table_fits_half_an_hour() -> None:
    assert sum(case.budget_s for case in cases(NETWORKS, 60.0)) < 30 * 60


def test_the_command_line_takes_what_it_is_told(tmp_path: Path) -> None:
    case = Case(network="squeezenet", budget_s=5.0, max_error="1e-2")
    done = CliRunner().invoke(cli, case.arguments(tmp_path / "missing.onnx", tmp_path), standalone_mode=False)
    assert "missing.onnx" in done.output  # the options were taken, and the model is not there


def test_a_row_is_held_to_what_was_announced() -> None:
    case = Case(network="squeezenet", budget_s=5.0, max_error=None)
    announced = {**REPORT, "search": {**REPORT["search"], "announced_s": 9, "announced_because": "it is large"}}  # type: ignore[dict-item]
    late, kept = row(case, 5.6, REPORT), row(case, 9.8, announced)
    assert too_long([late, kept, row(case, 5.4, REPORT)]) == [late]
    assert line(late).endswith("TOO LONG")
    assert "  9 " in line(kept)
