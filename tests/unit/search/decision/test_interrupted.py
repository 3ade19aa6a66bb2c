"""Interrupted, a compile leaves the fastest engine alone that is right and small enough."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from intarsia.config import RunSettings
from intarsia.cost.timing.memory import Memory
from intarsia.cost.worker.progress import unwatched
from intarsia.cost.worker.protocol import Opened
from intarsia.errors import MismatchError
from intarsia.partitioning import Partition
from intarsia.planning.problem import Candidate
from intarsia.search.decision.builder import Builder
from intarsia.search.decision.uncompared import decide_early
from intarsia.target import Target

if TYPE_CHECKING:
    from intarsia.cost.measure import Measurer

MEASURER = cast("Measurer", None)
PEAKS = {"a": 10, "c": 500}


def single(name: str, ms: float) -> Candidate:
    partitions = (Partition(target=Target("onnxruntime"), nodes=("n0",)),)
    return Candidate(name=name, label=name, partitions=partitions, settings=RunSettings(threads=2), predicted_ms=(ms,))


SINGLES = (single("a", 12.0), single("b", 10.0), single("c", 11.0))


@pytest.fixture(autouse=True)
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was built, in order; the fastest answers wrongly."""
    names: list[str] = []

    def opened(_: Builder, plan: Candidate) -> tuple[Path, Opened]:
        names.append(plan.name)
        if plan.name == "b":
            raise MismatchError("it answers wrongly")
        memory = Memory(peak=PEAKS[plan.name], steady=5)
        return Path(f"{plan.name}.intarsia"), Opened(load_s=0.1, first_run_s=0.1, memory=memory, error=1e-7)

    monkeypatch.setattr(Builder, "opened", opened)
    return names


def test_the_fastest_that_answers_rightly_ships(tried: list[str]) -> None:
    decision = decide_early(MEASURER, SINGLES, None, unwatched)
    assert decision is not None
    assert (decision.chosen.name, decision.error) == ("c", 1e-7)
    assert (decision.is_interrupted, decision.speedup) == (True, None)
    assert tried == ["b", "c"]


def test_what_is_too_big_does_not_ship() -> None:
    decision = decide_early(MEASURER, SINGLES, 100, unwatched)
    assert decision is not None
    assert decision.chosen.name == "a"


def test_where_nothing_is_right_nothing_ships() -> None:
    assert decide_early(MEASURER, SINGLES[1:2], None, unwatched) is None
    assert decide_early(MEASURER, SINGLES, 1, unwatched) is None
