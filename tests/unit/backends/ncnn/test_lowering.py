"""The translation to ncnn: which layers come out, which are joined, what is refused. The engine is not needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from intarsia.backends.ncnn.lowering import Network, lower, refusal
from intarsia.backends.ncnn.lowering.weight_stream import chunks, describe
from intarsia.graph import Graph, SubModel, extract, load_model

Shape = tuple[int, ...]
RANDOM = np.random.default_rng(2)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def graph(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Shape],
    outputs: Sequence[str],
    weights: Mapping[str, np.ndarray] | None = None,
    opset: int = 21,
) -> Graph:
    proto = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()],
    )
    return load_model(helper.make_model(proto, opset_imports=[helper.make_opsetid("", opset)], ir_version=10))


def single(
    op: str, inputs: Mapping[str, Shape], weights: Mapping[str, np.ndarray] | None = None, **attributes: Any
) -> Graph:
    names = [*inputs, *(weights or {})]
    return graph([helper.make_node(op, names, ["y"], name="n", **attributes)], inputs, ["y"], weights)


def whole(model: Graph) -> SubModel:
    return extract(model, (node.id for node in model.nodes))


def network(model: Graph) -> Network:
    return lower(whole(model))


def rows(param: str) -> list[list[str]]:
    return [line.split() for line in param.splitlines()[2:]]


def kinds(model: Graph) -> list[str]:
    return [row[0] for row in rows(network(model).param)]


def params(model: Graph, kind: str) -> dict[str, str]:
    row = next(row for row in rows(network(model).param) if row[0] == kind)
    return dict(word.split("=") for word in row[4 + int(row[2]) + int(row[3]) :])


def reason(model: Graph) -> str:
    answer = refusal(model.nodes[-1], model)
    assert answer is not None
    return answer


CONV_NORM_RELU = [
    helper.make_node("Conv", ["x", "w", "b"], ["conv"], name="conv", pads=[1, 1, 1, 1]),
    helper.make_node("BatchNormalization", ["conv", "gamma", "beta", "mean", "variance"], ["norm"], name="norm"),
    helper.make_node("Relu", ["norm"], ["y"], name="relu"),
]
CONV_WEIGHTS = {
    "w": normal(4, 3, 3, 3),
    "b": normal(4),
    "gamma": normal(4),
    "beta": normal(4),
    "mean": normal(4),
    "variance": np.abs(normal(4)) + 1,
}


def test_convolution_normalisation_and_relu_are_one_layer() -> None:
    model = graph(CONV_NORM_RELU, {"x": (1, 3, 8, 8)}, ["y"], CONV_WEIGHTS)
    assert kinds(model) == ["Input", "Convolution"]
    assert params(model, "Convolution")["9"] == "1"


def test_the_normalisation_is_in_the_weights_that_are_streamed() -> None:
    model = graph(CONV_NORM_RELU, {"x": (1, 3, 8, 8)}, ["y"], CONV_WEIGHTS)
    recipes, derived = describe(network(model))
    tag, weight, bias = (np.frombuffer(partition, np.float32) for partition in chunks(recipes, CONV_WEIGHTS, derived))
    factor = CONV_WEIGHTS["gamma"] / np.sqrt(CONV_WEIGHTS["variance"] + 1e-5)
    assert tag.tobytes() == b"\0\0\0\0"
    np.testing.assert_allclose(weight.reshape(4, -1), CONV_WEIGHTS["w"].reshape(4, -1) * factor[:, None], rtol=1e-6)
    expected = (CONV_WEIGHTS["b"] - CONV_WEIGHTS["mean"]) * factor + CONV_WEIGHTS["beta"]
    np.testing.assert_allclose(bias, expected, rtol=1e-5, atol=1e-6)


def test_what_others_read_is_not_joined() -> None:
    model = graph(CONV_NORM_RELU, {"x": (1, 3, 8, 8)}, ["y", "norm"], CONV_WEIGHTS)
    assert kinds(model) == ["Input", "Convolution", "Split", "ReLU"]
    assert "9" not in params(model, "Convolution")


def test_an_activation_keeps_its_place_before_a_scale() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["conv"], name="conv"),
        helper.make_node("Relu", ["conv"], ["relu"], name="relu"),
        helper.make_node("Mul", ["relu", "s"], ["y"], name="mul"),
    ]
    model = graph(nodes, {"x": (1, 3, 8, 8)}, ["y"], {"w": CONV_WEIGHTS["w"], "s": normal(4, 1, 1)})
    assert kinds(model) == ["Input", "Convolution", "Scale"]


def test_a_row_vector_added_to_many_rows_is_no_bias_of_them() -> None:
    model = single("Add", {"x": (5, 6)}, {"b": normal(6)})
    assert "Scale" not in kinds(model)
    assert kinds(single("Add", {"x": (5, 6)}, {"b": normal(5, 1)})) == ["Input", "Scale"]


def test_reshapes_that_undo_each_other_vanish() -> None:
    nodes = [
        helper.make_node("Reshape", ["x", "flat"], ["r"], name="r"),
        helper.make_node("Reshape", ["r", "back"], ["s"], name="s"),
        helper.make_node("Sigmoid", ["s"], ["y"], name="y"),
    ]
    shapes = {"flat": np.array([1, 24]), "back": np.array([1, 2, 3, 4])}
    assert kinds(graph(nodes, {"x": (1, 2, 3, 4)}, ["y"], shapes)) == ["Input", "Sigmoid"]


@pytest.mark.parametrize(
    ("transposed", "shape", "view"), [(1, (7, 6), None), (0, (6, 7), [6, 7])], ids=["as it is", "reordered"]
)
def test_gemm_wants_one_row_for_each_output(transposed: int, shape: Shape, view: list[int] | None) -> None:
    weights = {"w": normal(*shape), "b": normal(7)}
    model = single("Gemm", {"x": (1, 6)}, weights, transB=transposed)
    recipes, derived = describe(network(model))
    assert recipes[0].get("view") == view
    stream = list(chunks(recipes, weights, derived))
    expected = weights["w"] if transposed else weights["w"].T
    assert stream[1].tobytes() == np.ascontiguousarray(expected).tobytes()


def test_transposed_convolution_has_output_channels_first() -> None:
    weights = {"w": normal(4, 3, 2, 2)}
    recipes, derived = describe(network(single("ConvTranspose", {"x": (1, 4, 5, 5)}, weights, group=2)))
    stream = list(chunks(recipes, weights, derived))
    expected = np.stack([weights["w"][:2].swapaxes(0, 1), weights["w"][2:].swapaxes(0, 1)])
    assert stream[1].tobytes() == np.ascontiguousarray(expected).tobytes()


def test_rounding_up_is_a_pad_at_the_end() -> None:
    model = single("MaxPool", {"x": (1, 4, 8, 8)}, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    stated = params(model, "Pooling")
    assert (stated["5"], stated["3"], stated["13"], stated["14"], stated["15"]) == ("1", "0", "0", "1", "1")


@pytest.mark.parametrize(("order", "stated"), [("DCR", "1"), ("CRD", "0")])
def test_blocks_go_into_channels_in_both_orders(order: str, stated: str) -> None:
    node = helper.make_node("SpaceToDepth", ["x"], ["y"], blocksize=2, mode=order)
    assert params(graph([node], {"x": (1, 2, 4, 4)}, ["y"], opset=28), "Reorg")["1"] == stated


def test_inputs_are_shared_only_with_layers_that_leave_them_alone() -> None:
    weights = {"w": normal(4, 3, 3, 3)}
    assert network(single("Conv", {"x": (1, 3, 8, 8)}, weights)).inputs[0].shared
    assert not network(single("Conv", {"x": (1, 3, 9, 7)}, weights)).inputs[0].shared
    assert not network(single("Relu", {"x": (1, 3, 8, 8)})).inputs[0].shared


REFUSED = {
    "batch": (single("Conv", {"x": (2, 3, 8, 8)}, {"w": normal(4, 3, 3, 3)}), "batch of 2"),
    "computed weight": (single("Conv", {"x": (1, 3, 8, 8), "w": (4, 3, 3, 3)}), "only as a weight"),
    "volume": (single("Conv", {"x": (1, 3, 8, 8, 8)}, {"w": normal(4, 3, 3, 3, 3)}), "spatial dimensions"),
    "dilated pooling": (
        single("MaxPool", {"x": (1, 3, 9, 9)}, kernel_shape=[3, 3], dilations=[2, 2]),
        "no dilation",
    ),
    "cube": (single("Pow", {"x": (1, 3)}, {"p": np.array(3, np.float32)}), "negative numbers"),
    "no layer": (single("Softplus", {"x": (1, 3)}), "no lowering"),
    "infinite number": (single("Add", {"x": (1, 3)}, {"c": np.array(-np.inf, np.float32)}), "finite"),
    "softmax over the batch": (single("Softmax", {"x": (1, 3)}, axis=0), "batch axis"),
    "number that is fed": (single("Dropout", {"x": (1, 3), "ratio": ()}), "without dimensions"),
    "six dimensions": (single("Relu", {"x": (1, 2, 2, 2, 2, 2)}), "at most 4"),
    "backwards": (
        single(
            "Slice", {"x": (1, 8)}, {"a": np.array([7]), "b": np.array([0]), "c": np.array([1]), "d": np.array([-1])}
        ),
        "without steps",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_say_why(case: str) -> None:
    model, words = REFUSED[case]
    assert words in reason(model)


@pytest.mark.parametrize(
    ("coordinates", "rounding", "taken"),
    [
        ("asymmetric", "floor", True),
        ("half_pixel", "round_prefer_floor", True),
        ("asymmetric", "ceil", False),
        ("align_corners", "round_prefer_ceil", True),
        ("align_corners", "floor", False),
    ],
)
def test_nearest_resizing_is_taken_where_the_pixels_agree(coordinates: str, rounding: str, taken: bool) -> None:
    node = helper.make_node(
        "Resize", ["x", "", "s"], ["y"], coordinate_transformation_mode=coordinates, nearest_mode=rounding
    )
    model = graph([node], {"x": (1, 3, 5, 5)}, ["y"], {"s": np.array([1, 1, 2, 2], np.float32)})
    assert (refusal(model.nodes[0], model) is None) is taken


@pytest.mark.parametrize(("scale", "taken"), [(2.0, True), (0.65, False)])
def test_corners_are_aligned_by_the_scales_given_and_not_by_whole_sizes(scale: float, taken: bool) -> None:
    node = helper.make_node(
        "Resize", ["x", "", "s"], ["y"], mode="linear", coordinate_transformation_mode="align_corners"
    )
    model = graph([node], {"x": (1, 3, 4, 4)}, ["y"], {"s": np.array([1, 1, scale, scale], np.float32)})
    assert (refusal(model.nodes[0], model) is None) is taken


def test_linear_resizing_of_one_row_is_refused() -> None:
    node = helper.make_node("Resize", ["x", "", "s"], ["y"], mode="linear")
    scales = {"s": np.array([1, 1, 2, 2], np.float32)}
    assert "one row" in reason(graph([node], {"x": (1, 3, 1, 5)}, ["y"], scales))


@given(st.floats(min_value=-1e6, max_value=1e6, width=32))
def test_floats_are_written_so_that_they_read_back(alpha: float) -> None:
    written = params(single("LeakyRelu", {"x": (1, 3)}, alpha=alpha), "ReLU")["0"]
    assert np.float32(written) == np.float32(alpha)
    assert set(written) & set(".e")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_every_blob_has_one_writer_and_at_most_one_reader(data: st.DataObject) -> None:
    values = ["x"]
    nodes = []
    for index in range(data.draw(st.integers(1, 12))):
        op = data.draw(st.sampled_from(["Relu", "Sigmoid", "Add", "Mul", "Conv"]))
        inputs = [data.draw(st.sampled_from(values)) for _ in range(2 if op in ("Add", "Mul") else 1)]
        nodes.append(helper.make_node(op, [*inputs, "w"] if op == "Conv" else inputs, [f"v{index}"], name=f"n{index}"))
        values.append(f"v{index}")
    outputs = data.draw(st.lists(st.sampled_from(values[1:]), min_size=1, max_size=4, unique=True))
    model = graph(nodes, {"x": (1, 4, 3, 4)}, outputs, {"w": normal(4, 4, 1, 1)})
    result = network(model)
    _, header, *_ = result.param.splitlines()
    lines = rows(result.param)
    read: Counter[str] = Counter()
    written: list[str] = []
    for row in lines:
        first, last = 4, 4 + int(row[2])
        assert set(row[first:last]) <= set(written)
        read.update(row[first:last])
        written += row[last : last + int(row[3])]
    assert header == f"{len(lines)} {len(written)}"
    assert len(set(written)) == len(written)
    read.update(border.blob for border in result.outputs)
    assert max(read.values()) == 1
    assert [border.name for border in result.outputs] == [value.name for value in whole(model).outputs]
