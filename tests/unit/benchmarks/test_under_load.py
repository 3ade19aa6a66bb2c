"""What is kept of compiles beside other load, and when a claim is contradicted."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pytest

from benchmarks.under_load import CONFIRMED, CONTRADICTED, UNDECIDED, busy, is_called_void, judged, summary, table
from intarsia.cost.timing.statistics import Interval
from intarsia.cost.timing.verdict import Shown

HOLDS = {"median": 1.0, "low": 0.98, "high": 1.02}
WIDE = {"median": 0.99, "low": 0.572, "high": 1.295}
WRONG: dict[str, Any] = {
    "plan": "collage",
    "baseline": "mnn",
    "said": "faster",
    "by": HOLDS,
    "quiet": WIDE,
    "judged": CONTRADICTED,
}


@pytest.mark.parametrize(
    ("low", "high", "faster", "slower"),
    [
        (1.01, 1.2, CONFIRMED, CONTRADICTED),
        (0.8, 0.99, CONTRADICTED, CONFIRMED),
        (0.99, 1.2, UNDECIDED, UNDECIDED),
    ],
)
def test_a_claim_is_contradicted_by_an_interval_on_the_other_side(
    low: float, high: float, faster: str, slower: str
) -> None:
    quiet = Interval(median=1.0, low=low, high=high)
    assert (judged(Shown.FASTER, quiet), judged(Shown.SLOWER, quiet)) == (faster, slower)


@pytest.mark.parametrize(
    ("control", "void", "said", "called"),
    [
        (HOLDS, False, [WRONG], True),
        (WIDE, True, [], True),
        (WIDE, False, [], False),
        (WIDE, True, [WRONG], False),
        (None, False, [], True),
    ],
)
def test_a_void_control_has_to_be_called_so_and_nothing_claimed(
    control: Mapping[str, float] | None, void: bool, said: list[Any], called: bool
) -> None:
    assert is_called_void({"control": control, "void": void, "claims": said}) is called


def test_the_table_counts_and_names_what_was_wrong() -> None:
    entry = {
        "compiles": [
            {"control": HOLDS, "void": False, "claims": [WRONG, WRONG | {"judged": CONFIRMED}]},
            {"control": WIDE, "void": True, "claims": []},
            {"control": WIDE, "void": False, "claims": []},
        ]
    }
    assert summary(entry) == ("3", "1", "1", "2", "1", "0", "1", "0")
    lines = table({"networks": {"net": entry, "other": {"failed": "no"}}}).splitlines()
    assert lines[1] == "net | 3 | 1 | 1 | 2 | 1 | 0 | 1 | 0"
    assert lines[2].startswith("net: collage was said to be faster than mnn")
    assert len(lines) == 3


def test_the_loops_end_with_the_work() -> None:
    with busy(2) as pids:
        assert len(pids) == 2
        for pid in pids:
            os.kill(pid, 0)  # raises nothing: they are there
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
