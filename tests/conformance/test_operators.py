"""Every operator case on every engine: refused beforehand, or right."""

from __future__ import annotations

import numpy as np
import pytest

from intarsia.backends import registry
from intarsia.target import Target
from tests.conformance.cases import Case
from tests.conformance.conftest import Ask, expected, graph_of
from tests.conformance.judge import differences, faults
from tests.conformance.operator_cases import OPERATOR_CASES

NAMES = [case.name for case in OPERATOR_CASES]


@pytest.mark.engine
@pytest.mark.parametrize("case", OPERATOR_CASES, ids=lambda case: case.name)
def test_operator(engine: str, ask: Ask, case: Case) -> None:
    answer = ask("run", case)
    want = [expected(case.name, turn) for turn in ("a", "b", "a")]
    assert faults(answer, want, registry.get(engine).traits.mutates_inputs) == []


@pytest.mark.parametrize("name", NAMES)
def test_some_real_engine_takes_the_operator(name: str) -> None:
    graph = graph_of(name)
    takers = [
        engine
        for engine in registry.names()
        if engine != "reference" and not registry.get(engine).capability(graph, Target(engine)).refusals
    ]
    assert takers


@pytest.mark.parametrize("name", NAMES)
def test_the_case_tells_a_right_answer_from_a_stale_one(name: str) -> None:
    first, second = expected(name, "a"), expected(name, "b")
    assert any(differences(first[output], second[output]) for output in first)


def test_names_are_unique() -> None:
    assert len(set(NAMES)) == len(NAMES)


def test_a_small_fault_is_seen() -> None:
    want = np.linspace(-1, 1, 7, dtype=np.float32)
    assert differences(want + np.float32(1e-6), want) == []
    assert differences(want + np.float32(1e-3), want) != []
    assert differences(want[::-1].copy(), want) != []
    assert differences(want.astype(np.float64), want) != []
    assert differences(np.where(want > 0, np.float32("nan"), want), want) != []
