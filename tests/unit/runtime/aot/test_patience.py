from __future__ import annotations

from intarsia.codegen.emulator import TIMEOUT_S
from intarsia.graph import load_model
from intarsia.runtime.aot.patience import first_run_s, later_run_s
from networks import folded_resnet18, micro


def test_a_larger_network_may_take_longer() -> None:
    small, large = (first_run_s(load_model(each)) for each in (micro.build("gru"), folded_resnet18.in_float()))
    assert TIMEOUT_S <= small < TIMEOUT_S + 10
    assert large > 1000


def test_what_one_run_took_scales_what_others_may() -> None:
    assert later_run_s({}) == TIMEOUT_S
    assert later_run_s({"run_s": 100.0}) >= TIMEOUT_S + 1000
