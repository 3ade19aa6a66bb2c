"""A plan against itself: what counts as a difference, and how trials are summed up."""

from __future__ import annotations

import pytest

import networks
from benchmarks.aa_trials import FIRST, SECOND, _difference, plan, summary
from intarsia.cost.timing.verdict import CONTROL_NAME, Verdict
from intarsia.graph import load_model


def verdict(first: list[float], second: list[float], *, is_void: bool = False) -> Verdict:
    rounds = {FIRST: tuple(first), SECOND: tuple(second), CONTROL_NAME: tuple(first)}
    sizes = (len(first) // 3,) * 3
    return Verdict(rounds_ms=rounds, set_sizes=sizes, profile_ms={}, errors={}, failed={}, is_void=is_void)


@pytest.mark.parametrize(
    ("first", "second", "difference"),
    [
        ([1.0] * 18, [1.0] * 18, None),
        ([1.0] * 18, [0.9] * 18, SECOND),
        ([0.9] * 18, [1.0] * 18, FIRST),
        ([1.0] * 18, [0.9] * 12 + [1.1] * 6, None),
    ],
)
def test_either_may_be_said_to_be_faster(first: list[float], second: list[float], difference: str | None) -> None:
    assert _difference(verdict(first, second)) == difference
    assert _difference(verdict(first, second, is_void=True)) is None


def test_a_plan_has_a_region_for_each_engine() -> None:
    graph = load_model(networks.build("tiny"))
    planned = plan(graph, ("onnxruntime", "ncnn"))
    assert planned.engines == ("onnxruntime", "ncnn")
    assert sum(len(step.nodes) for step in planned.steps) == len(graph.nodes)


def test_the_summary_counts() -> None:
    found = summary([{"difference": None, "void": True}, {"difference": FIRST, "void": False}])
    assert (found["trials"], found["no_difference"], found["of_them_void"]) == (2, 1, 1)
