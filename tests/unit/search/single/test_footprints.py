"""Which engines are loaded once more, and that it is done once."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from intarsia.backends.contract.failures import Cause
from intarsia.config import RunSettings
from intarsia.cost.measure import Measurer
from intarsia.cost.records.record import Failure
from intarsia.cost.records.store import Store
from intarsia.cost.timing.footprint import Footprint
from intarsia.cost.timing.memory import Memory
from intarsia.cost.timing.timetable import Timetable
from intarsia.cost.worker import lock
from intarsia.cost.worker.progress import unwatched
from intarsia.cost.worker.protocol import Opened
from intarsia.errors import LoadError
from intarsia.planning.problem import Candidate
from intarsia.search.single import footprints as module
from intarsia.search.single.footprints import held_against, measure_footprints
from intarsia.search.single.single_engine import Single
from intarsia.target import Target
from tests.unit.search.fakes import chain_problem, measured

NAMES = ("onnxruntime", "openvino", "mnn", "ncnn", "winograd", "reference")
PROBLEM = chain_problem(2, [Target(name) for name in NAMES])


def single(name: str, **changes: Any) -> Single:
    partitions = PROBLEM.whole(Target(name))
    settings = RunSettings(threads=2)
    plan = Candidate(name=name, label=name, partitions=partitions, settings=settings, predicted_ms=(1.0,))
    return replace(Single(target=Target(name), outcome=measured(1.0), candidates=(plan,)), **changes)


BENCHMARKED, OTHER = single("onnxruntime"), single("openvino")
HOPELESS = single("mnn", outcome=replace(measured(900.0), is_complete=False))
FAILED = single("ncnn", outcome=Failure(stage="run", reason="no", cause=Cause.ENGINE), candidates=())
BROKEN = single("winograd")
OTHER_SETTINGS = single("reference")
OTHER_SETTINGS = replace(
    OTHER_SETTINGS, candidates=(*OTHER_SETTINGS.candidates, replace(OTHER_SETTINGS.candidates[0], name="benchmarked"))
)


class Opportunities:
    """In the place of the builder."""

    asked: list[str]

    def __init__(self, *_: object, prefix: str) -> None:
        pass

    def build(self, candidate: Candidate) -> None: ...

    def opened(self, candidate: Candidate) -> tuple[Path, Opened]:
        self.asked.append(candidate.name)
        if candidate.name == "winograd":
            raise LoadError("winograd", "it does not load this time")
        opened = Opened(load_s=0.5, first_run_s=0.25, memory=Memory(peak=7, steady=5), error=0.0)
        return Path(), opened


def test_engines_that_work_and_were_not_benchmarked_are_loaded_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "Builder", Opportunities)
    monkeypatch.setattr(lock, "lock_path", lambda: tmp_path / "machine.lock")
    Opportunities.asked = []
    measurer = SimpleNamespace(store=Store(tmp_path / "s.sqlite"), measured=0, cached=0, provenance={})
    measurer.time, measurer.machine = Timetable(), nullcontext
    singles = [BENCHMARKED, OTHER, HOPELESS, FAILED, BROKEN, OTHER_SETTINGS]
    for times in (1, 2):
        found = measure_footprints(
            PROBLEM, cast("Measurer", measurer), singles, {"onnxruntime", "benchmarked"}, unwatched
        )
        assert found == {"openvino": Footprint(cold_s=(0.75,), memory=(Memory(peak=7, steady=5),))}
        assert (measurer.measured, measurer.cached) == (1, times - 1)
    assert Opportunities.asked == ["openvino", "winograd", "winograd"]


WINOGRAD, OPENVINO, MNN = (
    single(name, outcome=measured(ms)) for name, ms in (("winograd", 1.0), ("openvino", 3.0), ("mnn", 2.0))
)


def mix(*names: str) -> Candidate:
    """One part on each."""
    parts = tuple(replace(part, target=Target(name)) for name in names for part in PROBLEM.whole(Target(name)))
    return replace(WINOGRAD.candidates[0], name="collage", label="collage", partitions=parts)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (WINOGRAD.candidates[0], (BENCHMARKED,)),  # what it is made of
        (mix("winograd", "openvino"), (BENCHMARKED,)),  # the fastest that is not ours
        (mix("openvino", "mnn"), ()),
        (MNN.candidates[0], ()),
    ],
)
def test_what_a_plan_with_our_kernels_is_held_against(chosen: Candidate, expected: tuple[Single, ...]) -> None:
    assert held_against(chosen, [WINOGRAD, OPENVINO, MNN, BENCHMARKED, FAILED]) == expected


def test_where_the_engine_that_ours_is_made_of_is_not_asked_for_there_is_nothing() -> None:
    assert held_against(WINOGRAD.candidates[0], [WINOGRAD, OPENVINO]) == ()
