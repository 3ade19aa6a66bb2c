"""Where an error is allowed, an engine that is far faster in a smaller type ends the search in fp32."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from intarsia.backends.contract.failures import Cause
from intarsia.config import RunSettings
from intarsia.cost.records.record import Failure, Outcome
from intarsia.partitioning import Partition
from intarsia.planning.problem import Candidate, Problem
from intarsia.search.precision import candidates
from intarsia.search.precision.early_lead import leads_in_less
from intarsia.search.thresholds import PRECISION
from intarsia.target import Target
from tests.unit.search.fakes import chain_problem, measured

ENGINE, OTHER = Target("openvino"), Target("onnxruntime")


def plan(target: Target, ms: float) -> Candidate:
    return Candidate(
        name=str(target),
        label=str(target),
        partitions=(Partition(target=target, nodes=("n0", "n1")),),
        settings=RunSettings(threads=2),
        predicted_ms=(ms,),
    )


class Looking:
    """In the place of the measurer: what a plan in bf16 takes."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.allowed: list[float | None] = []

    def cost_of_plan(self, partitions: Sequence[Partition], settings: RunSettings, *_: Any) -> Outcome:
        assert [part.precisions for part in partitions] == [("bf16",)]
        self.allowed.append(settings.max_error)
        return self.outcome


def problem(max_error: float | None = 0.01, *, prune: bool = True) -> Problem:
    found = chain_problem(2, [ENGINE, OTHER])
    return replace(found, settings=replace(found.settings, max_error=max_error, prune=prune))


def looked(
    monkeypatch: pytest.MonkeyPatch, outcome: Outcome, of: Problem, isa: tuple[str, ...] = ("avx512_bf16",)
) -> tuple[bool, Looking]:
    monkeypatch.setattr(candidates, "this_machine", lambda: SimpleNamespace(isa=isa))
    looking = Looking(outcome)
    return leads_in_less(of, cast("Any", looking), [plan(ENGINE, 10.0), plan(OTHER, 8.0)]), looking


@pytest.mark.parametrize(("ms", "leads"), [(6.9, True), (7.0, False), (9.0, False)])
def test_against_the_best_engine_in_fp32(monkeypatch: pytest.MonkeyPatch, ms: float, leads: bool) -> None:
    found, looking = looked(monkeypatch, measured(ms), problem())
    assert found is leads
    assert looking.allowed == [PRECISION.lead_error * 0.01]


@pytest.mark.parametrize("of", [problem(None), problem(prune=False)])
def test_nobody_looks_without_an_error_or_where_all_is_searched(monkeypatch: pytest.MonkeyPatch, of: Problem) -> None:
    found, looking = looked(monkeypatch, measured(1.0), of)
    assert (found, looking.allowed) == (False, [])


def test_where_the_processor_has_no_such_type_nothing_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    found, looking = looked(monkeypatch, measured(1.0), problem(), isa=())
    assert (found, looking.allowed) == (False, [])


def test_an_engine_that_fails_does_not_lead(monkeypatch: pytest.MonkeyPatch) -> None:
    failure = Failure(stage="verify", reason="it is wrong", cause=Cause.ENGINE)
    found, _ = looked(monkeypatch, failure, problem())
    assert not found
