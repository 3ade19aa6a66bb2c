from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from intarsia.backends.onnxruntime.saved_model import attributes_of, parsed
from intarsia.backends.onnxruntime.substitution import HOST, Original, original_of, substitute
from intarsia.errors import ModelError
from intarsia.graph import extract, load_model
from intarsia.graph.placeholder_ops import DOMAIN
from tests.conformance.cases import Case, f32, node
from tests.unit.graph.models import info, model

BLOCK = 8
PLAIN: Mapping[str, Any] = {"pads": [1, 1, 1, 1], "strides": [1, 1], "kernel_shape": [3, 3], "group": 1}


def blocked(inputs: str = "x w b", weights: Sequence[int] = (16, 8, 3, 3), **attributes: Any) -> onnx.ModelProto:
    """A model of one convolution in ONNX Runtime's layout, with a sum input ``s`` that is no constant."""
    given = {name: value for name, value in {**PLAIN, **attributes}.items() if value is not None}
    one = helper.make_node(HOST[1], [n.replace("-", "") for n in inputs.split()], ["y"], domain=HOST[0], **given)
    constants = {"w": np.ones(weights, np.float32), "b": np.ones(weights[0], np.float32)}
    feeds = [info("x", (1, weights[1], 28, 28)), info("s", (1, weights[0], 28, 28))]
    return model([one], feeds, [info("y", None)], constants, domains={HOST[0]: 1})


def replaced(proto: onnx.ModelProto) -> onnx.ModelProto | None:
    """The model after the substitution, or ``None`` if it found nothing to do."""
    done = substitute(proto.SerializeToString(), BLOCK)
    after = onnx.load_model_from_string(done.content)
    ours = tuple((node.output[0], node.op_type) for node in after.graph.node if node.domain == DOMAIN)
    assert done.kernels == ours
    assert (DOMAIN in {each.domain for each in after.opset_import}) == bool(ours)
    return after if ours else None


def stated(proto: onnx.ModelProto | None) -> dict[str, Any]:
    assert proto is not None
    return attributes_of(proto.graph.node[0])


def test_a_convolution_that_fits_becomes_ours_and_reads_what_it_read() -> None:
    after = replaced(blocked("x w b s"))
    assert after is not None
    node = after.graph.node[0]
    assert (node.domain, node.op_type) == (DOMAIN, "Winograd3x3")
    assert list(node.input) == ["x", "w", "b", "s"]
    assert list(node.output) == ["y"]


@pytest.mark.parametrize(
    ("attributes", "low", "high"),
    [
        ({}, -math.inf, math.inf),
        ({"activation": "Relu"}, 0.0, math.inf),
        ({"activation": "Clip", "activation_params": [0.0, 6.0]}, 0.0, 6.0),
        ({"strides": None, "group": None, "dilations": [1, 1], "auto_pad": "NOTSET"}, -math.inf, math.inf),
    ],
)
def test_activations_become_limits(attributes: Mapping[str, Any], low: float, high: float) -> None:
    found = stated(replaced(blocked(**attributes)))
    assert found == {"low": low, "high": high, "pads": (1, 1, 1, 1), "group": 1}


@pytest.mark.parametrize(
    ("attributes", "pads"),
    [
        ({"pads": [0, 2, 1, 0]}, (0, 2, 1, 0)),
        ({"pads": None}, (0, 0, 0, 0)),
        ({"auto_pad": "VALID"}, (0, 0, 0, 0)),
        ({"pads": None, "auto_pad": "SAME_UPPER"}, (1, 1, 1, 1)),
    ],
)
def test_padding_is_stated_in_numbers(attributes: Mapping[str, Any], pads: tuple[int, ...]) -> None:
    assert stated(replaced(blocked(**attributes)))["pads"] == pads


def test_groups_of_enough_whole_blocks_are_taken() -> None:
    assert stated(replaced(blocked(weights=(48, 24, 3, 3), group=2)))["group"] == 2


@pytest.mark.parametrize(
    "attributes",
    [
        {"activation": "HardSigmoid", "activation_params": [0.2, 0.5]},
        {"strides": [2, 2]},
        {"strides": [1, 2]},
        {"dilations": [2, 2]},
        {"group": 3},
        {"group": 2, "weights": (48, 16, 3, 3)},
        {"group": 4},
        {"weights": (16, 8, 1, 1)},
        {"weights": (16, 8, 3, 1)},
        {"weights": (16, 4, 3, 3)},
        {"weights": (12, 8, 3, 3)},
        {"inputs": "x s"},
        {"inputs": "x w s"},
    ],
    ids=str,
)
def test_what_does_not_fit_stays(attributes: Mapping[str, Any]) -> None:
    assert replaced(blocked(**attributes)) is None


def test_the_same_operator_of_another_domain_stays() -> None:
    proto = blocked()
    proto.graph.node[0].domain = ""
    assert replaced(proto) is None


def test_a_sum_without_bias_gets_a_bias_of_zeros_of_a_new_name() -> None:
    proto = blocked("x w - s")
    proto.graph.initializer.append(helper.make_tensor("y/bias", TensorProto.FLOAT, [1], [5.0]))
    after = replaced(proto)
    assert after is not None
    bias = {tensor.name: tensor for tensor in after.graph.initializer}[after.graph.node[0].input[2]]
    assert bias.name != "y/bias"
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(bias), np.zeros(16, np.float32))


def test_no_bias_is_added_where_no_sum_follows() -> None:
    after = replaced(blocked("x w"))
    assert after is not None
    assert list(after.graph.node[0].input) == ["x", "w"]


@pytest.mark.parametrize(
    ("weights", "attributes", "in_floats", "in_16_bits"),
    [
        ((16, 8, 3, 3), {}, "Winograd3x3", "Winograd3x3"),
        ((16, 8, 1, 1), {"pads": [0, 0, 0, 0], "kernel_shape": [1, 1]}, None, "Pointwise"),
        ((16, 8, 3, 3), {"strides": [2, 2]}, None, "DirectPicture"),
        ((16, 8, 7, 7), {"pads": [3, 3, 3, 3], "kernel_shape": [7, 7]}, None, "DirectPicture"),
        ((8, 1, 3, 3), {"group": 8}, None, None),
    ],
)
def test_in_16_bits_ours_compute_more_convolutions(
    weights: Sequence[int], attributes: Mapping[str, Any], in_floats: str | None, in_16_bits: str | None
) -> None:
    content = blocked("x w b s", weights=weights, **attributes).SerializeToString()
    for bits, kernel in ((32, in_floats), (16, in_16_bits)):
        done = substitute(content, BLOCK, Original(bits=bits))
        assert done.kernels == (() if kernel is None else (("y", kernel),))
        [node] = parsed(done.content).graph.node
        assert attributes_of(node).get("bits", 32) == (bits if kernel else 32)


def test_a_kernel_without_16_bits_is_as_it_was() -> None:
    proto = blocked(weights=(8, 8, 3, 3), pads=[0, 0, 0, 0])
    proto.graph.node[0].output[0] = "blocks"
    proto.graph.node.append(helper.make_node("ReorderOutput", ["blocks"], ["y"], domain=HOST[0], channels=3))
    done = substitute(proto.SerializeToString(), BLOCK, Original(bits=16))
    assert done.kernels == (("blocks", "FewOutputs"),)
    assert "bits" not in attributes_of(parsed(done.content).graph.node[0])


def test_each_layer_of_ours_is_listed_by_its_name_in_the_model() -> None:
    proto = blocked()
    proto.graph.node[0].name = "stem_nchwc"
    assert substitute(proto.SerializeToString(), BLOCK).kernels == (("stem", "Winograd3x3"),)


def test_a_block_of_which_only_few_channels_are_unpacked_is_left_to_the_kernel_for_those() -> None:
    proto = blocked(weights=(8, 8, 3, 3), pads=[0, 0, 0, 0])
    proto.graph.node[0].output[0] = "blocks"
    unpack = helper.make_node("ReorderOutput", ["blocks"], ["y"], domain=HOST[0], channels=3)
    proto.graph.node.append(unpack)
    assert substitute(proto.SerializeToString(), BLOCK).kernels == (("blocks", "FewOutputs"),)
    proto.graph.node.append(helper.make_node("Relu", ["blocks"], ["other"]))
    assert substitute(proto.SerializeToString(), BLOCK).kernels == (("blocks", "Winograd3x3"),)


@pytest.mark.parametrize(
    ("kernels", "ours", "tile"),
    [
        ({}, "Winograd3x3", None),
        ({"stem": "host"}, None, None),
        ({"*": "host"}, None, None),
        ({"stem": "tile-4"}, "Winograd3x3", 4),
        ({"*": "host", "stem": "tile-2"}, "Winograd3x3", 2),
        ({"other": "host"}, "Winograd3x3", None),
    ],
)
def test_a_layer_has_the_kernel_that_was_asked_for(
    kernels: Mapping[str, str], ours: str | None, tile: int | None
) -> None:
    proto = blocked()
    proto.graph.node[0].name = "stem_nchwc"
    original = Original(nodes={"stem": "stem", "other": "other"}, kernels=kernels)
    done = substitute(proto.SerializeToString(), BLOCK, original)
    assert dict(done.kernels).get("stem") == ours
    [one] = parsed(done.content).graph.node
    assert attributes_of(one).get("tile") == tile


def test_sizes_of_a_model_are_known_and_the_names_that_its_nodes_may_get() -> None:
    case = Case(name="one", nodes=(node("Relu", "x", "a"), node("Relu", "a")), inputs={"x": f32(1, 2, 3)}, weights={})
    graph = load_model(case.model())
    ids = [each.id for each in graph.nodes]
    partition = extract(graph, ids)
    told = original_of(partition, {ids[0]: "host"})
    assert told.shapes["a"] == (1, 2, 3)
    assert told.way("a_nchwc") == "host"
    assert told.way(graph.outputs[0]) == ""
    assert original_of(partition, {}).nodes == {}


def test_only_values_in_float32_have_known_sizes() -> None:
    case = Case(
        name="two",
        nodes=(node("Cast", "x", "a", to=TensorProto.INT32), node("Cast", "a", "b", to=TensorProto.FLOAT)),
        inputs={"x": f32(1, 2, 3)},
        outputs=("b",),
    )
    graph = load_model(case.model())
    told = original_of(extract(graph, [each.id for each in graph.nodes]), {})
    assert set(told.shapes.values()) == {(1, 2, 3)}
    assert "a" not in told.shapes


def plain(op_type: str, weights: np.ndarray, **attributes: Any) -> onnx.ModelProto:
    """A model of one convolution that ONNX Runtime computes outside of blocks."""
    domain = "com.microsoft" if op_type == "FusedConv" else ""
    one = helper.make_node(op_type, ["x", "w"], ["y"], name="one", domain=domain, **attributes)
    sizes = (9,) * (weights.ndim - 2)
    ins = weights.shape[0 if op_type == "ConvTranspose" else 1] * attributes.get("group", 1)
    feeds = [info("x", (1, ins, *sizes))]
    return model([one], feeds, [info("y", None)], {"w": weights}, domains={"com.microsoft": 1})


def between_blocks(proto: onnx.ModelProto) -> list[onnx.NodeProto]:
    """What stands between what packs and unpacks values."""
    nodes = parsed(substitute(proto.SerializeToString(), BLOCK).content).graph.node
    return [each for each in nodes if not each.op_type.startswith(("ToBlocks", "FromBlocks", "Reorder"))]


@pytest.mark.parametrize(
    ("op_type", "weights", "attributes", "stated"),
    [
        ("DirectSignal", (16, 8, 3), {"strides": [2], "dilations": [3]}, {"strides": (2,), "dilations": (3,)}),
        ("DirectVolume", (16, 8, 1, 1, 1), {}, {"pads": (0,) * 6}),
        ("DirectVolume", (16, 8, 3, 3, 3), {"strides": [1, 2, 2]}, {"strides": (1, 2, 2)}),
        ("WinogradVolume5x5", (16, 8, 3, 5, 5), {}, {"pads": (0,) * 6}),
        ("FewInputsVolume", (16, 3, 3, 7, 7), {"strides": [1, 2, 2]}, {"strides": (1, 2, 2)}),
        ("FewInputsSignal", (16, 1, 10), {"strides": [5]}, {"strides": (5,)}),
        ("NarrowGroups", (16, 4, 3, 3), {"group": 4, "strides": [2, 2]}, {"strides": (2, 2), "group": 4}),
    ],
)
def test_what_onnxruntime_computes_plain_is_packed_for_ours(
    op_type: str, weights: tuple[int, ...], attributes: Mapping[str, Any], stated: Mapping[str, Any]
) -> None:
    [one] = between_blocks(plain("Conv", np.ones(weights, np.float32), **attributes))
    assert (one.domain, one.op_type) == (DOMAIN, op_type)
    found = attributes_of(one)
    assert {name: found[name] for name in stated} == stated


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_transposed_convolution_is_ours_with_what_it_states(rank: int) -> None:
    more = {"strides": [2] * rank, "output_padding": [1] * rank, "pads": [1] * 2 * rank}
    [one] = between_blocks(plain("ConvTranspose", np.ones((8, 16, *[3] * rank), np.float32), **more))
    assert one.op_type == ("TransposedSignal", "TransposedPicture", "TransposedVolume")[rank - 1]
    found = attributes_of(one)
    assert {name: list(found[name]) for name in more} == more


@pytest.mark.parametrize("stated", [{"auto_pad": "SAME_UPPER", "strides": [2]}, {"output_shape": [17]}, {"group": 2}])
def test_a_transposed_convolution_of_unknown_padding_or_in_groups_stays(stated: Mapping[str, Any]) -> None:
    assert replaced(plain("ConvTranspose", np.ones((16, 8, 3), np.float32), **stated)) is None


def test_a_slope_is_the_kernels_and_a_sigmoid_stands_alone() -> None:
    weights = np.ones((16, 8, 3), np.float32)
    [sloped] = between_blocks(plain("FusedConv", weights, activation="LeakyRelu", activation_params=[0.25]))
    assert attributes_of(sloped)["slope"] == 0.25
    nodes = between_blocks(plain("FusedConv", weights, activation="Sigmoid"))
    assert [each.op_type for each in nodes] == ["DirectSignal", "Sigmoid"]


def test_weights_of_another_type_stay() -> None:
    assert replaced(plain("Conv", np.ones((16, 8, 3), np.float64))) is None


@pytest.mark.parametrize(("kernels", "op_type"), [({}, "Conv"), ({"*": "ours"}, "Pointwise"), ({"*": "host"}, "Conv")])
def test_a_convolution_of_1x1_is_ours_where_that_is_asked_for(kernels: Mapping[str, str], op_type: str) -> None:
    proto = blocked(weights=(16, 8, 1, 1), kernel_shape=None, pads=None)
    done = substitute(proto.SerializeToString(), BLOCK, Original(kernels=kernels))
    assert [each.op_type for each in parsed(done.content).graph.node] == [op_type]


def test_a_convolution_of_1x1_is_ours_where_it_can_normalise_what_it_reads() -> None:
    stated = {"kernel_shape": None, "pads": None}
    proto = blocked("x s", (16, 8, 1, 1), **stated)
    [last] = proto.graph.node
    last.input[:] = ["n", "w", "b"]
    before = helper.make_node("Conv", ["x", "v"], ["n"], domain=HOST[0], group=8)
    proto.graph.node.insert(0, before)
    proto.graph.initializer.append(helper.make_tensor("v", TensorProto.FLOAT, [8, 1, 1, 1], [2.0] * 8))
    done = substitute(proto.SerializeToString(), BLOCK)
    [one] = parsed(done.content).graph.node
    assert (one.op_type, list(one.input)) == ("PointwiseAffine", ["x", "w", "b", "v", "intarsia/0x8"])
    assert ("y", "PointwiseAffine") in done.kernels


@pytest.mark.parametrize(("inputs", "ours"), [("x w b", ["x", "w", "b"]), ("x w", ["x", "w", "intarsia/0x16"])])
def test_a_convolution_that_only_multiplies_each_channel_is_a_product(inputs: str, ours: list[str]) -> None:
    stated = {"kernel_shape": None, "pads": None, "strides": None, "group": 16, "activation": "Relu"}
    after = replaced(blocked(inputs, (16, 1, 1, 1), **stated))
    assert after is not None
    [one] = after.graph.node
    assert (one.op_type, list(one.input)) == ("BlockedAffine", ours)
    assert stated_limits(one) == (0.0, math.inf)


@pytest.mark.parametrize("other", [{"strides": [2, 2]}, {"group": 8}, {"pads": [1, 0, 0, 0]}, {"inputs": "x w b s"}])
def test_a_convolution_that_does_more_is_no_product(other: dict[str, Any]) -> None:
    stated = {"kernel_shape": None, "pads": None, "strides": None, "group": 16, "weights": (16, 1, 1, 1), **other}
    assert replaced(blocked(**stated)) is None


def stated_limits(node: onnx.NodeProto) -> tuple[float, float]:
    attributes = attributes_of(node)
    return attributes["low"], attributes["high"]


def test_bytes_that_are_no_model_are_refused() -> None:
    with pytest.raises(ModelError, match="not an ONNX model"):
        substitute(b"\xff\xff\xff", BLOCK)
