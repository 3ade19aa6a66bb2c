from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from intarsia.backends.onnxruntime.cubic_resize import OPERATOR, is_cubic, replace_cubic, weighing
from intarsia.backends.onnxruntime.saved_model import attributes_of
from tests.unit.graph.models import info, model

SHAPES = {"x": (1, 3, 4, 5), "y": (1, 3, 8, 5)}
MODES = ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners")


def resize(inputs: str = "x - - sizes", **stated: Any) -> Any:
    """A graph of one node that resizes."""
    names = [name.replace("-", "") for name in inputs.split()]
    constants = {"sizes": np.array(SHAPES["y"]), "scales": np.array([1, 1, 2, 1], np.float32)}
    one = helper.make_node("Resize", names, ["y"], mode=stated.pop("mode", "cubic"), **stated)
    return model([one], [info("x", SHAPES["x"]), info("s", (4,))], [info("y", None)], constants)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("outside", [0, 1])
@pytest.mark.parametrize("after", [2, 3, 11])
def test_weights_are_those_of_the_reference(mode: str, outside: int, after: int) -> None:
    stated: dict[str, Any] = {"coordinate_transformation_mode": mode, "exclude_outside": outside, "cubic_coeff_a": -0.6}
    names = ["x", "", "", "sizes"]
    one = helper.make_node("Resize", names, ["y"], mode="cubic", **stated)
    proto = model([one], [info("x", (7,))], [info("y", None)], {"sizes": np.array([after])})
    x = np.random.default_rng(0).standard_normal(7).astype(np.float32)
    want: Any
    (want,) = ReferenceEvaluator(proto).run(None, {"x": x})
    places, weights = weighing(7, after, after / 7, attributes_of(one))
    np.testing.assert_allclose((x[places.astype(int)] * weights).sum(axis=1), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("inputs", ["x - - sizes", "x - scales"])
def test_a_node_of_known_sizes_becomes_ours(inputs: str) -> None:
    graph = resize(inputs).graph
    assert replace_cubic(graph.node[0], graph, SHAPES)
    assert (graph.node[0].op_type, len(graph.node[0].input)) == (OPERATOR, 5)
    held = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    assert [held[name] for name in graph.node[0].input[1:]] == [(8, 4), (8, 4), (5, 4), (5, 4)]


def test_what_is_unknown_or_no_picture_stays() -> None:
    for proto, shapes in (
        (resize(), {}),
        (resize("x - s"), SHAPES),
        (resize(mode="linear"), SHAPES),
        (resize(), {**SHAPES, "y": (1, 6, 8, 5)}),
        (resize(antialias=1), SHAPES),
        (resize(coordinate_transformation_mode="pytorch_half_pixel"), {**SHAPES, "y": (1, 3, 8, 1)}),
        (resize(coordinate_transformation_mode="tf_crop_and_resize"), SHAPES),
    ):
        graph = proto.graph
        assert not replace_cubic(graph.node[0], graph, shapes)
        assert graph.node[0].op_type == "Resize"


def test_a_node_says_whether_it_is_cubic() -> None:
    assert is_cubic("Resize", {"mode": "cubic"})
    assert not is_cubic("Upsample", {"mode": "cubic"})
    assert not is_cubic("Resize", {})
    assert not is_cubic("Resize", {"mode": "cubic", "axes": [2, 3]})
