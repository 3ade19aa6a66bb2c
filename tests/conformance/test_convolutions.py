"""3x3 convolutions of stride 1 on every engine, and that the one which is made for them takes them all."""

from __future__ import annotations

import pytest

from intarsia.backends import registry
from intarsia.target import Target
from tests.conformance.cases import Case
from tests.conformance.conftest import Ask, expected, graph_of
from tests.conformance.convolution_cases import CONVOLUTION_CASES
from tests.conformance.judge import faults


@pytest.mark.engine
@pytest.mark.parametrize("case", CONVOLUTION_CASES, ids=lambda case: case.name)
def test_convolution(engine: str, ask: Ask, case: Case) -> None:
    answer = ask("run", case)
    want = [expected(case.name, turn) for turn in ("a", "b", "a")]
    assert faults(answer, want, registry.get(engine).traits.mutates_inputs) == []


@pytest.mark.parametrize("case", CONVOLUTION_CASES, ids=lambda case: case.name)
def test_winograd_takes_it(case: Case) -> None:
    assert registry.get("winograd").capability(graph_of(case.name), Target("winograd")).refusals == {}
