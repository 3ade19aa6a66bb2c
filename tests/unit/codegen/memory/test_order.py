from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from intarsia.codegen.arena import plan
from intarsia.codegen.memory.liveness import Liveness
from intarsia.codegen.memory.order import good_orders, in_best_order
from tests.unit.codegen.modules import Drawing, drawn, run_at_worst


def test_the_order_of_branches_is_the_one_that_needs_least() -> None:
    drawing = Drawing()
    first = drawing.call(16)
    wide = [drawing.call(1000, first) for _ in range(3)]
    narrow = [drawing.call(10, each) for each in wide]
    drawing.call(10, *narrow)
    module = drawing.module()
    assert Liveness(module).lower_bound() >= 3000
    assert Liveness(in_best_order(module)).lower_bound() == 16 + 1000 + 3 * 10 - 10
    arena = plan(in_best_order(module), 1)
    assert arena.size <= 16 + 1000 + 30


def test_an_order_that_is_not_beaten_stays() -> None:
    drawing = Drawing()
    name = drawing.call(64)
    for _ in range(5):
        name = drawing.call(64, drawing.call(16, name), name)
    module = drawing.module()
    assert in_best_order(module) is module


def test_the_order_of_a_module_with_more_sets_than_are_followed_keeps_data_flowing_forward() -> None:
    drawing = Drawing()
    wide = [drawing.call(64 + each, drawing.call(16)) for each in range(9)]
    ends = [drawing.call(8, each) for each in wide]
    drawing.call(8, *ends)
    module = in_best_order(drawing.module(), most_sets=3)
    run_at_worst(module, plan(module, tries=30))
    assert plan(module, 1, tries=30).size < plan(drawing.module(), 1, tries=30).size


@given(st.integers(0, 100_000), st.integers(1, 14))
@settings(max_examples=40, deadline=None)
def test_no_order_needs_more_than_the_own_one_and_each_call_has_what_it_reads(seed: int, count: int) -> None:
    module = drawn(seed, count)
    own = Liveness(module).lower_bound()
    for ordered in good_orders(module):
        assert sorted(map(id, ordered.calls)) == sorted(map(id, module.calls))
        assert Liveness(ordered).lower_bound() <= own
        run_at_worst(ordered, plan(ordered, tries=10))
