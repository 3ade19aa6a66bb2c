from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from intarsia.backends.onnxruntime.blocks.pad_folding import fold_pads
from intarsia.backends.onnxruntime.saved_model import BLOCKED, attributes_of
from tests.unit.graph.models import info, model


def blocked(op_type: str, inputs: str, output: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op_type, inputs.split(), [output], domain=BLOCKED, **attributes)


def padded(
    pads: Sequence[int] = (1, 2, 3, 4),
    axes: Sequence[int] | None = (2, 3),
    *,
    mode: str = "constant",
    value: float | None = None,
    behind: Sequence[onnx.NodeProto] = (),
    **convolution: Any,
) -> onnx.GraphProto:
    """Padding before a blocked convolution, and what else reads the padded values."""
    names = ["x", "pads", "value" if value is not None else "", "axes" if axes is not None else ""]
    nodes = [
        helper.make_node("Pad", names, ["p"], mode=mode),
        blocked("ReorderInput", "p", "r"),
        blocked("Conv", "r w", "y", **convolution),
        *behind,
    ]
    constants = {"pads": np.array(pads, np.int64), "w": np.ones((8, 8, 3, 3), np.float32)}
    constants |= {} if axes is None else {"axes": np.array(axes, np.int64)}
    constants |= {} if value is None else {"value": np.array(value, np.float32)}
    return model(nodes, [info("x", (1, 8, 9, 9))], [info("y", None)], constants, domains={BLOCKED: 1}).graph


def after(graph: onnx.GraphProto) -> tuple[int, ...] | None:
    """How the convolution pads when the node that padded is gone; ``None`` if it stays."""
    fold_pads(graph)
    if any(node.op_type == "Pad" for node in graph.node):
        return None
    [reorder] = [node for node in graph.node if node.op_type == "ReorderInput"]
    assert list(reorder.input) == ["x"]
    [convolution] = [node for node in graph.node if node.op_type == "Conv"]
    stated = attributes_of(convolution)
    assert "auto_pad" not in stated
    return tuple(stated["pads"])


@pytest.mark.parametrize(
    ("graph", "pads"),
    [
        (padded(), (1, 2, 3, 4)),
        (padded(axes=(-1, 2)), (2, 1, 4, 3)),
        (padded((5, 6), axes=(3,)), (0, 5, 0, 6)),
        (padded((0, 0, 1, 2, 0, 0, 3, 4), axes=None), (1, 2, 3, 4)),
        (padded(pads=(1, 1, 0, 0), value=0.0), (1, 1, 0, 0)),
        (padded(pads=(1, 1, 0, 0), auto_pad="VALID"), (1, 1, 0, 0)),
    ],
)
def test_zeros_before_a_convolution_become_its_own(graph: onnx.GraphProto, pads: tuple[int, ...]) -> None:
    assert after(graph) == pads


def test_what_the_convolution_pads_itself_is_added() -> None:
    graph = padded()
    convolution = graph.node[2]
    convolution.attribute.append(helper.make_attribute("pads", [1, 0, 0, 1]))
    assert after(graph) == (2, 2, 3, 5)


@pytest.mark.parametrize(
    "graph",
    [
        padded(mode="reflect"),
        padded(value=1.0),
        padded((1, -1, 0, 0)),
        padded((1, 1), axes=(1,)),
        padded(auto_pad="SAME_UPPER"),
        padded(behind=[helper.make_node("Relu", ["p"], ["z"])]),
        padded(behind=[blocked("MaxPool", "r", "z", kernel_shape=[2, 2])]),
    ],
    ids=("reflection", "ones", "less than nothing", "channels", "same", "read by another", "pooled"),
)
def test_what_no_convolution_can_pad_stays(graph: onnx.GraphProto) -> None:
    assert after(graph) is None


def test_pads_that_are_computed_stay() -> None:
    graph = padded()
    del graph.initializer[:]
    assert after(graph) is None


def test_padding_that_is_a_result_stays() -> None:
    graph = padded()
    graph.output.append(info("p", None))
    assert after(graph) is None


def test_padding_of_a_value_with_channels_last_stays_where_it_is() -> None:
    graph = padded((1, 1), (2,))
    [reorder] = [node for node in graph.node if node.op_type == "ReorderInput"]
    reorder.attribute.append(helper.make_attribute("channels_last", 1))
    assert after(graph) is None
