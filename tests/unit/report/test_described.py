"""Every figure of a report for another machine says where it was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from intarsia.report.described import HERE, MARK, marked
from tests.cli_fakes import REPORT


def figures(value: Any) -> Iterator[Mapping[str, Any]]:
    """The objects of a report that hold milliseconds."""
    if isinstance(value, Mapping):
        if any(name == "ms" or name.endswith("_ms") for name in value):
            yield value
        value = tuple(value.values())
    if isinstance(value, list | tuple):
        for each in value:
            yield from figures(each)


def test_a_report_of_this_machine_stays_as_it_is() -> None:
    report = {**REPORT, "described": None}
    assert marked(report) is report


def test_every_object_with_milliseconds_is_marked() -> None:
    described = {"where": HERE, "lacks": ["cores"]}
    found = marked({**REPORT, "described": described})
    several = list(figures(found))
    assert len(several) > 3
    assert all(each[MARK] == HERE for each in several)
    assert found["described"] == described
    assert found["chosen"] == REPORT["chosen"]
