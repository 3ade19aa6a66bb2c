"""Inputs for each purpose are others, and the plan in fp32 answers those that judge once."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from intarsia.backends.contract.failures import Cause
from intarsia.config import RunSettings
from intarsia.cost.records.record import Failure
from intarsia.partitioning import Partition
from intarsia.planning.problem import Candidate
from intarsia.search.precision.validation_set import Accuracy, Samples, Validation
from intarsia.search.thresholds import PRECISION
from intarsia.target import Target
from tests.unit.graph.quantise.networks import loaded, residual


def plan(name: str) -> Candidate:
    partition = Partition(target=Target("reference"), nodes=("conv1",))
    settings = RunSettings(threads=1)
    return Candidate(name=name, label=name, partitions=(partition,), settings=settings, predicted_ms=(1.0,))


def test_no_input_has_two_purposes(tmp_path: Path) -> None:
    samples = Samples(loaded(residual()), tmp_path, seed=3)
    several = (samples.ranges, samples.calibration, samples.validation())
    assert [len(each) for each in several] == [PRECISION.ranges, PRECISION.calibration, PRECISION.validation]
    pictures = [np.load(path)["picture"].tobytes() for each in several for path in each]
    assert len(set(pictures)) == len(pictures)


def test_the_plan_in_fp32_answers_once(tmp_path: Path) -> None:
    asked: list[tuple[str, int]] = []
    exact, rough = plan("exact"), plan("rough")

    def answers(partitions: object, settings: object, inputs: Any) -> Any:
        name = "rough" if partitions is rough.partitions else "exact"
        asked.append((name, len(inputs)))
        return [(np.full(4, 1.5 if name == "rough" else 1.0),) for _ in inputs]

    measurer = SimpleNamespace(graph=SimpleNamespace(outputs=("y",)), answers=answers)
    samples = Samples(loaded(residual()), tmp_path, seed=0)
    validation = Validation(cast("Any", measurer), samples, exact)
    assert not validation.has_right(1)
    for count in (8, 4, 16):
        found = validation.measured(rough, 0.4, count)
        assert isinstance(found, Accuracy)
        assert found.inputs == count
        assert found.worst["y"] == pytest.approx(0.5)
    assert asked == [("rough", 8), ("exact", 8), ("rough", 4), ("rough", 16), ("exact", 16)]
    assert validation.has_right(16)


def test_who_fails_has_no_error(tmp_path: Path) -> None:
    failure = Failure(stage="run", reason="signal 11", cause=Cause.ENGINE)
    measurer = SimpleNamespace(answers=lambda *_: failure)
    samples = Samples(loaded(residual()), tmp_path, seed=0)
    assert Validation(cast("Any", measurer), samples, plan("exact")).measured(plan("rough"), 0.1, 4) is failure


def test_how_far_an_error_is_from_the_one_with_room() -> None:
    accuracy = Accuracy(max_error=0.1, inputs=32, worst={"y": 0.047, "z": 0.01}, mean={"y": 0.01, "z": 0.01})
    assert accuracy.excess == pytest.approx(0.047 / (PRECISION.seen * 0.1))
    assert accuracy.has_room
