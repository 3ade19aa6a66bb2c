"""Sharing out keeps the sum."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from intarsia.search.collage.cost_attribution import shared_out, total_work
from tests.fakes import fake_dag


@given(st.floats(0, 1e6), st.lists(st.floats(0, 1e9), min_size=1, max_size=8))
def test_the_parts_add_up_and_keep_the_proportion(ms: float, weights: list[float]) -> None:
    parts = shared_out(ms, weights)
    assert math.isclose(sum(parts), ms, abs_tol=1e-9)
    heaviest = max(range(len(weights)), key=weights.__getitem__)
    assert parts[heaviest] == max(parts)


def test_without_weights_all_get_the_same() -> None:
    assert shared_out(6.0, [0.0, 0.0, 0.0]) == (2.0, 2.0, 2.0)
    assert shared_out(6.0, []) == ()


def test_the_work_of_nodes_is_the_sum_of_theirs() -> None:
    graph = fake_dag([[], [0], [1]])
    assert total_work(graph, ["n0", "n2"]) == total_work(graph, ["n0"]) + total_work(graph, ["n2"]) > 0
