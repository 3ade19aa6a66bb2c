from __future__ import annotations

import pytest
from onnx import helper

from intarsia.errors import ModelError
from intarsia.graph import load_model
from intarsia.graph.sizes import check_fits
from tests.unit.graph.models import info, model


def test_a_value_that_no_memory_holds_is_named() -> None:
    nodes = [helper.make_node("MatMul", ["x", "t"], ["y"], name="outer")]
    graph = load_model(model(nodes, [info("x", (50_000, 1)), info("t", (1, 50_000))], [info("y", None)]))
    check_fits(graph, 16 << 30)
    with pytest.raises(ModelError, match=r"node 'outer' computes 'y' float32\[50000, 50000\], which takes 10 GB, and"):
        check_fits(graph, 4 << 30)


def test_an_input_too() -> None:
    graph = load_model(model([helper.make_node("Relu", ["x"], ["y"])], [info("x", (1000, 1000))], [info("y", None)]))
    with pytest.raises(ModelError, match="input 'x'"):
        check_fits(graph, 1_000_000)
