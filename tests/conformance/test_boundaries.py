"""Sub-graphs with unusual edges on every engine."""

from __future__ import annotations

import pytest

from intarsia.backends import registry
from tests.conformance.boundary_cases import BOUNDARY_CASES
from tests.conformance.cases import Case
from tests.conformance.conftest import Ask, expected
from tests.conformance.judge import faults


@pytest.mark.engine
@pytest.mark.parametrize("case", BOUNDARY_CASES, ids=lambda case: case.name)
def test_boundary(engine: str, ask: Ask, case: Case) -> None:
    answer = ask("run", case)
    want = [expected(case.name, turn) for turn in ("a", "b", "a")]
    assert faults(answer, want, registry.get(engine).traits.mutates_inputs) == []
