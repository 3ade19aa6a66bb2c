from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from intarsia.backends.onnxruntime.blocks.expansion import OPERATOR, join_expansions
from intarsia.backends.onnxruntime.saved_model import BLOCKED, attributes_of
from tests.unit.graph.models import info, model

BLOCK = 8
EDGES = {"pads": [1, 1, 1, 1], "strides": [2, 2], "group": 16}


def conv(inputs: str, output: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node("Conv", inputs.split(), [output], domain=BLOCKED, **attributes)


def swish(x: str, output: str, alpha: float = 1.0) -> onnx.NodeProto:
    return helper.make_node("QuickGelu", [x], [output], domain="com.microsoft", alpha=alpha)


def joined(nodes: Sequence[onnx.NodeProto], outputs: str = "y", asked: str = "") -> tuple[onnx.GraphProto, list[str]]:
    constants = {
        "u": np.ones((16, 8, 1, 1), np.float32),
        "b": np.ones(16, np.float32),
        "w": np.ones((16, 1, 3, 3), np.float32),
        "wide": np.ones((16, 1, 5, 5), np.float32),
    }
    results = [info(name, None) for name in outputs.split()]
    graph = model(nodes, [info("x", (1, 8, 9, 9))], results, constants, domains={BLOCKED: 1}).graph
    shapes = {name: each.shape for name, each in constants.items()}
    return graph, join_expansions(graph, shapes, BLOCK, lambda each: each.output[0] != asked)


def test_both_convolutions_and_their_activations_are_one_node() -> None:
    first = conv("x u b", "a", activation="Clip", activation_params=[0.0, 6.0])
    graph, told = joined([first, conv("a w", "y", activation="Relu", **EDGES)])
    [one] = graph.node
    assert (one.op_type, list(one.input)) == (OPERATOR, ["x", "u", "b", "w", "intarsia/0x16"])
    assert told == ["y"]
    assert attributes_of(one) == {
        "strides": (2, 2),
        "pads": (1, 1, 1, 1),
        "low": 0.0,
        "high": 6.0,
        "swish": 0,
        "last_low": 0.0,
        "last_high": math.inf,
        "last_swish": 0,
    }


def test_a_swish_between_and_one_behind_are_part_of_it() -> None:
    nodes = [conv("x u b", "a"), swish("a", "c"), conv("c w b", "d", **EDGES), swish("d", "y")]
    graph, told = joined(nodes)
    [one] = graph.node
    stated = attributes_of(one)
    assert (list(one.output), told, stated["swish"], stated["last_swish"]) == (["y"], ["y"], 1, 1)


@pytest.mark.parametrize(
    "nodes",
    [
        [conv("x u b", "a"), swish("a", "c", 1.7), conv("c w b", "y", **EDGES)],
        [conv("x u b", "a"), conv("a wide b", "y", **{**EDGES, "pads": [2, 2, 2, 2]})],
        [conv("x u b", "a"), conv("a w b a", "y", **{**EDGES, "strides": [1, 1]})],
        [conv("x u b", "a"), conv("a w b", "y", **{**EDGES, "strides": [3, 3]})],
        [conv("x u b", "a", activation="Sigmoid"), conv("a w b", "y", **EDGES)],
        [conv("x u b", "a", strides=[2, 2]), conv("a w b", "y", **EDGES)],
    ],
)
def test_what_no_kernel_computes_together_stays(nodes: list[onnx.NodeProto]) -> None:
    graph, told = joined(nodes)
    assert (len(graph.node), told) == (len(nodes), [])


def test_what_others_read_or_is_asked_for_otherwise_stays() -> None:
    nodes = [conv("x u b", "a"), conv("a w b", "y", **EDGES)]
    assert joined(nodes, "y a")[1] == []
    assert joined(nodes, asked="a")[1] == []
    assert joined(nodes, asked="y")[1] == []
    assert joined(nodes)[1] == ["y"]
