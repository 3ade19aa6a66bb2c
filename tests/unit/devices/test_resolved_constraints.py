"""Constraints looked up in a graph."""

from __future__ import annotations

import pytest

from intarsia.config import CompilationConfig
from intarsia.devices import Constraint
from intarsia.devices.resolved_constraints import Coupling, Places, resolve_constraints
from tests.fakes import fake_dag

GRAPH = fake_dag([[], [0]])
CONFIG = CompilationConfig.of("llvm")


@pytest.mark.parametrize(
    ("constraint", "couplings", "pinned"),
    [
        (None, (Coupling.FLOW, Coupling.FLOW), []),
        (Constraint.node("n0", "cpu"), (Coupling.FLOW, Coupling.CUT), [0]),
        (Constraint.value("v0", "cpu"), (Coupling.FLOW, Coupling.CUT), [0]),
        (Constraint.value("v0", "cpu", constrain_result=True), (Coupling.FLOW, Coupling.ONE), [0]),
        (
            Constraint.value("v0", "cpu", constrain_body=False, constrain_result=True),
            (Coupling.FLOW, Coupling.CUT),
            [1],
        ),
        (Constraint.value("v0", "cpu", constrain_body=False), (Coupling.FLOW, Coupling.TRY), []),
        (Constraint.inputs("cpu"), (Coupling.CUT, Coupling.FLOW), [2]),
        (Constraint.value("x", "cpu"), (Coupling.CUT, Coupling.FLOW), [2]),
        (Constraint.outputs("cpu"), (Coupling.FLOW, Coupling.FLOW), [3]),
    ],
)
def test_what_a_constraint_does_to_the_input_and_to_the_value_between(
    constraint: Constraint | None, couplings: tuple[Coupling, Coupling], pinned: list[int]
) -> None:
    places = Places(GRAPH)
    problems: list[str] = []
    resolved = resolve_constraints(places, CONFIG, [] if constraint is None else [constraint], problems)
    values = (GRAPH.values[name] for name in ("x", "v0"))
    assert tuple(resolved.coupling(value, places.producer(value)) for value in values) == couplings
    assert [pin.place for pin in resolved.pins] == pinned
    assert problems == []


def test_what_cannot_be_looked_up_is_a_problem_and_the_rest_is_read() -> None:
    problems: list[str] = []
    found = [Constraint.node("n0", "cuda"), Constraint.node("n7", "cpu"), Constraint.node("n1", "cpu")]
    resolved = resolve_constraints(Places(GRAPH), CONFIG, found, problems)
    assert [pin.place for pin in resolved.pins] == [1]
    assert [problem.split(": ")[0] for problem in problems] == [
        "node 'n0' on 'cuda' (from Python)",
        "node 'n7' on 'cpu' (from Python)",
    ]
