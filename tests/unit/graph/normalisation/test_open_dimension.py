"""A first dimension that the file fixes is opened by a stated shape that names it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from intarsia.errors import ModelError
from intarsia.graph import load_model
from intarsia.graph.reference.reference import evaluate
from intarsia.graph.sizes import input_dims
from tests.unit.graph.models import info, model

RNG = np.random.default_rng(0)


def drawn(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def sizes(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def attention(batch: int) -> onnx.ModelProto:
    """Heads are split off and joined, and merged with the batch meanwhile, all by constants that name the batch."""
    nodes = [
        helper.make_node("Reshape", ["x", "split"], ["heads"]),
        helper.make_node("Transpose", ["heads"], ["turned"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["turned", "merge"], ["merged"]),
        helper.make_node("Softmax", ["merged"], ["soft"], axis=-1),
        helper.make_node("Reshape", ["soft", "apart"], ["again"]),
        helper.make_node("Transpose", ["again"], ["back"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["back", "flat"], ["y"], allowzero=1),
    ]
    constants = {
        "split": sizes(batch, 3, 2, 4),
        "merge": sizes(batch * 2, 3, 4),
        "apart": sizes(batch, 2, 3, 4),
        "flat": sizes(batch, -1),
    }
    return model(nodes, [info("x", (batch, 3, 8))], [info("y", (batch, 24))], constants)


def convolutions(batch: int) -> onnx.ModelProto:
    """The shape is computed of the picture, as exporters write `flatten`; a token is repeated for each row."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Shape", ["c"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["rows"]),
        helper.make_node("Concat", ["rows", "rest"], ["wanted"], axis=0),
        helper.make_node("Reshape", ["c", "wanted"], ["f"]),
        helper.make_node("Expand", ["f", "full"], ["e"]),
        helper.make_node("Gemm", ["e", "v"], ["y"]),
    ]
    constants = {
        "w": drawn(2, 3, 3, 3),
        "v": drawn(32, 5),
        "zero": sizes(0),
        "rest": sizes(-1),
        "full": sizes(batch, 32),
    }
    return model(nodes, [info("x", (batch, 3, 4, 4))], [info("y", (batch, 5))], constants)


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("made", [attention, convolutions])
def test_rows_are_answered_as_one_by_one(made: Any, batch: int) -> None:
    proto = made(batch)
    shape = tuple(each.dim_value for each in proto.graph.input[0].type.tensor_type.shape.dim)
    x = drawn(6, *shape[1:])
    alone = load_model(proto)
    rows = [evaluate(alone, {"x": x[first : first + batch]})["y"] for first in range(0, 6, batch)]
    opened = load_model(proto, {"x": ("N", *shape[1:]), "N": 6})
    assert opened.values["x"].shape == (6, *shape[1:])
    np.testing.assert_allclose(evaluate(opened, {"x": x})["y"], np.concatenate(rows), rtol=1e-5, atol=1e-6)


def test_a_range_leaves_it_open() -> None:
    graph = load_model(convolutions(1), {"x": ("N", 3, 4, 4), "N": "1..8"})
    assert graph.sizes == {"N": 4}
    assert input_dims(graph) == {"x": ("N", 3, 4, 4)}
    assert graph.values["y"].shape is None


def test_a_dimension_that_is_open_may_be_named_too() -> None:
    relu = helper.make_node("Relu", ["x"], ["y"])
    for dims in (("N", 3), (None, 3)):
        proto = model([relu], [info("x", dims)], [info("y", None)])
        assert load_model(proto, {"x": ("N", 3), "N": 2}).values["y"].shape == (2, 3)


@pytest.mark.parametrize(
    ("dims", "shapes", "words"),
    [
        ([(1, 3)], {"x0": (1, "N"), "N": 2}, "dimension 1 is 3 in the model, and only the first one can be opened"),
        ([("M", 3)], {"x0": ("N", 3), "N": 2}, "is called M in the model, and N is stated"),
        ([(1, 3), (2, 3)], {"x0": ("N", 3), "x1": ("N", 3), "N": 2}, "it is 1 and 2 in the model; use two names"),
        ([(1, 3), ("N", 3)], {"x0": ("N", 3), "N": 2}, "it is 1 and open in the model; use two names"),
        ([(1, 3)], {"x0": ("N", 3)}, r"dimension 0 \('N'\) has no size"),
        ([(1, 3)], {"x0": ("N", 3), "M": 2}, "'M', but the model has no such dimension"),
    ],
)
def test_what_cannot_be_opened_is_named(
    dims: list[tuple[int | str, ...]], shapes: Mapping[str, Any], words: str
) -> None:
    inputs = [info(f"x{number}", each) for number, each in enumerate(dims)]
    nodes = [helper.make_node("Relu", [each.name], [f"y{number}"]) for number, each in enumerate(inputs)]
    proto = model(nodes, inputs, [info(f"y{number}", None) for number in range(len(nodes))])
    with pytest.raises(ModelError, match=words):
        load_model(proto, shapes)


def test_a_node_that_needs_the_size_of_the_file_is_named() -> None:
    join = helper.make_node("Concat", ["token", "x"], ["y"], axis=1, name="join")
    proto = model([join], [info("x", (1, 4, 3))], [info("y", (1, 5, 3))], {"token": drawn(1, 1, 3)})
    with pytest.raises(ModelError, match=r"N cannot be opened: Concat join makes .* so something that it reads"):
        load_model(proto, {"x": ("N", 4, 3), "N": "1..8"})
    with pytest.raises(ModelError, match="N cannot be opened: Concat join does not take other sizes"):
        load_model(proto, {"x": ("N", 4, 3), "N": 2})
    assert load_model(proto, {"x": ("N", 4, 3), "N": 1}).values["y"].shape == (1, 5, 3)


def test_bodies_that_read_it_are_refused() -> None:
    body = helper.make_graph([helper.make_node("Relu", ["x"], ["inside"])], "body", [], [info("inside", (1, 3))])
    node = helper.make_node("If", ["flag"], ["y"], then_branch=body, else_branch=body)
    inputs = [info("x", (1, 3)), helper.make_tensor_value_info("flag", onnx.TensorProto.BOOL, ())]
    with pytest.raises(ModelError, match=r"N cannot be opened: the bodies of If .* read x"):
        load_model(model([node], inputs, [info("y", (1, 3))]), {"x": ("N", 3), "N": 2})
