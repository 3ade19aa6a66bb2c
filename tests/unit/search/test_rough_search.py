"""Which plans in less than fp32 are made: layers in 8 bits, engines in a type of less, both, or one end of a model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from intarsia.backends.contract.failures import Cause
from intarsia.config import RunSettings
from intarsia.config.precision import Scheme
from intarsia.cost.records.record import Failure, Measurement
from intarsia.cost.timing.timetable import Timetable
from intarsia.cost.worker.progress import unwatched
from intarsia.graph.quantise import layers_of
from intarsia.partitioning import Partition
from intarsia.planning.problem import Candidate
from intarsia.search.precision import candidates
from intarsia.search.precision.layer_choice import Choice
from intarsia.search.precision.reduced_precision import ReducedPrecisionPlans, ReducedPrecisionSearch
from intarsia.search.thresholds import PRECISION
from intarsia.target import Target
from tests.unit.graph.quantise.networks import loaded, residual
from tests.unit.search.fakes import chain_problem, measured

ENGINE = Target("openvino")
GRAPH = loaded(residual())
LAYER = next(layer for layer in layers_of(GRAPH, GRAPH.nodes) if layer.node.id == "conv1")
LAYER_ERROR = 0.02
EXACT = np.array([1.0, 0.0])


class Machine:
    """In the place of the measurer: each node costs 1 ms, half of it in bf16; conv1 saves half a ms in 8 bits."""

    folder = Path()
    time = Timetable()
    machine = staticmethod(nullcontext)

    def __init__(self, error_in_bf16: float) -> None:
        self.square = error_in_bf16**2 / len(GRAPH.nodes)
        self.failure: Failure | None = None

    def cost_of_plan(self, partitions: Sequence[Partition], *_: Any) -> Measurement | Failure:
        if self.failure is not None:
            return self.failure
        ms = sum(len(part.nodes) * (0.5 if "bf16" in part.precisions else 1.0) for part in partitions)
        return measured(ms - 0.5 * any(part.precision is not None for part in partitions))

    def answers(self, partitions: Sequence[Partition], settings: RunSettings, inputs: Sequence[Path]) -> list[Any]:
        square = sum(self.square * len(part.nodes) for part in partitions if "bf16" in part.precisions)
        square += LAYER_ERROR**2 * any(part.precision is not None for part in partitions)
        return [(EXACT + np.array([0.0, math.sqrt(square)]),) for _ in inputs]


class Choosing:
    """In the place of the chooser: one layer, where the error leaves room for it."""

    exact = ((EXACT,),) * 4

    def choose(self, allowed: float) -> Choice:
        layers = ((LAYER, Scheme.STATIC),) if allowed >= LAYER_ERROR else ()
        return Choice(layers=layers, ranges=(("picture", (-5.0, 5.0)),), error=LAYER_ERROR)

    def __enter__(self) -> Choosing:
        return self

    def __exit__(self, *_: object) -> None: ...


def searched(
    monkeypatch: pytest.MonkeyPatch, machine: Machine, *, allowed: float, isa: tuple[str, ...] = ("avx512_bf16",)
) -> ReducedPrecisionPlans:
    monkeypatch.setattr(candidates, "this_machine", lambda: SimpleNamespace(isa=isa))
    monkeypatch.setattr(ReducedPrecisionSearch, "_chooser", lambda self, target: Choosing())
    monkeypatch.setattr(ReducedPrecisionSearch, "_refusal", lambda self, part: None)
    problem = chain_problem(1, [ENGINE])
    settings = replace(problem.settings, max_error=allowed)
    problem = replace(problem, graph=GRAPH, segments=tuple((node.id,) for node in GRAPH.nodes), settings=settings)
    plan = Candidate(
        name="openvino",
        label="openvino",
        partitions=problem.whole(ENGINE),
        settings=RunSettings(threads=2),
        predicted_ms=(float(len(GRAPH.nodes)),),
    )
    samples: Any = SimpleNamespace(calibration=tuple(Path(f"{number}.npz") for number in range(4)))
    substitute: Any = machine
    return ReducedPrecisionSearch(problem, substitute, samples, unwatched).run([plan])


def labels(plans: ReducedPrecisionPlans) -> list[str]:
    return [each.candidate.label for each in plans.found]


def test_a_type_that_fits_is_joined_by_layers_in_8_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    found = searched(monkeypatch, Machine(0.01), allowed=0.05)
    assert labels(found) == ["openvino in bf16 + int8-static", "openvino in bf16"]
    assert found.found[0].error == pytest.approx(math.hypot(0.01, LAYER_ERROR))
    assert found.found[0].candidate.settings.max_error == 0.05
    assert found.dropped[-1][1] == "another plan in reduced precision takes less than half as long"  # 8 bits alone


def test_a_type_that_uses_the_error_up_leaves_no_room_for_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    found = searched(monkeypatch, Machine(0.0096), allowed=0.01)
    assert labels(found) == ["openvino in bf16"]
    assert ("openvino, ranges from calibration, beside its engines in less than fp32", "no layer fits the error") in (
        found.dropped
    )


def test_of_a_type_that_is_too_rough_one_end_computes_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = searched(monkeypatch, Machine(0.0125), allowed=0.01)
    assert labels(found) == ["openvino in bf16 in part"]
    (plan,) = found.found
    assert plan.error <= PRECISION.margin * 0.01
    assert [part.precisions for part in plan.candidate.partitions] in ([("bf16",), ()], [(), ("bf16",)])
    assert sorted(node for part in plan.candidate.partitions for node in part.nodes) == sorted(GRAPH.position)


def test_where_no_end_fits_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found = searched(monkeypatch, Machine(50.0), allowed=0.01)
    assert found.found == ()
    assert found.dropped[0] == (
        "openvino, its engines in less than fp32",
        "its error is 50, so is each end's",
    )
    assert found.reason == "no plan in reduced precision is benchmarked: openvino: its error is 50, so is each end's"


def test_without_a_fast_type_layers_are_all_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    found = searched(monkeypatch, Machine(0.01), allowed=0.05, isa=())
    assert labels(found) == ["openvino in int8-static"]  # once: this layer has no ranges to find while the model runs
    assert found.dropped == ()


def test_a_failure_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(0.01)
    machine.failure = Failure(stage="run", reason="signal 11", cause=Cause.ENGINE)
    found = searched(monkeypatch, machine, allowed=0.05)
    assert found.found == ()
    assert {reason for _, reason in found.dropped} == {"failed at run: signal 11"}
