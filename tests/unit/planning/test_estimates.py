"""A plan for a machine that is not here says what it takes at least, where that can be known."""

from __future__ import annotations

import pytest

from intarsia.backends import registry
from intarsia.cost.roofline import LABEL
from intarsia.partitioning import parse_plan
from intarsia.planning.request import Compilation, Request, plan_compilation
from tests.unit.graph.models import two_layers

FIGURES = "-peak-flops=1000000000 -memory-bandwidth=1000000000"


def planned(target: str) -> Compilation:
    return plan_compilation(Request(model=two_layers(), target=target))


def test_the_plan_file_of_a_machine_that_is_not_here_holds_the_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "usable", lambda: ())
    job = planned(f"llvm, rocm {FIGURES}")
    assert job.missing
    assert job.estimates == ()  # llvm takes all, and states nothing
    job = planned(f"rocm {FIGURES}, llvm")
    (told,) = job.estimates
    assert told.startswith("partition 1: at least ")
    assert LABEL in told
    assert f"# {told}\n" in job.plan_text
    assert parse_plan(job.plan_text).partitions == job.given.partitions


def test_a_plan_that_is_measured_here_has_none() -> None:
    job = planned(f"reference -base='llvm {FIGURES}'")
    assert not job.missing
    assert LABEL not in job.plan_text
