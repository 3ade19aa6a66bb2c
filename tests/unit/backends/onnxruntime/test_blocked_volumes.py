from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper

from intarsia.backends.onnxruntime.blocked_volumes import block_volumes
from intarsia.graph.placeholder_ops import DOMAIN
from tests.unit.graph.models import info, model

BLOCK = 8
POOL: dict[str, Any] = {"kernel_shape": [2, 2, 2], "strides": [2, 2, 2]}


def ours(inputs: str, output: str) -> onnx.NodeProto:
    return helper.make_node("WinogradVolume", inputs.split(), [output], domain=DOMAIN)


def node(op_type: str, inputs: str, output: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op_type, inputs.split(), [output], **attributes)


def after(nodes: Sequence[onnx.NodeProto], outputs: str = "y", *, channels: int = 8) -> list[str]:
    """Each node as ``Type inputs > output``."""
    weights = {name: np.ones((channels, 8, 3, 3, 3), np.float32) for name in ("w", "v")}
    weights["t"] = np.ones((8, channels, 2, 2, 2), np.float32)
    weights["odd"] = np.ones((4, 8, 1, 1, 1), np.float32)
    given = [info(name, (1, 8, 4, 4, 4)) for name in ("x", "z")]
    graph = model(nodes, given, [info(name, None) for name in outputs.split()], weights, domains={DOMAIN: 1}).graph
    block_volumes(graph, BLOCK)
    return [f"{each.op_type} {' '.join(each.input)} > {each.output[0]}" for each in graph.node]


def test_a_convolution_of_ours_reads_and_writes_blocks() -> None:
    assert after([ours("x w", "y")]) == [
        "ToBlocks x > x/blocks",
        "WinogradVolume x/blocks w > y/blocks",
        "FromBlocks y/blocks > y",
    ]


def test_between_two_of_them_nothing_is_reordered() -> None:
    nodes = [
        ours("x w", "a"),
        node("MaxPool", "a", "b", **POOL),
        node("Relu", "b", "c"),
        ours("c v", "d"),
        node("Concat", "d c", "e", axis=1),
        node("Add", "e e", "f"),
        ours("f w", "y"),
    ]
    told = after(nodes)
    assert [line.split()[0] for line in told] == [
        "ToBlocks",
        "WinogradVolume",
        "BlockedMaxPool",
        "Relu",
        "WinogradVolume",
        "Concat",
        "Add",
        "WinogradVolume",
        "FromBlocks",
    ]
    assert told[5] == "Concat d/blocks c/blocks > e/blocks"


def test_what_others_read_is_unpacked_once_and_packed_once() -> None:
    nodes = [
        ours("x w", "a"),
        node("Softmax", "a", "b"),
        node("Exp", "a", "c"),
        ours("b w", "d"),
        ours("b v", "e"),
        node("Max", "c d e", "y"),
    ]
    told = after(nodes)
    assert told.count("FromBlocks a/blocks > a") == 1
    assert told.count("ToBlocks b > b/blocks") == 1
    assert told.index("FromBlocks a/blocks > a") < told.index("Softmax a > b")
    assert told[-1] == "Max c d e > y"


def test_a_result_is_plain_though_more_is_done_with_it() -> None:
    told = after([ours("x w", "a"), ours("a v", "y")], "a y")
    assert told[-2:] == ["FromBlocks a/blocks > a", "FromBlocks y/blocks > y"]
    assert "WinogradVolume a/blocks v > y/blocks" in told


def test_the_residual_sum_is_read_in_blocks_and_the_bias_is_not() -> None:
    told = after([node("Exp", "x", "s"), helper.make_node("WinogradVolume", ["x", "w", "", "s"], ["y"], domain=DOMAIN)])
    assert "WinogradVolume x/blocks w  s/blocks > y/blocks" in told


def test_a_transposed_convolution_joins_in_blocks_with_one_of_ours() -> None:
    told = after([ours("x w", "a"), node("ConvTranspose", "x t", "b"), node("Concat", "b a", "y", axis=1)])
    assert "ToBlocks b > b/blocks" in told
    assert "Concat b/blocks a/blocks > y/blocks" in told


def test_channels_that_fill_no_block_or_are_unknown_stay_plain() -> None:
    told = after([ours("x w", "a"), node("Conv", "x odd", "b"), node("Concat", "a b", "y", axis=1)])
    assert told[-1] == "Concat a b > y"
    told = after([ours("x w", "a"), node("Concat", "a x", "y", axis=1)])
    assert told[-1] == "Concat a x > y"


def test_an_order_of_numbers_that_matters_keeps_a_node_plain() -> None:
    for other in (
        node("Concat", "a a", "y", axis=2),
        node("MaxPool", "a", "y", **POOL, ceil_mode=1),
        node("MaxPool", "a", "y", **POOL, dilations=[2, 1, 1]),
        node("MaxPool", "a", "y", **POOL, auto_pad="SAME_UPPER"),
        node("Add", "a x", "y"),
        node("Softmax", "a", "y"),
        helper.make_node("Relu", ["a"], ["y"], domain="elsewhere"),
    ):
        told = after([ours("x w", "a"), other])
        assert told[-2] == "FromBlocks a/blocks > a"
        assert told[-1].startswith(f"{other.op_type} a")


def test_what_a_branch_reads_is_unpacked_before_it() -> None:
    branch = helper.make_graph([node("Exp", "a", "inner")], "branch", [], [info("inner", None)])
    told = after([ours("x w", "a"), node("If", "x", "y", then_branch=branch, else_branch=branch)])
    assert told[-2:] == ["FromBlocks a/blocks > a", "If x > y"]


def test_a_name_that_is_taken_is_not_given_twice() -> None:
    told = after([node("Exp", "z", "x/blocks"), ours("x w", "a"), node("Max", "a x/blocks", "y")])
    assert "ToBlocks x > x/blocks_" in told


def test_a_graph_without_volumes_of_ours_is_left_alone() -> None:
    assert after([node("MaxPool", "x", "y", **POOL)]) == ["MaxPool x > y"]
