"""What options of NVIDIA's engines change in what they take."""

from __future__ import annotations

from onnx import TensorProto, helper

from intarsia.backends.operator_tables.nvidia import tensorrt
from intarsia.graph import load_model
from intarsia.target import Target
from tests.unit.backends.operator_tables.small_graphs import IMAGE, refused
from tests.unit.graph.models import info, model


def test_half_precision_is_for_tensorrt_with_its_option_alone() -> None:
    made = model(
        [helper.make_node("Relu", ["x"], ["y"])],
        [info("x", IMAGE, TensorProto.FLOAT16)],
        [info("y", None, TensorProto.FLOAT16)],
    )
    graph = load_model(made)
    (told,) = refused("tensorrt", graph).values()
    assert told == "tensorrt's Relu computes in float32, not in float16"
    assert refused("tensorrt -use_fp16", graph) == {}


def test_a_version_before_the_seventh_has_no_error_function() -> None:
    assert "Erf" in tensorrt(Target("tensorrt")).rows
    assert "Erf" in tensorrt(Target("tensorrt -tensorrt_version=8,5,0")).rows
    assert "Erf" not in tensorrt(Target("tensorrt -tensorrt_version=6,0,1")).rows
