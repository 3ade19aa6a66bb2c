from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper

from intarsia.backends.onnxruntime.blocks.sums import join_sums
from intarsia.backends.onnxruntime.saved_model import attributes_of
from intarsia.graph.placeholder_ops import DOMAIN
from tests.unit.graph.models import info, model


def ours(inputs: str, output: str, op_type: str = "DirectVolume", **stated: Any) -> onnx.NodeProto:
    limits = {"low": -math.inf, "high": math.inf, **stated}
    return helper.make_node(op_type, [name.strip("-") for name in inputs.split()], [output], domain=DOMAIN, **limits)


def node(op_type: str, inputs: str, output: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op_type, inputs.split(), [output], **attributes)


def joined(nodes: Sequence[onnx.NodeProto], outputs: str = "y") -> onnx.GraphProto:
    constants = {"w": np.ones((8, 8, 1, 1, 1), np.float32), "b": np.ones(8, np.float32), "one": np.float32(1)}
    results = [info(name, None) for name in outputs.split()]
    graph = model(nodes, [info("x", (1, 8, 4, 4, 4))], results, constants, domains={DOMAIN: 1}).graph
    join_sums(graph)
    return graph


def lines(graph: onnx.GraphProto) -> list[str]:
    return [f"{each.op_type} {' '.join(each.input)} > {each.output[0]}" for each in graph.node]


def test_a_sum_and_the_relu_behind_it_are_the_convolutions() -> None:
    nodes = [ours("x w b", "a"), node("Exp", "x", "c"), node("Add", "a c", "d"), node("Relu", "d", "y")]
    graph = joined(nodes)
    assert lines(graph) == ["Exp x > c", "DirectVolume x w b c > y"]
    assert attributes_of(graph.node[1])["low"] == 0.0


def test_without_a_bias_it_gets_one_of_zeros() -> None:
    graph = joined([ours("x w", "a"), node("Add", "x a", "y")])
    assert lines(graph) == ["DirectVolume x w intarsia/0x8 x > y"]


def test_of_two_convolutions_one_adds_what_the_other_gives() -> None:
    graph = joined([ours("x w b", "a"), ours("x w b", "c"), node("Add", "a c", "y")])
    assert lines(graph) == ["DirectVolume x w b > c", "DirectVolume x w b c > y"]


def test_a_slope_below_zero_is_the_convolutions() -> None:
    graph = joined([ours("x w b", "a", "TransposedVolume"), node("LeakyRelu", "a", "y", alpha=0.25)])
    assert lines(graph) == ["TransposedVolume x w b > y"]
    assert attributes_of(graph.node[0])["slope"] == 0.25


def test_what_others_read_or_is_held_or_cannot_be_added_stays() -> None:
    for nodes in (
        [ours("x w b", "a"), node("Relu", "a", "c"), node("Add", "a c", "y")],
        [ours("x w b", "a", low=0.0), node("LeakyRelu", "a", "y")],
        [ours("x w b", "a", slope=0.5), node("Add", "a x", "y")],
        [ours("x w b", "a"), node("Add", "a one", "y")],
        [ours("x w b", "a"), node("Add", "a a", "y")],
        [ours("x w b", "a", "TransposedVolume"), node("Add", "a x", "y")],
        [ours("x w b x", "a"), node("Add", "a x", "y")],
    ):
        assert lines(joined(nodes)) == [f"{each.op_type} {' '.join(each.input)} > {each.output[0]}" for each in nodes]
    assert len(joined([ours("x w b", "a"), node("Relu", "a", "y")], "y a").node) == 2
