"""``compare`` on real engines: what it tells, the limit on memory, and a baseline."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from intarsia.cost.thresholds import PAIRED
from tests.e2e.conftest import Run

ORT = "onnxruntime -optimization-level=all"
pytestmark = [pytest.mark.e2e]


@pytest.fixture(scope="module")
def saved(intarsia: Callable[..., Run], tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a comparison and its store."""
    folder = tmp_path_factory.mktemp("compare")
    done = intarsia(*demand(tiny, folder), "--save", folder / "c.json")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[0].split()[:3] == ["plan", "ms", "95"]
    return folder


def demand(model: Path, folder: Path) -> tuple[object, ...]:
    settings = ("--target", f"{ORT}, ncnn", "--threads", 1, "--budget", 600)
    return ("compare", model, *settings, "--store", folder / "s.sqlite")


def test_every_engine_has_its_memory_its_start_and_its_interval(saved: Path) -> None:
    found = json.loads((saved / "c.json").read_text())
    assert {single["target"] for single in found["singles"]} == {ORT, "ncnn"}
    for single in found["singles"]:
        assert single["interval_ms"]["low"] <= single["latency_ms"] <= single["interval_ms"]["high"]
        assert 1e6 < single["memory"]["steady"] <= single["memory"]["peak"] < 1e9
        assert single["cold_s"] > 0
        assert single["max_rel_error"] < 1e-3
    figures = found["figures"]
    assert figures["calls"] > 0
    assert (figures["p99_ms"] is None) == (figures["calls"] < PAIRED.p99_calls)  # a slow machine has fewer
    if figures["p99_ms"] is not None:
        assert figures["p99_interval_ms"]["low"] <= figures["p99_ms"]
    assert found["recommendation"].startswith(("Ship", "No mix wins"))


def test_what_is_on_record_is_what_it_was(saved: Path, tiny: Path, intarsia: Callable[..., Run]) -> None:
    limits = ("--fail-if", "p50>+400%", "--fail-if", "memory>+1%")
    done = intarsia(*demand(tiny, saved), "--baseline", saved / "c.json", *limits, "--json")
    judgement = json.loads(done.out)["judgement"]
    is_void = json.loads((saved / "c.json").read_text())["search"]["control_void"]  # such a benchmark is run again
    assert is_void or [each["then"] == each["now"] for each in judgement["findings"]] == [True, True]
    assert done.code == judgement["exit_code"]


def test_a_limit_that_nothing_keeps_names_what_needs_least(
    saved: Path, tiny: Path, intarsia: Callable[..., Run]
) -> None:
    done = intarsia(*demand(tiny, saved), "--max-memory", "1MB")
    assert (done.code, done.out) == (4, "")
    assert "no plan gets by with 1 MB: the one that needs least, " in done.err


def test_a_limit_between_two_engines_leaves_the_smaller(saved: Path, tiny: Path, intarsia: Callable[..., Run]) -> None:
    singles = json.loads((saved / "c.json").read_text())["singles"]
    small, big = sorted(singles, key=lambda single: single["memory"]["peak"])
    limit = (small["memory"]["peak"] + big["memory"]["peak"]) // 2
    report = intarsia(*demand(tiny, saved), "--max-memory", f"{limit}B", "--json").json()
    assert report["best_single"] == report["chosen"] == small["target"]
    assert report["figures"]["memory"]["peak"] <= limit
