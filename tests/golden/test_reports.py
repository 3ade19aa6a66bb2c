"""Every screen and page shows the same figure for one plan: held on recorded reports.

``tests/golden/reports`` holds what ``intarsia compile --json`` printed of real networks; each file there is a case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from intarsia.cli import console
from intarsia.cli.comparison import print_comparison
from intarsia.cli.tables import print_outcome
from intarsia.report.comparison import Comparison
from intarsia.report.page.page import render
from intarsia.report.reasons import ms, ranked, was_benchmarked

RECORDED = sorted((Path(__file__).parent / "reports").glob("*.json"))
PLAN_CELLS = 6
"""Of a row of the page's table of all plans."""
Json = Mapping[str, Any]


@pytest.fixture(params=RECORDED, ids=lambda path: path.stem)
def report(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Json:
    monkeypatch.setattr(console, "PIPE_WIDTH", 400)  # so that no name is folded
    found: Json = json.loads(request.param.read_text(encoding="utf-8"))
    return found


def plans(report: Json) -> Sequence[Mapping[str, Any]]:
    """All that were timed and stand in tables, in the tables' order."""
    return ranked((*report["singles"], *report["mixes"]))


def names(plan: Json) -> tuple[str, ...]:
    """What a plan is called, here or there."""
    if "tuned" in plan:
        return plan["tuned"], plan["target"]
    engines = " + ".join(dict.fromkeys(target.split()[0] for target in plan["targets"]))
    return (f"{plan['name']}: {' + '.join(dict.fromkeys(plan['targets']))}", f"{plan['name']}: {engines}")


def page_names(plan: Json) -> tuple[str, ...]:
    """As `names`, on the page: mixes by their engines alone, too, with their own name where two would be alike."""
    if "tuned" in plan:
        return names(plan)
    engines = names(plan)[-1].partition(": ")[2]
    return (*names(plan), engines, f"{engines} ({plan['name']})")


def milliseconds(plan: Json) -> str:
    return f"{'' if was_benchmarked(plan) else '~'}{ms(plan['latency_ms'])}"


def figure(text: str, plan: Json) -> str:
    """The milliseconds in the row of a plan."""
    found = (
        re.search(rf"^{re.escape(name)}(?:, spin \w+)?\s+(~?[\d.]+)\s", text, re.MULTILINE) for name in names(plan)
    )
    (first, *_) = [match.group(1) for match in found if match]
    return first


def chosen(report: Json) -> Json | None:
    """The row of what ships."""
    named = (plan for plan in plans(report) if plan.get("name", plan.get("target")) == report["chosen"])
    return next(named, None)


class Rows(HTMLParser):
    """The cells of each row of all tables of a page, as text."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.in_cell = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th") and self.rows:
            self.rows[-1].append("")
            self.in_cell = True

    def handle_endtag(self, tag: str) -> None:
        self.in_cell = self.in_cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.in_cell:
            self.rows[-1][-1] += data


def page_rows(report: Json) -> list[list[str]]:
    parser = Rows()
    parser.feed(render(report))
    return [[" ".join(cell.split()) for cell in row] for row in parser.rows]


def test_there_are_recorded_reports_of_several_kinds() -> None:
    found = [json.loads(path.read_text(encoding="utf-8")) for path in RECORDED]
    assert len(found) >= 3
    assert any(each["mixes"] for each in found)
    assert any(each["reduced_precision"] for each in found)
    assert any(not was_benchmarked(plan) for each in found for plan in plans(each))
    assert {"won", "lost", "void"} <= {each["conclusion"] for each in found}
    assert any(each["conclusion"] == "won" and len(each["partitions"]) > 1 for each in found)


def test_the_order_of_milliseconds_is_the_order_of_speeds(report: Json) -> None:
    benchmarked = [plan for plan in (*plans(report), *report["reduced_precision"]) if was_benchmarked(plan)]
    best = next(plan for plan in report["singles"] if plan["target"] == report["best_single"])
    assert best["speed"] == 1.0
    for plan in benchmarked:
        assert plan["speed"] * plan["latency_ms"] == pytest.approx(best["latency_ms"])
        gain = plan["speedup_vs_best_single"]
        assert gain is None or gain["low"] <= plan["speed"] == gain["median"] <= gain["high"]
    assert sorted(benchmarked, key=lambda plan: plan["latency_ms"]) == sorted(
        benchmarked, key=lambda plan: -plan["speed"]
    )


def test_what_was_timed_apart_has_no_speed_and_stands_last(report: Json) -> None:
    listed = plans(report)
    assert [was_benchmarked(plan) for plan in listed] == sorted(map(was_benchmarked, listed), reverse=True)
    assert all(plan["speed"] is None for plan in listed if not was_benchmarked(plan))


def test_the_parts_come_to_what_the_plan_takes(report: Json) -> None:
    parts = [part["measured_ms"] for part in report["partitions"]]
    moved = [each["ms"] for each in report["transfers"] if each["ms"] is not None]
    assert sum([*parts, *moved]) == pytest.approx(report["latency_ms"]["median"])
    row = chosen(report)
    assert row is None or row["latency_ms"] == report["latency_ms"]["median"]
    low, high = report["figures"]["interval_ms"].values()
    assert low <= report["latency_ms"]["median"] <= high


def test_compile_shows_one_figure_for_each_plan(report: Json, capsys: pytest.CaptureFixture[str]) -> None:
    print_outcome(report, verbose=True)
    shown = capsys.readouterr().out
    assert [figure(shown, plan) for plan in plans(report)] == [milliseconds(plan) for plan in plans(report)]
    assert f"latency {ms(report['latency_ms']['median'])} ms" in shown


def test_compare_shows_the_same(report: Json, capsys: pytest.CaptureFixture[str]) -> None:
    comparison = Comparison(report)
    print_comparison(comparison.json(), verbose=True)
    shown = capsys.readouterr().out
    assert [figure(shown, plan) for plan in plans(report)] == [milliseconds(plan) for plan in plans(report)]
    listed = [line.split()[0] for line in repr(comparison).splitlines()[1:] if line.split()[1:2] == ["ms"]]
    assert listed == [milliseconds(plan) for plan in plans(report)]


def test_the_page_shows_the_same(report: Json) -> None:
    rows = page_rows(report)
    for plan in plans(report):
        named = [row for row in rows if row and row[0].removesuffix(" ships") in page_names(plan)]
        timed = [row for row in named if row[-1].endswith(" ms") or len(row) == PLAN_CELLS]
        assert timed
        assert all(milliseconds(plan) in [cell.removesuffix(" ms") for cell in row] for row in timed)
    page = render(report)
    assert f"<b>{ms(report['latency_ms']['median'])}</b> ms" in page


def speed_figures(text: str, plan: Json) -> set[str]:
    """The figures of a text that say how much faster or slower a plan is than the best single engine."""
    gain = plan.get("speedup_vs_best_single")
    both = set() if gain is None else {f"{gain['median']:.2f}", f"{1 / gain['median']:.2f}"}
    return both & set(re.findall(r"\d+\.\d+", text))


def test_what_ships_is_named_and_a_speed_is_said_only_where_it_was_shown(report: Json) -> None:
    text = Comparison(report).recommendation
    assert all(part["target"].split()[0] in text for part in report["partitions"])
    known = (*plans(report), *report["reduced_precision"])
    said = {plan["shown_vs_best_single"] for plan in known if speed_figures(text, plan)}
    assert said <= {"faster", "slower"}
    assert bool(said) is (report["conclusion"] in ("won", "lost") and not report["search"]["control_void"])
