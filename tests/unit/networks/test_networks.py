"""The networks say what they claim: known structure, reproducible weights, inputs and weights with spread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import networks
from networks import light, unlike
from networks.draw import Draw

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

SMALL = ("shufflenet", "squeezenet", "tiny")
# Hundreds of megabytes each, and of the same making as the others.
LARGE = {"bvlc_alexnet", "vgg19", "zfnet512"}
EVERY = tuple(name for name in (*networks.NAMES, unlike.LINE_READER, unlike.TINY) if name not in LARGE)


def weights(model: onnx.ModelProto) -> dict[str, NDArray[np.float32]]:
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    return {name: array for name, array in arrays.items() if array.dtype == np.float32 and array.size > 1}


def test_there_are_nine_known_architectures_and_three_of_our_own() -> None:
    assert len(light.NAMES) == 9
    assert unlike.NAMES == ("text_recogniser", "style_transfer", "cnn_transformer")
    assert networks.NAMES == light.NAMES + unlike.NAMES


@pytest.mark.parametrize("name", EVERY)
def test_a_network_is_valid_and_has_one_input_and_one_output(name: str) -> None:
    model = networks.build(name)
    onnx.checker.check_model(model)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    assert len(model.graph.input) == len(model.graph.output) == 1


@pytest.mark.parametrize("name", EVERY)
def test_every_weight_is_read_and_has_spread(name: str) -> None:
    model = networks.build(name)
    read = {key for node in model.graph.node for key in node.input}
    assert {tensor.name for tensor in model.graph.initializer} <= read
    assert all(array.std() > 0 for key, array in weights(model).items() if key != "twice")


@pytest.mark.parametrize("name", SMALL)
def test_the_same_seed_gives_the_same_bytes_and_another_seed_other_weights(name: str) -> None:
    first, again, other = (networks.build(name, seed).SerializeToString() for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_a_light_network_keeps_its_structure() -> None:
    model = networks.build("shufflenet")
    source = onnx.load(light.source("shufflenet"))
    kept = [node for node in source.graph.node if node.op_type != "ConstantOfShape"]
    assert list(model.graph.node) == kept
    assert list(model.graph.output) == list(source.graph.output)
    assert model.opset_import == source.opset_import


def test_convolution_weights_have_the_scale_that_keeps_activations_of_order_one() -> None:
    model = networks.build("squeezenet")
    array = weights(model)["conv10_w_0"]
    assert array.std() == pytest.approx(np.sqrt(2 / array[0].size), rel=0.02)


@pytest.mark.parametrize("build", [networks.build, light.build, unlike.build])
def test_an_unknown_name_is_refused_with_the_known_ones(build: object) -> None:
    assert callable(build)
    with pytest.raises(ValueError, match=r"no network 'lenet'; there are .*, "):
        build("lenet")


def test_feeds_are_seeded_of_variance_one_and_the_same_from_file_and_memory(tmp_path: Path) -> None:
    path = networks.save("tiny", tmp_path)
    from_file, from_memory, other = (
        networks.feeds(path, 5),
        networks.feeds(networks.build("tiny"), 5),
        networks.feeds(path),
    )
    assert list(from_file) == ["picture"]
    assert np.array_equal(from_file["picture"], from_memory["picture"])
    assert not np.array_equal(from_file["picture"], other["picture"])
    assert from_file["picture"].std() == pytest.approx(1, abs=0.1)
    assert from_file["picture"].flags.c_contiguous


def test_feeds_of_a_picture_differ_in_their_coarse_structure() -> None:
    picture = networks.feeds(networks.build("squeezenet"))["data_0"]
    patches = picture.reshape(3, 8, 28, 8, 28).mean(axis=(2, 4))
    assert patches.std() > 0.5


def test_feeds_of_token_numbers_are_rows_of_the_table_they_are_looked_up_in() -> None:
    tokens = onnx.helper.make_tensor_value_info("tokens", onnx.TensorProto.INT64, [1, 50])
    table = numpy_helper.from_array(np.zeros((7, 2), dtype=np.float32), "table")
    flat = numpy_helper.from_array(np.array([-1]), "flat")
    nodes = [
        onnx.helper.make_node("Reshape", ["tokens", "flat"], ["line"]),
        onnx.helper.make_node("Gather", ["table", "line"], ["vectors"]),
    ]
    model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", [tokens], [], [table, flat]))
    numbers = networks.feeds(model)["tokens"]
    assert numbers.shape == (1, 50)
    assert set(numbers.flat) == set(range(7))


def test_feeds_refuse_what_they_cannot_draw() -> None:
    symbolic = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 3])
    model = onnx.helper.make_model(onnx.helper.make_graph([], "g", [symbolic], []))
    with pytest.raises(ValueError, match="'x'"):
        networks.feeds(model)


@pytest.mark.parametrize("name", EVERY)
def test_the_intermediate_tensor_stands_in_the_middle(name: str) -> None:
    nodes = list(networks.build(name).graph.node)
    place = [node.output[0] for node in nodes].index(networks.intermediate(name))
    assert 0.25 * len(nodes) < place < 0.75 * len(nodes)


@pytest.mark.parametrize("name", SMALL)
def test_swapping_channels_changes_two_rows_of_one_weight_and_nothing_else(name: str) -> None:
    model = networks.build(name)
    before = model.SerializeToString()
    swapped = weights(networks.swap_channels(model))
    assert model.SerializeToString() == before
    changed = [key for key, array in weights(model).items() if not np.array_equal(array, swapped[key])]
    assert len(changed) == 1
    rows = np.flatnonzero((weights(model)[changed[0]] != swapped[changed[0]]).any(axis=(1, 2, 3)))
    assert len(rows) == 2
    assert np.array_equal(swapped[changed[0]][rows], weights(model)[changed[0]][rows[::-1]])


def test_a_swap_shows_in_the_output() -> None:
    from onnx.reference import ReferenceEvaluator

    model = networks.build("tiny")
    feeds = networks.feeds(model)
    swapped = networks.swap_channels(model)
    right, wrong = (next(iter(ReferenceEvaluator(either).run(None, feeds))) for either in (model, swapped))
    assert np.std(right) > 0
    assert np.abs(right - wrong).max() / np.abs(right).max() > 1e-3


def test_numbers_do_not_depend_on_the_order_of_asking() -> None:
    draw = Draw(network="n", seed=1)
    first = draw.normal("a", (3,))
    draw.normal("b", (3,))
    assert np.array_equal(draw.normal("a", (3,)), first)
    assert not np.array_equal(draw.normal("b", (3,)), first)
    assert not np.array_equal(Draw(network="m", seed=1).normal("a", (3,)), first)
