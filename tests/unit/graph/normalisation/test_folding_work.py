from __future__ import annotations

import pytest

from intarsia.graph.normalisation.fold import folding_ns, is_bounded


def test_a_product_costs_what_it_multiplies() -> None:
    inputs, outputs = [200 * 300, 300 * 400], [200 * 400]
    moved = 10 * sum((*inputs, *outputs))
    assert folding_ns("MatMul", inputs, outputs) - moved == pytest.approx(200 * 300 * 400, rel=0.01)


def test_what_loops_in_python_costs_more_than_what_numpy_does_at_once() -> None:
    assert folding_ns("GridSample", [100], [100]) > 100 * folding_ns("Add", [100], [100])


def test_only_some_operators_cannot_grow() -> None:
    assert is_bounded("NonZero")
    assert not is_bounded("Range")
