from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import given
from onnx import TensorProto, helper

from intarsia.errors import ModelError
from intarsia.graph import Graph, load_model, open_graph, save_graph, store
from intarsia.graph.fingerprint import content_hash, fingerprint_of
from intarsia.graph.reference.reference import evaluate
from intarsia.graph.store import structure, weight_index
from tests.unit.graph.models import branching, feeds_of, info, model, random_dags, two_layers


def _reopened(graph: Graph, folder: Path) -> Graph:
    save_graph(graph, folder)
    return open_graph((folder / "graph.onnx").read_bytes(), folder / "weights.bin")


@pytest.mark.parametrize("proto", [two_layers(), branching(), branching(opset=13)], ids=["chain", "nested", "raised"])
def test_a_saved_graph_is_the_same_graph(proto: onnx.ModelProto, tmp_path: Path) -> None:
    graph = load_model(proto)
    again = _reopened(graph, tmp_path / "saved")
    assert [node.id for node in again.nodes] == [node.id for node in graph.nodes]
    assert [node.reads for node in again.nodes] == [node.reads for node in graph.nodes]
    assert dict(again.values) == dict(graph.values)
    assert dict(again.opsets) == dict(graph.opsets)
    assert weight_index(again) == weight_index(graph)
    assert structure(again) == structure(graph)
    assert fingerprint_of(again) == fingerprint_of(graph)
    assert content_hash(again) == content_hash(graph)


@given(random_dags())
def test_structure_alone_brings_a_small_graph_back(proto: onnx.ModelProto) -> None:
    graph = load_model(proto)
    again = open_graph(structure(graph), Path("nowhere"))
    feeds = feeds_of(proto)
    for name, array in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(evaluate(again, feeds)[name], array)


def test_weights_are_mapped_and_aligned(tmp_path: Path) -> None:
    graph = load_model(two_layers())
    again = _reopened(graph, tmp_path / "g")
    array = again.weights["w1"].array()
    assert not array.flags.owndata
    np.testing.assert_array_equal(array, graph.weights["w1"].array())
    before = (tmp_path / "g" / "weights.bin").read_bytes()
    array[:] = 0
    assert (tmp_path / "g" / "weights.bin").read_bytes() == before
    assert all(offset % 64 == 0 for _, offset, _ in weight_index(graph))


def test_weights_may_lie_within_a_larger_file(tmp_path: Path) -> None:
    graph = load_model(two_layers())
    save_graph(graph, tmp_path / "g")
    larger = tmp_path / "artifact"
    larger.write_bytes(bytes(4096) + (tmp_path / "g" / "weights.bin").read_bytes() + b"more")
    again = open_graph(structure(graph), larger, base_offset=4096)
    assert content_hash(again) == content_hash(graph)


def test_equal_weights_are_stored_once(tmp_path: Path) -> None:
    square = np.ones((32, 32), np.float32)
    weights = {"a": square, "b": square.copy(), "c": square * 2}
    proto = model([helper.make_node("Sum", ["x", *weights], ["y"])], [info("x", (32, 32))], [info("y", None)], weights)
    graph = load_model(proto)
    offsets = {name: offset for name, offset, _ in weight_index(graph)}
    assert offsets["a"] == offsets["b"] != offsets["c"]
    again = _reopened(graph, tmp_path / "g")
    assert (tmp_path / "g" / "weights.bin").stat().st_size == 2 * 4096
    assert again.weights["c"].array()[0, 0] == 2


def test_every_kind_of_content_comes_back(tmp_path: Path) -> None:
    weights = {
        "half": np.arange(4096).astype(np.float16),
        "brain": np.arange(4096).astype(ml_dtypes.bfloat16),
        "nibbles": (np.arange(4096) % 8).astype(ml_dtypes.int4),
        "flags": np.arange(4096) % 3 == 0,
        "none": np.zeros((0, 4), np.float32),
        "one": np.float64(3),
        "words": np.array(["a", "bc"], object),
    }
    nodes = [helper.make_node("Keep", ["x", *weights], ["y"], domain="their")]
    graph = load_model(model(nodes, [info("x")], [info("y", None)], weights, domains={"their": 1}))
    again = _reopened(graph, tmp_path / "g")
    for name, array in weights.items():
        stored = again.weights[name]
        assert (stored.dtype, stored.shape) == (graph.weights[name].dtype, np.shape(array))
        assert stored.array().tolist() == np.asarray(array).tolist()
    assert again.weights["nibbles"].dtype == "int4"
    assert again.weights["brain"].dtype == "bfloat16"
    assert "nibbles" not in {name for name, _, _ in weight_index(graph)}


def test_saving_again_replaces(tmp_path: Path) -> None:
    folder = tmp_path / "g"
    save_graph(load_model(two_layers(seed=1)), folder)
    assert content_hash(_reopened(load_model(two_layers(seed=2)), folder)) == content_hash(load_model(two_layers(2)))
    assert [entry.name for entry in tmp_path.iterdir()] == ["g"]


def test_a_save_that_fails_leaves_the_former_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "g"
    graph = load_model(two_layers(seed=1))
    save_graph(graph, folder)

    def fail(*_: object) -> memoryview:
        raise OSError("the disk is full")

    monkeypatch.setattr(store, "raw", fail)
    with pytest.raises(OSError, match="full"):
        save_graph(load_model(two_layers(seed=2)), folder)
    again = open_graph((folder / "graph.onnx").read_bytes(), folder / "weights.bin")
    assert content_hash(again) == content_hash(graph)
    assert [entry.name for entry in tmp_path.iterdir()] == ["g"]


def test_damage_is_found_on_opening(tmp_path: Path) -> None:
    folder = tmp_path / "g"
    graph = load_model(two_layers())
    save_graph(graph, folder)
    weights = folder / "weights.bin"
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(ModelError, match="cut short"):
        open_graph(structure(graph), weights)
    with pytest.raises(ModelError, match="does not parse"):
        open_graph(structure(graph)[:-1], weights)
    with pytest.raises(ModelError, match="not in"):
        open_graph(structure(graph), tmp_path / "absent")


def test_the_stored_graph_is_a_sound_onnx_model(tmp_path: Path) -> None:
    save_graph(load_model(two_layers()), tmp_path / "g")
    onnx.checker.check_model(str(tmp_path / "g" / "graph.onnx"), full_check=True)


def test_integers_stay_integers(tmp_path: Path) -> None:
    nodes = [helper.make_node("Gather", ["table", "x"], ["y"])]
    weights = {"table": np.arange(3000)}
    inputs = [info("x", (2,), TensorProto.INT64)]
    graph = load_model(model(nodes, inputs, [info("y", (2,), TensorProto.INT64)], weights))
    again = _reopened(graph, tmp_path / "g")
    assert evaluate(again, {"x": np.array([1, 2999])})["y"].tolist() == [1, 2999]
