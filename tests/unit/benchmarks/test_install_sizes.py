"""The sizes on the page are the committed ones."""

from __future__ import annotations

import json

from benchmarks.install_sizes import END, PACKAGES_START, PAGE, RESULTS, START, WAYS, render, tables


def test_the_page_holds_the_committed_sizes() -> None:
    results, text = json.loads(RESULTS.read_text(encoding="utf-8")), PAGE.read_text(encoding="utf-8")
    assert set(results) == set(WAYS)
    assert render(text, tables(results)) == text
    assert text.count(START) == text.count(PACKAGES_START) == 1


def test_a_table_takes_the_place_of_the_one_before() -> None:
    text = f"a\n{START}\nold\n{END}\nb\n"
    assert render(text, {START: "| new |"}) == f"a\n{START}\n| new |\n{END}\nb\n"


def test_sizes_are_sums_over_packages() -> None:
    sizes = {f"package-{number}": [number * 10**6, 10**6] for number in range(12)}
    found = tables(dict.fromkeys(WAYS, sizes))
    assert found[START].splitlines()[2] == "| `'.[cpu]'` | compile over four engines, and run | 78 | 12 |"
    rows = found[PACKAGES_START].splitlines()
    assert rows[2] == "| package-11 | 12 |"
    assert rows[-1] == "| 4 more | 10 |"
