"""What XLA refuses, without JAX."""

from __future__ import annotations

import onnx
import pytest
from onnx import helper

from intarsia.backends import registry
from intarsia.backends.xla.backend import XlaBackend
from intarsia.config import RunSettings
from intarsia.graph import load_model
from intarsia.target import Target
from tests.conformance.cases import f32, one
from tests.unit.graph.models import info, model


def test_it_is_found_by_its_file() -> None:
    assert isinstance(registry.get("xla"), XlaBackend)


@pytest.mark.parametrize("narrow", ["FLOAT8E4M3FN", "INT4"])
def test_it_reads_narrow_types_and_computes_in_wide_ones(narrow: str) -> None:
    values = [info("x", (4,), onnx.TensorProto.DataType.Value(narrow)), info("y", (4,))]
    cast = helper.make_node("Cast", ["x"], ["y"], to=onnx.TensorProto.FLOAT)
    graph = load_model(model([cast], values[:1], values[1:], opset=23, ir_version=11))
    assert registry.get("xla").capability(graph, Target("xla")).refusals == {}


def test_it_refuses_what_is_not_lowered() -> None:
    graph = load_model(one("Det", "d", {"x": f32(3, 3)}).model())
    assert registry.get("xla").capability(graph, Target("xla")).refusals == {"Det_0": "Det: it has no lowering"}


def test_it_takes_the_threads_of_the_plan_and_looks_for_no_other_device() -> None:
    wanted = registry.get("xla").environment(RunSettings(threads=3))
    assert wanted == {"JAX_PLATFORMS": "cpu", "NPROC": "3"}
