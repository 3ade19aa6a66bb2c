"""Which plans in less than fp32 are made: layers in 8 bits, engines in a type of less, both, or one end of a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from onnx import helper

from intarsia.backends.contract.failures import Cause
from intarsia.config import RunSettings
from intarsia.config.precision import Scheme
from intarsia.cost.records.record import Failure, Measurement
from intarsia.cost.timing.timetable import Timetable
from intarsia.cost.worker.progress import unwatched
from intarsia.errors import ExecutionError
from intarsia.graph import Graph
from intarsia.graph.quantise import layers_of, means_text
from intarsia.partitioning import Partition
from intarsia.planning.problem import Candidate
from intarsia.search.precision import candidates
from intarsia.search.precision import reduced_precision as module
from intarsia.search.precision.candidates import packs_12_bits
from intarsia.search.precision.families import WEIGHTS, Family
from intarsia.search.precision.layer_choice import Choice
from intarsia.search.precision.reduced_precision import ReducedPrecisionPlans, ReducedPrecisionSearch
from intarsia.search.precision.trials import Trials
from intarsia.search.precision.validation_set import Accuracy
from intarsia.search.thresholds import PRECISION
from intarsia.target import Target
from tests.unit.graph.models import info, model
from tests.unit.graph.quantise.networks import loaded, residual
from tests.unit.search.fakes import chain_problem, measured

ENGINE = Target("openvino")
GRAPH = loaded(residual())
LAYER = next(layer for layer in layers_of(GRAPH, GRAPH.nodes) if layer.node.id == "conv1")
LAYER_ERROR = 0.02
WEIGHT_SQUARES = {12: 0.00025**2, 10: 0.001**2, 8: 0.004**2, 6: 0.016**2, 4: 0.04**2}
"""Squared error that a weight in so many bits makes."""
ENGINE_SQUARE = 0.003**2
"""That which the engine makes beside it, as it rounds the other factor."""
EXACT = np.array([1.0, 0.0])


def chain(*nodes: Any, shape: tuple[int, ...], weights: Mapping[str, np.ndarray]) -> Graph:
    return loaded(model(nodes, [info("x", shape)], [info("y", shape)], weights))


SIGNAL = chain(
    helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1]),
    helper.make_node("Relu", ["c"], ["y"], name="relu"),
    shape=(1, 4, 16),
    weights={"w": np.ones((4, 4, 3), np.float32)},
)
"""A convolution over one dimension, which no scheme of layers takes."""
DECODER = chain(
    helper.make_node("MatMul", ["x", "w1"], ["a"], name="first"),
    helper.make_node("Relu", ["a"], ["r"], name="relu"),
    helper.make_node("MatMul", ["r", "w2"], ["y"], name="second"),
    shape=(1, 32),
    weights={name: np.eye(32, dtype=np.float32) for name in ("w1", "w2")},
)
"""Products of one row, which wait for their weights."""


def is_in_8_bits(partitions: Sequence[Partition]) -> bool:
    return any("int8-static" in part.precisions for part in partitions)


def few_bits(partitions: Sequence[Partition]) -> list[int]:
    schemes = [scheme for part in partitions if part.precision for _, scheme in part.precision.schemes]
    return [scheme.weight_bits for scheme in schemes if scheme.weight_bits is not None]


class Machine:
    """In the place of the measurer: each node costs 1 ms, half of it in bf16; conv1 saves half a ms in 8 bits.

    A weight of few bits saves ``saved`` ms, of 4 bits twice as many; its error is that of its scheme. On each input the
    error is so many times as large as ``by_input`` says.
    """

    folder = Path()
    time = Timetable()
    machine = staticmethod(nullcontext)

    def __init__(self, error_in_bf16: float, saved: float = 0.0, by_input: Sequence[float] = (1.0,)) -> None:
        self.square = error_in_bf16**2 / len(GRAPH.nodes)
        self.saved = saved
        self.by_input = by_input
        self.failure: Failure | None = None

    def knows(self, *_: object) -> bool:
        return False

    def cost_of_plan(self, partitions: Sequence[Partition], *_: Any) -> Measurement | Failure:
        if self.failure is not None:
            return self.failure
        ms = sum(len(part.nodes) * (0.5 if "bf16" in part.precisions else 1.0) for part in partitions)
        saved = sum(self.saved * 8 / bits for bits in few_bits(partitions))
        return measured(ms - 0.5 * is_in_8_bits(partitions) - saved)

    def answers(self, partitions: Sequence[Partition], settings: RunSettings, inputs: Sequence[Path]) -> list[Any]:
        square = sum(self.square * len(part.nodes) for part in partitions if "bf16" in part.precisions)
        square += LAYER_ERROR**2 * is_in_8_bits(partitions)
        beside = 0.0 if packs_12_bits(partitions) else ENGINE_SQUARE
        square += sum(WEIGHT_SQUARES[bits] + beside for bits in few_bits(partitions))
        factors = [factor for factor, _ in zip(cycle(self.by_input), inputs, strict=False)]
        return [(EXACT + np.array([0.0, factor * math.sqrt(square)]),) for factor in factors]


class Choosing:
    """In the place of the choosers: one layer, where the error leaves room for it."""

    def __init__(self, *_: object) -> None: ...

    def choose(self, family: Family, allowed: float) -> Choice:
        if family is WEIGHTS:
            return self._of_weights(allowed)
        layers = ((LAYER, Scheme.STATIC),) if allowed >= LAYER_ERROR else ()
        return Choice(layers=layers, ranges=(("picture", (-5.0, 5.0)),), error=LAYER_ERROR)

    def means(self) -> Mapping[str, str]:
        return {"picture": means_text(np.ones(3))}

    def error_of_all(self, family: Family) -> float:
        return math.sqrt(len(WEIGHTS.layers(DECODER)) * WEIGHT_SQUARES[8])

    def _of_weights(self, allowed: float) -> Choice:
        """Both layers in 4 bits, or the second alone, or both in 8, or none."""
        first, second = WEIGHTS.layers(DECODER)
        for schemes in (
            ((first, Scheme.WEIGHTS_4), (second, Scheme.WEIGHTS_4)),
            ((first, Scheme.WEIGHTS_8), (second, Scheme.WEIGHTS_4)),
            ((first, Scheme.WEIGHTS_8), (second, Scheme.WEIGHTS_8)),
            (),
        ):
            error = math.sqrt(sum(WEIGHT_SQUARES[scheme.weight_bits or 0] for _, scheme in schemes))
            if error <= allowed:
                break
        return Choice(layers=schemes, ranges=(), error=error)

    def __enter__(self) -> Choosing:
        return self

    def __exit__(self, *_: object) -> None: ...


def searched(
    monkeypatch: pytest.MonkeyPatch,
    machine: Machine,
    *,
    allowed: float,
    isa: tuple[str, ...] = ("avx512_bf16",),
    graph: Graph = GRAPH,
    engines: Sequence[Target] = (ENGINE,),
    judge: Callable[[Candidate], Accuracy | None] = lambda _: None,
) -> ReducedPrecisionPlans:
    monkeypatch.setattr(candidates, "this_machine", lambda: SimpleNamespace(isa=isa))
    monkeypatch.setattr(module, "Choosers", Choosing)
    monkeypatch.setattr(Trials, "_refusal", lambda self, part: None)
    problem = chain_problem(1, engines)
    settings = replace(problem.settings, max_error=allowed)
    problem = replace(problem, graph=graph, segments=tuple((node.id,) for node in graph.nodes), settings=settings)
    plan = Candidate(
        name=str(engines[0]),
        label=str(engines[0]),
        partitions=problem.whole(engines[0]),
        settings=RunSettings(threads=2),
        predicted_ms=(float(len(graph.nodes)),),
    )
    samples: Any = SimpleNamespace(calibration=tuple(Path(f"{number}.npz") for number in range(4)))
    substitute: Any = machine
    return ReducedPrecisionSearch(problem, substitute, samples, unwatched, judge).run([plan])


def labels(plans: ReducedPrecisionPlans) -> list[str]:
    return [each.candidate.label for each in plans.found]


def test_a_type_that_fits_is_joined_by_layers_in_8_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    found = searched(monkeypatch, Machine(0.01), allowed=0.05)
    assert labels(found) == ["openvino in bf16 + int8-static", "openvino in bf16"]
    assert found.found[0].error == pytest.approx(math.hypot(0.01, LAYER_ERROR))
    assert found.found[0].candidate.settings.max_error == 0.05
    assert [why for _, why in found.dropped] == [
        "another plan in reduced precision takes less than half as long",  # 8 bits alone
        "it takes 8 ms, in fp32 8",
    ]


def test_a_type_that_uses_the_error_up_leaves_no_room_for_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    found = searched(monkeypatch, Machine(0.0095), allowed=0.01)
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
    assert found.dropped == (("openvino, its weights in few bits", "it takes 8 ms, in fp32 8"),)


def test_an_engine_has_its_types_where_no_layer_has_schemes(monkeypatch: pytest.MonkeyPatch) -> None:
    found = searched(monkeypatch, Machine(0.01), allowed=0.05, graph=SIGNAL)
    assert labels(found) == ["openvino in bf16"]
    assert found.dropped == ()
    nothing = searched(monkeypatch, Machine(0.01), allowed=0.05, graph=SIGNAL, isa=())
    assert (nothing.found, nothing.reason) == ((), "nothing in the model computes faster in less than fp32")


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        (0.1, ["openvino in weights-int4", "openvino in weights-int8"]),
        (0.05, ["openvino in weights-int4 + weights-int8", "openvino in weights-int8"]),
        (0.01, ["openvino in weights-int8"]),
        (0.006, []),
    ],
)
def test_weights_have_as_few_bits_as_the_error_allows(
    monkeypatch: pytest.MonkeyPatch, allowed: float, expected: list[str]
) -> None:
    found = searched(monkeypatch, Machine(0.01, saved=0.4), allowed=allowed, graph=DECODER, isa=())
    assert [label for label in labels(found) if "weights" in label] == expected
    assert all(plan.error <= allowed for plan in found.found)


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        (
            0.05,
            [
                "winograd in weights-int4 + weights-int8",
                "onnxruntime in weights-int4 + weights-int8",
                "winograd in weights-int6",
            ],
        ),
        (
            0.021,
            [
                "winograd in weights-int6 + weights-int8",
                "winograd in weights-int8",
                "onnxruntime in weights-int8",
            ],
        ),
        (0.014, ["winograd in weights-int8", "onnxruntime in weights-int8"]),
        (0.006, ["winograd in weights-int8"]),
        (0.0055, ["winograd in weights-int10 + weights-int8"]),
        (0.001, ["winograd in weights-int12"]),
        (0.0003, []),
    ],
)
def test_kernels_of_our_own_have_more_bits_where_8_are_too_few(
    monkeypatch: pytest.MonkeyPatch, allowed: float, expected: list[str]
) -> None:
    engines = (Target("onnxruntime"), Target("winograd"))
    found = searched(monkeypatch, Machine(0.01, saved=0.4), allowed=allowed, graph=DECODER, isa=(), engines=engines)
    assert [label for label in labels(found) if "weights" in label] == expected
    assert all(plan.error <= allowed for plan in found.found)


def test_weights_that_are_not_waited_for_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    found = searched(monkeypatch, Machine(0.01), allowed=0.05, graph=DECODER, isa=())
    assert found.dropped[0] == ("openvino, its weights in few bits", "it takes 3 ms, in fp32 3")


def test_a_failure_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(0.01)
    machine.failure = Failure(stage="run", reason="signal 11", cause=Cause.ENGINE)
    found = searched(monkeypatch, machine, allowed=0.05)
    assert found.found == ()
    assert {reason for _, reason in found.dropped} == {"failed at run: signal 11"}


class Judging:
    """In the place of the validation set, where plans of some labels err by half more than may be."""

    def __init__(self, *misses: str) -> None:
        self.misses = misses
        self.asked: list[str] = []

    def __call__(self, plan: Candidate) -> Accuracy:
        self.asked.append(plan.label)
        error = 0.15 if plan.label in self.misses else 0.01
        return Accuracy(max_error=0.1, inputs=32, worst={"y": error}, mean={"y": error})


def test_a_plan_that_misses_the_error_on_validation_inputs_gives_way_to_one_that_errs_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judge = Judging("openvino in weights-int4")
    found = searched(monkeypatch, Machine(0.0, saved=0.2), allowed=0.1, graph=DECODER, isa=(), judge=judge)
    fewer = "openvino in weights-int4 + weights-int8"
    assert [label for label in labels(found) if "weights" in label] == [fewer, "openvino in weights-int8"]
    assert judge.asked == ["openvino in weights-int8", "openvino in weights-int4", fewer]
    why = "it has an error of 0.15 on validation inputs; 0.1 is allowed"
    assert found.dropped[0] == ("openvino in weights-int4", why)


def test_a_plan_that_fails_on_validation_inputs_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def judge(plan: Candidate) -> Accuracy | None:
        raise ExecutionError("openvino", "signal 11")

    found = searched(monkeypatch, Machine(0.0, saved=0.2), allowed=0.02, graph=DECODER, isa=(), judge=judge)
    assert labels(found) == []
    assert found.dropped[0] == ("openvino in weights-int8", "failed at run: signal 11")


def test_a_plan_that_is_hardly_faster_is_not_judged_before_it_won(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = Judging()
    found = searched(monkeypatch, Machine(0.0, saved=0.1), allowed=0.01, graph=DECODER, isa=(), judge=judge)
    assert labels(found) == ["openvino in weights-int8"]
    assert judge.asked == []


def test_where_there_is_no_time_to_judge_a_plan_near_the_error_a_part_of_it_is_found_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def judge(plan: Candidate) -> Accuracy:
        asked.append(plan.label)
        return Accuracy(max_error=0.05, inputs=0, worst={}, mean={})

    found = searched(monkeypatch, Machine(0.0499, by_input=(0.8, 1.0)), allowed=0.05, judge=judge)
    assert asked == ["openvino in bf16"]
    assert {"openvino in bf16", "openvino in bf16 in part"} <= set(labels(found))


def test_of_a_plan_that_erred_too_much_on_a_calibration_input_a_part_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = Judging()
    found = searched(monkeypatch, Machine(0.11), allowed=0.1, judge=judge)
    assert judge.asked[0] == "openvino in bf16 in part"
    assert "openvino in bf16" not in labels(found)
