from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from intarsia.backends.onnxruntime.blocks.layouts import keep_in_blocks
from intarsia.backends.onnxruntime.saved_model import BLOCKED, attributes_of
from intarsia.graph.placeholder_ops import DOMAIN
from tests.unit.graph.models import info, model

BLOCK = 8
POOL: dict[str, Any] = {"kernel_shape": [2, 2, 2], "strides": [2, 2, 2]}


def ours(inputs: str, output: str, op_type: str = "WinogradVolume") -> onnx.NodeProto:
    return helper.make_node(op_type, inputs.split(), [output], domain=DOMAIN)


def node(op_type: str, inputs: str, output: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op_type, inputs.split(), [output], **attributes)


def after(nodes: Sequence[onnx.NodeProto], outputs: str = "y", *, channels: int = 8) -> list[str]:
    """Each node of a graph of volumes as ``Type inputs > output``."""
    weights = {name: np.ones((channels, 8, 3, 3, 3), np.float32) for name in ("w", "v")}
    weights["t"] = np.ones((8, channels, 2, 2, 2), np.float32)
    weights["odd"] = np.ones((4, 8, 1, 1, 1), np.float32)
    given = [info(name, (1, 8, 4, 4, 4)) for name in ("x", "z")]
    graph = model(nodes, given, [info(name, None) for name in outputs.split()], weights, domains={DOMAIN: 1}).graph
    keep_in_blocks(graph, BLOCK, dict.fromkeys("abcd", (1, 8, 4, 4, 4)))
    return lines(graph)


def lines(graph: onnx.GraphProto) -> list[str]:
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


def test_what_is_transposed_by_us_stays_in_blocks() -> None:
    told = after([ours("x t", "a", "TransposedVolume"), ours("a v", "y")])
    assert [line.split()[0] for line in told] == ["ToBlocks", "TransposedVolume", "WinogradVolume", "FromBlocks"]


def test_an_image_of_few_channels_is_read_as_it_is() -> None:
    assert after([ours("x w", "a", "FewInputsVolume"), ours("a v", "y")]) == [
        "FewInputsVolume x w > a/blocks",
        "WinogradVolume a/blocks v > y/blocks",
        "FromBlocks y/blocks > y",
    ]


def test_a_picture_is_packed_for_what_onnxruntime_has_no_kernel_on_blocks_for() -> None:
    nodes = [node("Softmax", "x", "a"), ours("a w", "b", "NarrowGroups")]
    graph, _ = picture((*HEAD[:1], *nodes, *tail("b")))
    assert lines(graph)[1:4] == ["Softmax x > a", "ReorderInput a > a/blocks", "NarrowGroups a/blocks w > b/blocks"]


def test_channels_that_become_pixels_are_whole_blocks() -> None:
    wide = helper.make_node("ReorderOutput", ["a_"], ["a"], domain=BLOCKED, channels=32)
    shuffled = node("DepthToSpace", "a", "b", blocksize=2, mode="CRD")
    graph, _ = picture((HEAD[0], wide, shuffled, *tail("b")))
    assert lines(graph)[1] == "BlockedDepthToSpace a_ > b/blocks"
    assert attributes_of(graph.node[1]) == {"blocksize": 2, "result_first": 1}
    assert between(node("DepthToSpace", "a", "b", blocksize=2))[1] == "DepthToSpace a > b"


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


HEAD = (
    helper.make_node("Conv", ["x", "w"], ["a_"], domain=BLOCKED),
    helper.make_node("ReorderOutput", ["a_"], ["a"], domain=BLOCKED, channels=8),
)
"""A picture in blocks, and unpacked."""


def tail(name: str) -> tuple[onnx.NodeProto, ...]:
    """It is packed again for another convolution."""
    return (
        helper.make_node("ReorderInput", [name], ["z_"], domain=BLOCKED),
        helper.make_node("Conv", ["z_", "w"], ["y_"], domain=BLOCKED),
        helper.make_node("ReorderOutput", ["y_"], ["y"], domain=BLOCKED, channels=8),
    )


def picture(
    nodes: Sequence[onnx.NodeProto], shapes: Mapping[str, tuple[int, ...]] | None = None, outputs: str = "y"
) -> tuple[onnx.GraphProto, tuple[tuple[str, str], ...]]:
    """The graph after it, and what of it is ours."""
    constants = {
        "w": np.ones((8, 8, 3, 3), np.float32),
        "s": np.ones(8, np.float32),
        "pads": np.array([0, 0, 1, 2, 0, 0, 3, 4], np.int64),
        "twice": np.array([1, 1, 2, 3], np.float32),
        "more": np.array([1, 1, 1.5, 2], np.float32),
        "number": np.array(0.5, np.float32),
        "slopes": np.ones((8, 1, 1), np.float32),
    }
    proto = model(
        nodes,
        [info("x", (1, 8, 9, 9))],
        [info(name, None) for name in outputs.split()],
        constants,
        domains={BLOCKED: 1},
    )
    ours = keep_in_blocks(proto.graph, BLOCK, shapes or {})
    return proto.graph, ours


def between(*nodes: onnx.NodeProto, shapes: Mapping[str, tuple[int, ...]] | None = None) -> list[str]:
    """What stands between two convolutions over blocks."""
    graph, _ = picture((*HEAD, *nodes, *tail(nodes[-1].output[0])), shapes)
    told = lines(graph)
    assert told[0] == "Conv x w > a_"
    assert told[-1] == "ReorderOutput y_ > y"
    return told[1:-2]


def test_what_normalises_a_picture_reads_and_writes_its_blocks() -> None:
    graph, ours = picture((*HEAD, node("LRN", "a", "b", size=5), *tail("b")))
    assert lines(graph) == [
        "Conv x w > a_",
        "BlockedLRN a_ > b/blocks",
        "Conv b/blocks w > y_",
        "ReorderOutput y_ > y",
    ]
    assert ours == (("b", "BlockedLRN"),)
    stated = attributes_of(graph.node[1])
    assert (stated["size"], stated["beta"], stated["bias"]) == (5, 0.75, 1.0)
    assert stated["alpha"] == pytest.approx(1e-4)


def test_a_relu_behind_instance_normalisation_is_a_limit_of_it() -> None:
    nodes = (node("InstanceNormalization", "a s s", "b"), node("Relu", "b", "c"))
    graph, ours = picture((*HEAD, *nodes, *tail("c")))
    assert lines(graph)[1:-2] == ["BlockedInstanceNormalization a_ s s > b/blocks"]
    assert attributes_of(graph.node[1])["low"] == 0.0
    assert ours == (("b", "BlockedInstanceNormalization"),)


def test_a_relu_stays_where_others_read_what_it_holds() -> None:
    nodes = (node("InstanceNormalization", "a s s", "b"), node("Relu", "b", "c"), node("Mul", "b c", "d"))
    shapes = {"b": (1, 8, 9, 9), "c": (1, 8, 9, 9)}
    assert between(*nodes, shapes=shapes) == [
        "BlockedInstanceNormalization a_ s s > b/blocks",
        "Relu b/blocks > c/blocks",
        "Mul b/blocks c/blocks > d/blocks",
    ]


@pytest.mark.parametrize(
    ("one", "line"),
    [
        (node("Pad", "a pads", "b", mode="reflect"), "BlockedPad a_ > b/blocks"),
        (node("Pad", "a pads", "b", mode="edge"), "BlockedPad a_ > b/blocks"),
        (node("Clip", "a number", "b"), "Clip a_ number > b/blocks"),
        (node("Elu", "a", "b"), "Elu a_ > b/blocks"),
        (node("MaxPool", "a", "b", kernel_shape=[2, 2]), "BlockedMaxPool a_ > b/blocks"),
        (
            node("Resize", "a", "b", mode="nearest", nearest_mode="floor", coordinate_transformation_mode="asymmetric"),
            "Upsample a_ > b/blocks",
        ),
    ],
)
def test_what_has_a_form_on_blocks_takes_it(one: onnx.NodeProto, line: str) -> None:
    if one.op_type == "Resize":
        one.input.extend(["", "twice"])
    assert between(one) == [line]


@pytest.mark.parametrize(
    "one",
    [
        node("Pad", "a pads", "b", mode="wrap"),
        node("Pad", "a edges", "b", mode="reflect"),
        node("Clip", "a s", "b"),
        node("Softmax", "a", "b"),
        node("Concat", "a a", "b", axis=2),
        node("Mul", "a s", "b"),
        node("MaxPool", "a", "b", kernel_shape=[2, 2], auto_pad="SAME_UPPER"),
        node("Resize", "a", "b", mode="nearest"),
    ],
)
def test_what_has_none_reads_plain_values(one: onnx.NodeProto) -> None:
    told = between(one)
    assert told[0] == "ReorderOutput a_ > a"
    assert told[1].startswith(f"{one.op_type} a")
    assert told[2] == "ReorderInput b > z_"


def test_a_picture_that_is_not_repeated_wholly_is_resized_plain() -> None:
    asked = {"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}
    one = helper.make_node("Resize", ["a", "", "more"], ["b"], **asked)
    assert between(one)[1] == "Resize a  more > b"


def test_values_of_unlike_or_unknown_sizes_meet_plain() -> None:
    nodes = (node("Relu", "a", "b"), node("Add", "a b", "c"))
    assert between(*nodes)[-2:] == ["Add a b > c", "ReorderInput c > z_"]
    assert between(*nodes, shapes={"a": (1, 8, 9, 9), "b": (1, 8, 1, 1)})[-2] == "Add a b > c"
    assert between(*nodes, shapes={"a": (1, 8, 9, 9), "b": (1, 8, 9, 9)})[-1] == "Add a_ b/blocks > c/blocks"


def test_one_number_meets_them_in_any_order() -> None:
    assert between(node("Div", "a number", "b")) == ["Div a_ number > b/blocks"]
    assert between(node("Sub", "number a", "b")) == ["Sub number a_ > b/blocks"]


def test_a_factor_for_each_channel_is_read_as_it_is() -> None:
    shapes = {"a": (1, 8, 9, 9), "f": (1, 8, 1, 1), "g": (1, 1, 9, 9)}
    factor = node("Softmax", "x", "f")
    for inputs in ("a f", "f a"):
        assert between(factor, node("Mul", inputs, "b"), shapes=shapes)[-1] == "BlockedScale a_ f > b/blocks"
    other = node("Softmax", "x", "g")
    assert between(other, node("Mul", "a g", "b"), shapes=shapes)[-2] == "Mul a g > b"


def test_slopes_are_taken_where_there_is_one_for_each_channel() -> None:
    shapes = {"a": (1, 8, 9, 9)}
    assert between(node("PRelu", "a slopes", "b"), shapes=shapes) == ["BlockedPRelu a_ slopes > b/blocks"]
    assert between(node("PRelu", "a number", "b")) == ["LeakyRelu a_ > b/blocks"]
    assert "PRelu a slopes > b" in between(node("PRelu", "a slopes", "b"))


def test_an_activation_that_onnxruntime_fused_stays_in_blocks() -> None:
    fused = helper.make_node("QuickGelu", ["a"], ["b"], domain="com.microsoft", alpha=1.0)
    assert between(fused) == ["QuickGelu a_ > b/blocks"]


def test_channels_of_a_block_that_is_not_full_stay_plain() -> None:
    head = (HEAD[0], helper.make_node("ReorderOutput", ["a_"], ["a"], domain=BLOCKED, channels=5))
    graph, _ = picture((*head, node("LRN", "a", "b", size=3), *tail("b")))
    assert "LRN a > b" in lines(graph)


def test_what_is_joined_for_blocks_alone_is_packed_before() -> None:
    plain = node("Softmax", "a", "p")
    convolved = helper.make_node("ConvTranspose", ["p", "w"], ["q"])
    told = between(plain, convolved, node("Concat", "a q", "c", axis=1))
    assert told[-2:] == ["ReorderInput q > q/blocks", "Concat a_ q/blocks > c/blocks"]
    graph, _ = picture((*HEAD, plain, convolved, node("Concat", "a q", "c", axis=1), *tail("c")), outputs="y c")
    assert lines(graph)[-1] == "ReorderOutput c/blocks > c"


def test_a_result_of_the_model_is_unpacked() -> None:
    graph, _ = picture((*HEAD, node("LRN", "a", "b", size=3)), outputs="a b")
    assert lines(graph)[-2:] == ["ReorderOutput a_ > a", "ReorderOutput b/blocks > b"]
    assert attributes_of(graph.node[-1])["channels"] == 8
