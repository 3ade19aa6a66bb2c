from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.errors import ModelError, PlanError
from intarsia.graph import Graph, extract, load_model
from intarsia.graph.reference.reference import evaluate
from tests.unit.graph.models import branching, feeds_of, random_dags, two_layers


def _partitions(graph: Graph, cuts: list[int]) -> list[list[str]]:
    """Runs of the topological order: each is convex."""
    borders = [0, *sorted(cut % (len(graph.nodes) + 1) for cut in cuts), len(graph.nodes)]
    ids = [node.id for node in graph.nodes]
    return [ids[a:b] for a, b in pairwise(borders) if a < b]


@given(random_dags(), st.lists(st.integers(0, 100), max_size=3))
def test_partitions_one_after_the_other_give_what_the_whole_gives(proto: onnx.ModelProto, cuts: list[int]) -> None:
    graph = load_model(proto)
    feeds = feeds_of(proto)
    whole = evaluate(graph, feeds)
    live = dict(feeds)
    for ids in _partitions(graph, cuts):
        partition = extract(graph, ids)
        alone = load_model(partition.to_bytes(weights="inline"))
        given_ = {value.name: live[value.name] for value in partition.inputs}
        results = evaluate(partition, given_)
        assert tuple(results) == tuple(value.name for value in partition.outputs)
        for name, array in evaluate(alone, given_).items():
            np.testing.assert_array_equal(array, results[name])
        live.update(results)
    for name, array in whole.items():
        np.testing.assert_array_equal(live[name], array)


def test_the_border_of_a_partition() -> None:
    graph = load_model(two_layers())
    partition = extract(graph, ["relu", "MatMul_2"])
    assert [value.name for value in partition.inputs] == ["a"]
    assert [value.name for value in partition.outputs] == ["c"]
    assert set(partition.weights) == {"w1"}
    assert partition.weights["w1"] is graph.weights["w1"]
    assert partition.graph is graph


def test_a_value_that_is_read_outside_and_inside_is_an_output() -> None:
    graph = load_model(branching())
    partition = extract(graph, ["Neg_0", "ReduceSum_1", "Greater_2"])
    assert [value.name for value in partition.outputs] == ["z", "positive"]


def test_what_nested_graphs_capture_comes_along() -> None:
    graph = load_model(branching())
    partition = extract(graph, ["If_3", "Loop_4"])
    assert [value.name for value in partition.inputs] == ["positive", "z"]
    assert {weight.shape for weight in partition.weights.values()} == {(3, 200), (), ()}
    alone = load_model(partition.to_bytes(weights="inline"))
    assert set(alone.inputs) == {"positive", "z"}


def test_an_unknown_id_is_named_with_the_nearest() -> None:
    graph = load_model(two_layers())
    with pytest.raises(PlanError, match="'rela'; did you mean 'relu'"):
        extract(graph, ["rela"])


def test_nothing_is_no_sub_model() -> None:
    with pytest.raises(ModelError, match="at least one node"):
        extract(load_model(two_layers()), [])


def test_external_weights_are_named_and_left_out() -> None:
    partition = extract(load_model(two_layers()), ["first"])
    proto = onnx.ModelProto.FromString(partition.to_bytes(weights="external"))
    (tensor,) = proto.graph.initializer
    assert (tensor.name, tensor.data_location) == ("w0", onnx.TensorProto.EXTERNAL)
    assert {entry.key: entry.value for entry in tensor.external_data}["location"] == "weights"
    assert proto.ByteSize() < 1000


def test_weights_as_inputs_come_after_the_real_ones() -> None:
    partition = extract(load_model(two_layers()), ["first", "relu"])
    proto = onnx.ModelProto.FromString(partition.to_bytes(weights="inputs"))
    assert [value.name for value in proto.graph.input] == ["x", "w0"]
    assert proto == partition.to_message(weights="inputs")
    onnx.checker.check_model(proto, full_check=True)


@pytest.mark.parametrize("place", ["inline", "external", "inputs"])
def test_small_weights_are_inside_in_any_case(place: str) -> None:
    graph = load_model(branching())
    data = extract(graph, ["Loop_4"]).to_bytes(weights=place)  # type: ignore[arg-type]
    proto = onnx.ModelProto.FromString(data)
    assert {tensor.name for tensor in proto.graph.initializer if tensor.raw_data} == {"three", "factor"}


def test_equal_partitions_have_equal_bytes() -> None:
    first, second = (extract(load_model(branching()), ["If_3"]).to_bytes(weights="inline") for _ in range(2))
    assert first == second


def test_a_saved_partition_stands_alone(tmp_path: Path) -> None:
    graph = load_model(two_layers())
    path = tmp_path / "deep" / "piece.onnx"
    extract(graph, ["first", "relu"]).save(path)
    onnx.checker.check_model(str(path), full_check=True)
    feeds = feeds_of(two_layers())
    np.testing.assert_array_equal(evaluate(load_model(path), feeds)["b"], evaluate(graph, feeds, keep=["b"])["b"])
    assert [entry.name for entry in path.parent.iterdir()] == ["piece.onnx"]
