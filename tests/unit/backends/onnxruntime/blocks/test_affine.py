from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper

from intarsia.backends.onnxruntime.blocks.affine import join_affine, take_in
from intarsia.backends.onnxruntime.saved_model import attributes_of
from intarsia.graph.placeholder_ops import DOMAIN
from tests.unit.graph.models import info, model


def affine(inputs: str, output: str, low: float = -math.inf) -> onnx.NodeProto:
    names = [name.replace("-", "") for name in inputs.split()]
    return helper.make_node("BlockedAffine", names, [output], domain=DOMAIN, low=low, high=math.inf)


def joined(nodes: Sequence[onnx.NodeProto], outputs: str = "y") -> onnx.GraphProto:
    constants = {name: np.ones((8, 1, 1), np.float32) for name in "fghbcd"} | {"w": np.ones((16, 8, 1, 1), np.float32)}
    given = [info("x", (1, 8, 4, 4))]
    graph = model(nodes, given, [info(name, None) for name in outputs.split()], constants, domains={DOMAIN: 1}).graph
    join_affine(graph)
    take_in(graph)
    return graph


def lines(graph: onnx.GraphProto) -> list[str]:
    return [f"{' '.join(node.input)} > {node.output[0]}" for node in graph.node]


def test_a_normalisation_a_product_and_a_sum_are_one_pass() -> None:
    graph = joined([affine("x f b", "n"), affine("n g -", "m"), affine("m - c", "y", low=0.0)])
    assert lines(graph) == ["x f b g c > y"]
    assert attributes_of(graph.node[0])["low"] == 0.0


def test_what_is_lacking_is_one_and_nothing() -> None:
    graph = joined([affine("x f -", "m"), helper.make_node("Sqrt", ["m"], ["r"]), affine("r - b", "y")])
    assert lines(graph) == ["x f intarsia/0x8 > m", "m > r", "r intarsia/1x8 b > y"]
    made = {tensor.name: numpy_helper.to_array(tensor).tolist() for tensor in graph.initializer}
    assert made["intarsia/1x8"] == [1.0] * 8
    assert made["intarsia/0x8"] == [0.0] * 8


def test_what_others_read_or_a_limit_holds_stays() -> None:
    two = [affine("x f b", "n"), affine("n g c", "y")]
    assert len(joined([*two, helper.make_node("Sqrt", ["n"], ["z"])], "y z").node) == 3
    assert len(joined(two, "n y").node) == 2
    assert len(joined([affine("x f b", "n", low=0.0), two[1]]).node) == 2


def test_more_than_two_stages_are_two_passes() -> None:
    assert lines(joined([affine("x f b", "n"), affine("n g c", "m"), affine("m h d", "y")])) == [
        "x f b g c > m",
        "m h d > y",
    ]


def pointwise(inputs: str) -> onnx.NodeProto:
    return helper.make_node("Pointwise", inputs.split(), ["y"], domain=DOMAIN, low=-math.inf, high=math.inf)


def test_a_convolution_of_1x1_takes_in_what_is_done_with_its_input() -> None:
    graph = joined([affine("x f b", "n", low=0.0), pointwise("n w")])
    assert lines(graph) == ["x w intarsia/0x16 f b > y"]
    [node] = graph.node
    assert (node.op_type, attributes_of(node)["before_low"]) == ("PointwiseAffine", 0.0)
    assert lines(joined([affine("x f b", "n"), pointwise("n w c")])) == ["x w c f b > y"]


def test_with_a_sum_or_other_readers_it_does_not() -> None:
    both = [affine("x f b", "n"), pointwise("n w c x")]
    assert len(joined(both).node) == 2
    assert len(joined([affine("x f b", "n"), pointwise("n w")], "n y").node) == 2
