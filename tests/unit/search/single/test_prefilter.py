"""Engines that compile slowly are looked at on the heaviest part, and only measured whole if they are near there."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from intarsia.backends import registry
from intarsia.config import SearchSettings
from intarsia.cost.records.record import Failure, Measurement, Outcome
from intarsia.cost.worker.deadline import NO_END, Deadline
from intarsia.cost.worker.progress import unwatched
from intarsia.graph import Weight
from intarsia.partitioning import Capability
from intarsia.planning.problem import Problem
from intarsia.search.single import prefilter
from intarsia.search.single.prefilter import STAGE
from intarsia.search.single.single_engine import Single, tune_singles
from intarsia.target import Target
from tests.fakes import fake_graph
from tests.unit.search.fakes import FakeMeasurer, chain_problem

FAST, SLOW = Target("reference"), Target("xla")
"""One engine whose traits say that it compiles slowly, and one whose do not."""
TIMES = {FAST: (1.0, 8.0, 1.0)}


@pytest.fixture
def problem(monkeypatch: pytest.MonkeyPatch) -> Problem:
    """Of which the middle part is the heaviest."""
    monkeypatch.setattr(prefilter, "total_work", lambda graph, nodes: sum(9.0 if n == "n1" else 1.0 for n in nodes))
    return chain_problem(3, [SLOW, FAST])


def tuned(
    problem: Problem, slow: Sequence[float], deadline: Deadline = NO_END
) -> tuple[dict[Target, Single], list[tuple[str, int]]]:
    fake = FakeMeasurer({**TIMES, SLOW: slow})
    singles = tune_singles(problem, fake.as_measurer(), unwatched, deadline)
    return {single.target: single for single in singles}, fake.asked


def test_one_that_is_far_behind_on_the_heaviest_part_is_not_measured_whole(problem: Problem) -> None:
    singles, asked = tuned(problem, (0.1, 16.0, 0.1))
    assert asked == [("reference", 3), ("xla", 1), ("reference", 1)]
    failure = singles[SLOW].outcome
    assert isinstance(failure, Failure)
    assert failure.stage == STAGE
    assert failure.reason.startswith("takes 2.0 times as long as reference on the heaviest part")


class Compiling(FakeMeasurer):
    """Compiles each part in two seconds."""

    def cost(self, *asked: Any, **more: Any) -> Outcome:
        found = super().cost(*asked, **more)
        return replace(found, compile_s=2.0) if isinstance(found, Measurement) else found


@pytest.mark.parametrize(
    ("max_error", "middle_ms", "weights", "words"),
    [
        (None, 9.0, 4, None),
        (0.01, 9.0, 1, "takes 1.1 times as long as reference on the heaviest part"),
        (0.01, 7.0, 1, None),
        (0.01, 7.0, 4, "not measured: compiling the model takes about 8 s; name it as a target to have it"),
        (None, 7.0, 4, None),
    ],
)
def test_where_an_error_is_allowed_the_whole_is_compiled_only_for_one_that_is_faster_and_not_for_long(
    problem: Problem, max_error: float | None, middle_ms: float, weights: int, words: str | None
) -> None:
    """The heaviest part reads one of so many weights alike."""
    names = [f"w{number}" for number in range(weights)]
    rows = [("n0", "Relu", ["x"], ["v0"]), ("n1", "Add", ["v0", "w0"], ["v1"]), ("n2", "Sum", ["v1", *names], ["v2"])]
    asked = replace(problem, graph=fake_graph(rows, weights=names), settings=SearchSettings(max_error=max_error))
    fake = Compiling({**TIMES, SLOW: (1.0, middle_ms, 1.0)})
    singles = tune_singles(asked, fake.as_measurer(), unwatched, Deadline(60.0))
    (outcome,) = (single.outcome for single in singles if single.target == SLOW)
    if words is None:
        assert outcome.cost_ms == 2.0 + middle_ms
    else:
        assert isinstance(outcome, Failure)
        assert outcome.reason.startswith(words)


def test_one_that_is_near_is_measured_whole(problem: Problem) -> None:
    singles, asked = tuned(problem, (1.0, 9.0, 1.0))
    assert asked == [("reference", 3), ("xla", 1), ("reference", 1), ("xla", 3)]
    assert singles[SLOW].outcome.cost_ms == 11.0


@pytest.mark.parametrize(("least", "is_looked_at"), [(1, True), (10**9, False)])
def test_one_that_compiles_slowly_from_a_size_on_is_looked_at_from_that_size_on(
    monkeypatch: pytest.MonkeyPatch, problem: Problem, least: int, is_looked_at: bool
) -> None:
    slow = replace(registry.of(SLOW).traits, compiles_slowly=False, compiles_slowly_from=least)
    monkeypatch.setattr(type(registry.of(SLOW)), "traits", slow)
    graph = replace(problem.graph, weights={"w": Weight.of("w", np.ones(2, np.float32))})
    _, asked = tuned(replace(problem, graph=graph), (0.1, 16.0, 0.1))
    assert (("xla", 1) in asked, ("xla", 3) in asked) == (is_looked_at, not is_looked_at)


def test_the_part_is_one_that_it_takes(problem: Problem) -> None:
    refusing = {SLOW: Capability(refusals={"n1": "no"}), FAST: Capability(refusals={})}
    singles, asked = tuned(replace(problem, capabilities=refusing), (1.0, 100.0, 1.0))
    assert asked == [("reference", 3), ("xla", 1), ("reference", 1)]
    failure = singles[SLOW].outcome
    assert isinstance(failure, Failure)
    assert failure.stage == "capability"


@pytest.mark.parametrize(
    "measured_whole",
    [
        lambda problem: replace(problem, named=frozenset({SLOW})),
        lambda problem: replace(problem, settings=replace(problem.settings, prune=False)),
    ],
)
def test_who_names_an_engine_or_does_not_prune_gets_its_figure(problem: Problem, measured_whole) -> None:  # type: ignore[no-untyped-def]
    singles, _ = tuned(measured_whole(problem), (1.0, 100.0, 1.0))
    assert singles[SLOW].outcome.cost_ms == 102.0


def test_nobody_is_looked_at_when_the_time_for_it_is_spent(problem: Problem) -> None:
    singles, asked = tuned(problem, (1.0, 8.0, 1.0), Deadline(0.0))
    assert asked == [("reference", 3)]
    failure = singles[SLOW].outcome
    assert isinstance(failure, Failure)
    assert "name it as a target" in failure.reason


@pytest.mark.parametrize(("first_part_s", "is_looked_at"), [(5.0, True), (60.0, False)])
def test_one_whose_first_part_takes_too_long_is_not_begun(
    monkeypatch: pytest.MonkeyPatch, problem: Problem, first_part_s: float, is_looked_at: bool
) -> None:
    slow = replace(registry.of(SLOW).traits, first_part_s=first_part_s)
    monkeypatch.setattr(type(registry.of(SLOW)), "traits", slow)
    singles, asked = tuned(problem, (1.0, 8.0, 1.0), Deadline(100.0))
    assert (("xla", 1) in asked) is is_looked_at
    if not is_looked_at:
        failure = singles[SLOW].outcome
        assert isinstance(failure, Failure)
        assert "its first part takes 60 s; name it as a target" in failure.reason


@pytest.mark.parametrize(("deadline", "words"), [(Deadline(0.0), "name it as a target"), (NO_END, "times as long as")])
def test_one_that_was_not_measured_is_nothing_to_the_next(problem: Problem, deadline: Deadline, words: str) -> None:
    others = [SLOW, Target("inductor"), Target("tvm")]
    several = chain_problem(3, [FAST, *others])
    fake = FakeMeasurer({**TIMES, **dict.fromkeys(others, (1.0, 99.0, 1.0))})
    first, *rest = tune_singles(several, fake.as_measurer(), unwatched, deadline)
    assert first.outcome.cost_ms == 10.0
    for single in rest:
        assert isinstance(single.outcome, Failure)
        assert words in single.outcome.reason


def test_who_was_not_looked_at_is_not_the_next_time_either(problem: Problem) -> None:
    fake = FakeMeasurer({**TIMES, SLOW: (1.0, 8.0, 1.0)})
    late, early = Deadline(90.0, start=time.monotonic() - 80.0), Deadline(90.0)
    first, second = (tune_singles(problem, fake.as_measurer(), unwatched, deadline) for deadline in (late, early))
    assert first == second
    assert ("xla", 1) not in fake.asked
    more = tune_singles(problem, fake.as_measurer(), unwatched, Deadline(180.0))
    assert more[-1].outcome.cost_ms == 10.0
