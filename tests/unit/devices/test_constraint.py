"""Constraints as values."""

from __future__ import annotations

from intarsia.devices import Constraint
from intarsia.target import VirtualDevice


def test_one_that_reaches_nothing_is_free() -> None:
    free = Constraint.value("t", "cuda", constrain_body=False)
    assert free.device == VirtualDevice()
    fixed = Constraint.value("t", "cuda", constrain_result=True)
    assert (fixed.device, fixed.constrain_body, fixed.constrain_result) == ("cuda", True, True)


def test_a_constraint_says_who_wished_what() -> None:
    assert str(Constraint.node("conv1", "gpu2", source="a.yaml")) == "node 'conv1' on 'gpu2' (from a.yaml)"
    assert str(Constraint.inputs(VirtualDevice(device="cpu"))) == "all inputs on 'cpu' (from Python)"
