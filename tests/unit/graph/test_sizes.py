"""Open dimensions stay in the graph; sizes are part of what is measured, and of estimates."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from intarsia.errors import ConfigError, ModelError
from intarsia.graph import Graph, SizeRange, load_model, open_graph, save_graph
from intarsia.graph.fingerprint import content_hash, fingerprint_of
from intarsia.graph.ranges import shape_at
from intarsia.graph.sizes import estimated, input_dims
from intarsia.runtime.executors.drawn_feeds import graph_feeds
from tests.unit.graph.models import info, model


def opened(**shapes: Any) -> Graph:
    return load_model(projection(), {"N": 2, **shapes})


def projection() -> onnx.ModelProto:
    """(N, seq, 4) times (4, 600), then a reshape by constants."""
    weights = {"w": np.ones((4, 600), np.float32), "by": np.array([0, -1, 300])}
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"], "product"),
        helper.make_node("Reshape", ["m", "by"], ["y"], "halves"),
    ]
    return model(nodes, [info("x", ("N", "seq", 4))], [info("y", None)], weights)


@pytest.mark.parametrize("stated", ["10..20", SizeRange(low=10, high=20)])
def test_a_dimension_with_a_range_stays_open(stated: object) -> None:
    graph = opened(seq=stated)
    assert dict(graph.sizes) == {"seq": 15}
    assert input_dims(graph) == {"x": (2, "seq", 4)}
    assert (graph.values["x"].shape, graph.values["x"].rank, graph.values["w"].shape) == (None, 3, (4, 600))
    assert graph_feeds(graph, 0)["x"].shape == (2, 15, 4)


def test_shapes_are_estimated_at_the_sizes_that_are_measured() -> None:
    graph = opened(seq="10..20")
    shapes = {name: value.shape for name, value in estimated(graph).values.items()}
    assert (shapes["x"], shapes["m"], shapes["y"]) == ((2, 15, 4), (2, 15, 600), (2, 30, 300))
    assert estimated(graph).values["m"].nbytes == 2 * 15 * 600 * 4
    assert graph.values["m"].shape is None
    fixed = opened(seq=3)
    assert estimated(fixed) is fixed


def test_other_sizes_are_another_record_and_no_sizes_are_no_change() -> None:
    small, large = opened(seq="1..8"), opened(seq="9..32")
    assert fingerprint_of(small) != fingerprint_of(large)
    assert content_hash(small) != content_hash(large)
    assert fingerprint_of(opened(seq="1..8")) == fingerprint_of(small)
    again = small.with_sizes({"seq": 20})  # shares what was computed of the weights
    assert fingerprint_of(again) == fingerprint_of(large)
    assert content_hash(again) == content_hash(large)


def test_sizes_travel_with_the_graph_and_end_with_the_range(tmp_path: Any) -> None:
    graph = opened(seq="10..20")
    save_graph(graph, tmp_path / "saved")
    structure = (tmp_path / "saved" / "graph.onnx").read_bytes()
    assert dict(open_graph(structure, tmp_path / "saved" / "weights.bin").sizes) == {"seq": 15}
    assert dict(load_model(tmp_path / "saved" / "graph.onnx", {"seq": 3}).sizes) == {}


def test_a_range_that_does_not_fit_the_model() -> None:
    with pytest.raises(ModelError, match="did you mean 'seq'"):
        opened(sek="1..5")
    with pytest.raises(ModelError, match=r"dimension 1 \('seq'\) has no size"):
        opened()
    with pytest.raises(ModelError, match=r"'seq' has the range 1\.\.5, and a shape says 3"):
        opened(seq="1..5", x=(2, 3, 4))
    with pytest.raises(ConfigError, match="no range"):
        opened(seq="some")


def test_a_shape_at_sizes() -> None:
    assert shape_at((1, "a", "b", "a"), {"a": 5, "b": 6}) == (1, 5, 6, 5)
