"""Which inputs number the rows of a table."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from intarsia.graph import load_model
from intarsia.graph.sizes import table_rows
from intarsia.runtime.executors.drawn_feeds import varied_feeds
from tests.unit.graph.models import info, model


def test_tokens_are_drawn_among_the_rows() -> None:
    nodes = [
        helper.make_node("Cast", ["tokens"], ["wide"], to=TensorProto.INT64),
        helper.make_node("Gather", ["table", "wide"], ["vectors"]),
        helper.make_node("Gather", ["short", "wide"], ["more"]),
        helper.make_node("Add", ["vectors", "more"], ["y"]),
    ]
    weights = {"table": np.ones((40, 4), np.float32), "short": np.ones((25, 4), np.float32)}
    inputs = [info("tokens", (1, 200), TensorProto.INT32)]
    graph = load_model(model(nodes, inputs, [info("y", (1, 200, 4))], weights))
    assert table_rows(graph)["tokens"] == 25
    drawn = varied_feeds(graph, 0)["tokens"]
    assert (drawn.min(), drawn.max(), drawn.dtype.name) == (0, 24, "int32")


def test_pictures_differ_in_more_than_noise() -> None:
    nodes = [helper.make_node("Relu", ["picture"], ["y"])]
    shape = (1, 3, 64, 64)
    graph = load_model(model(nodes, [info("picture", shape)], [info("y", shape)]))
    one, other = (varied_feeds(graph, seed)["picture"] for seed in (0, 1))
    means = [picture.reshape(3, 8, 8, 8, 8).mean(axis=(2, 4)) for picture in (one, other)]
    assert all(0.5 < patches.std() < 1.0 for patches in means)
    assert not np.allclose(one, other)
    assert abs(one.std() - 1.0) < 0.2
