from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
import pytest
from onnx import NodeProto, TensorProto, helper

from intarsia.graph import load_model
from intarsia.graph.fingerprint import fingerprint_of
from intarsia.graph.normalisation.simplify import state_defaults
from tests.unit.graph.models import info, model

IMAGE = (1, 3, 5, 5)
CHANNELS = {name: np.linspace(0.5, 2, 3, dtype=np.float32) for name in ("scale", "bias", "mean", "var")}
NORM = ["x", "scale", "bias", "mean", "var"]


def _attributes(node: NodeProto, *, opset: int = 21) -> dict[str, Any]:
    """The attributes of a single node after normalisation."""
    domains = {node.domain: 1} if node.domain else None
    weights = {name: array for name, array in CHANNELS.items() if name in node.input}
    source = model([node], [info("x", IMAGE)], [info("y", None)], weights, opset=opset, domains=domains)
    (only,) = load_model(source).nodes
    return dict(only.attributes)


@pytest.mark.parametrize(
    ("node", "stated"),
    [
        (helper.make_node("BatchNormalization", NORM, ["y"]), {"epsilon": 1e-5, "momentum": 0.9, "training_mode": 0}),
        (helper.make_node("InstanceNormalization", NORM[:3], ["y"]), {"epsilon": 1e-5}),
        (helper.make_node("LRN", ["x"], ["y"], size=3), {"alpha": 1e-4, "beta": 0.75, "bias": 1.0}),
        (helper.make_node("LogSoftmax", ["x"], ["y"]), {"axis": -1}),
        (helper.make_node("Softmax", ["x"], ["y"]), {"axis": -1}),
        (helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 3]), {"strides": (1, 1)}),
        (
            helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[2, 2]),
            {"strides": (1, 1)},
        ),
    ],
    ids=lambda each: each.op_type if isinstance(each, NodeProto) else "",
)
def test_a_default_is_written_out(node: NodeProto, stated: dict[str, Any]) -> None:
    given = {attribute.name for attribute in node.attribute}
    found = {name: value for name, value in _attributes(node).items() if name not in given}
    assert found.keys() == stated.keys()
    for name, value in stated.items():
        assert found[name] == pytest.approx(value)


@pytest.mark.parametrize(
    ("node", "name", "value"),
    [
        (helper.make_node("BatchNormalization", NORM, ["y"], epsilon=1e-3), "epsilon", 1e-3),
        (helper.make_node("Softmax", ["x"], ["y"], axis=1), "axis", 1),
        (helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 1]), "strides", (2, 1)),
    ],
    ids=lambda each: each.op_type if isinstance(each, NodeProto) else "",
)
def test_what_the_model_says_stays(node: NodeProto, name: str, value: object) -> None:
    assert _attributes(node)[name] == pytest.approx(value)


@pytest.mark.parametrize(
    "node",
    [
        helper.make_node("Elu", ["x"], ["y"]),
        helper.make_node("Softmax", ["x"], ["y"], domain="other"),
        helper.make_node("MaxPool", ["x"], ["y"], domain="other"),
    ],
    ids=["another operator", "another domain", "another domain's pool"],
)
def test_the_rest_is_left_alone(node: NodeProto) -> None:
    assert _attributes(node) == {}


def _beneath_raising(node: NodeProto, opset: int) -> ir.Node:
    """The node after this step alone: `load_model` would raise the opset first."""
    held = ir.from_proto(model([node], [info("x", IMAGE)], [info("y", None)], {"scale": np.ones(5)}, opset=opset))
    state_defaults(held)
    return held.graph[0]


def test_the_default_is_that_of_the_models_opset() -> None:
    node = _beneath_raising(helper.make_node("Softmax", ["x"], ["y"]), 11)
    assert node.attributes["axis"].as_int() == 1


def test_an_operator_newer_than_the_models_opset_is_left_alone() -> None:
    assert not _beneath_raising(helper.make_node("LayerNormalization", ["x", "scale"], ["y"]), 13).attributes


def test_left_out_and_written_out_give_one_fingerprint() -> None:
    nodes = (helper.make_node("Softmax", ["x"], ["y"]), helper.make_node("Softmax", ["x"], ["y"], axis=-1))
    first, second = (fingerprint_of(load_model(model([node], [info("x")], [info("y")]))) for node in nodes)
    assert first == second


def test_nested_graphs_count_too() -> None:
    arms = {
        arm: helper.make_graph([helper.make_node("Softmax", ["x"], [arm])], arm, [], [info(arm)])
        for arm in ("then_branch", "else_branch")
    }
    source = model(
        [helper.make_node("If", ["c"], ["y"], **arms)], [info("c", (), TensorProto.BOOL), info("x")], [info("y")]
    )
    (node,) = load_model(source).nodes
    for attribute in node.proto.attribute:
        assert [each.name for each in attribute.g.node[0].attribute] == ["axis"]
