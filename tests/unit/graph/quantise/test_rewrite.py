"""Layers in 8 bits compute nearly what they did, in plain ONNX, and nothing else changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import ml_dtypes
import numpy as np
import pytest

from intarsia.config.precision import Precision, Range, Scheme
from intarsia.errors import PlanError
from intarsia.graph import Graph, SubModel, extract, load_model
from intarsia.graph.quantise import layers_of, means_text, quantised, with_sums
from intarsia.graph.quantise.blocks import Blocks
from intarsia.graph.reference.reference import evaluate
from tests.unit.graph.quantise.networks import PICTURE, loaded, products, residual

TYPES: Mapping[str, type] = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}
WIDE = dict.fromkeys(("picture", "c2", "row", "x"), (-40.0, 40.0)) | {"r1": (0.0, 10.0)}


def seen(graph: Graph, feeds: Mapping[str, np.ndarray]) -> dict[str, Range]:
    names = {name for layer in layers_of(graph, graph.nodes) for name in layer.reads}
    values = {**feeds, **evaluate(graph, feeds, keep=names - feeds.keys())}
    return {name: (float(values[name].min()), float(values[name].max())) for name in names}


def whole(graph: Graph, schemes: Mapping[str, Scheme], ranges: Mapping[str, Range]) -> SubModel:
    return quantised(extract(graph, graph.position), Precision.of(schemes, ranges))


def apart(actual: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> float:
    return max(float(np.linalg.norm(actual[name] - array) / np.linalg.norm(array)) for name, array in expected.items())


@pytest.fixture(scope="module")
def picture() -> dict[str, np.ndarray]:
    return {"picture": np.random.default_rng(3).standard_normal(PICTURE).astype(np.float32)}


@pytest.fixture(scope="module")
def vectors() -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(3).standard_normal((1, 6, 16)).astype(np.float32)}


def test_what_can_compute_in_8_bits() -> None:
    graph = loaded(residual())
    layers = {layer.node.id: layer for layer in layers_of(graph, graph.nodes)}
    assert list(layers) == ["conv1", "conv2", "join", "classify"]
    assert layers["conv1"].norm is not None
    assert layers["conv1"].output == "n1"
    assert layers["join"].sources == ("conv2", "conv1")
    assert set(layers["classify"].schemes) == set(Scheme)
    assert layers["conv1"].schemes == (Scheme.STATIC,)
    # Both factors of the last product vary.
    graph = loaded(products())
    assert [layer.node.id for layer in layers_of(graph, graph.nodes)] == ["left", "right"]


def test_a_sum_follows_what_it_adds() -> None:
    graph = loaded(residual())
    layers = layers_of(graph, graph.nodes)
    assert [layer.node.id for layer in with_sums(layers, ["conv1", "conv2"])] == ["conv1", "conv2", "join"]
    assert [layer.node.id for layer in with_sums(layers, ["conv1", "classify"])] == ["conv1", "classify"]


@pytest.mark.parametrize("scheme", list(Scheme))
def test_a_network_in_8_bits(scheme: Scheme, picture: dict[str, np.ndarray]) -> None:
    graph = loaded(residual())
    schemes = {layer.node.id: Scheme.STATIC for layer in layers_of(graph, graph.nodes)} | {"classify": scheme}
    reduced = whole(graph, schemes, seen(graph, picture))
    limit = {Scheme.WEIGHTS_4: 0.5, Scheme.WEIGHTS_6: 0.2}.get(scheme, 0.05)
    assert 0.0 < apart(evaluate(reduced, picture), evaluate(graph, picture)) < limit
    kinds = Counter(node.op_type for node in reduced.nodes)
    assert kinds["BatchNormalization"] == 0
    assert kinds["QuantizeLinear"] == (4 if scheme.needs_ranges else 3)
    assert kinds["MatMulInteger"] + kinds["Gemm"] + kinds["MatMul"] == 1
    assert not {"w1", "w2", "w3"} & reduced.weights.keys()


@pytest.fixture(scope="module")
def positive() -> dict[str, np.ndarray]:
    """Inputs as they are behind a Relu."""
    return {"x": np.abs(np.random.default_rng(4).standard_normal((1, 400, 16))).astype(np.float32) + 1.0}


@pytest.mark.parametrize("scheme", [Scheme.STATIC, Scheme.DYNAMIC])
def test_errors_of_weights_cancel_on_average(scheme: Scheme, positive: dict[str, np.ndarray]) -> None:
    graph = loaded(products(np.random.default_rng(1).standard_normal((16, 12)).astype(np.float32)))
    partition = extract(graph, ["left"])
    expected, ranges = evaluate(partition, positive), {"x": (0.0, 6.0)}
    means = {"x": means_text(positive["x"].mean(axis=(0, 1)))}
    plain, better = (
        evaluate(quantised(partition, Precision.of({"left": scheme}, ranges, own)), positive) for own in ({}, means)
    )
    off = [max(float(np.abs((found[name] - expected[name]).mean())) for name in expected) for found in (plain, better)]
    assert off[1] < 0.5 * off[0]
    assert apart(better, expected) < apart(plain, expected)


def in_type(graph: Graph, picture: Mapping[str, np.ndarray], type_: str) -> SubModel:
    names = [layer.reads[0] for layer in layers_of(graph, graph.nodes) if not layer.sources]
    values = {**picture, **evaluate(graph, picture, keep=[name for name in names if name not in picture])}
    means = {name: means_text(values[name].mean(axis=(0, 2, 3) if values[name].ndim == 4 else 0)) for name in names}
    return quantised(extract(graph, graph.position), Precision.of({}, {}, means), type_)


@pytest.mark.parametrize("type_", ["bf16", "f16"])
def test_weights_of_a_smaller_type_hold_what_it_holds(type_: str, picture: dict[str, np.ndarray]) -> None:
    graph = loaded(residual())
    reduced = in_type(graph, picture, type_)
    weights = [reduced.weights[node.inputs[1]] for node in reduced.nodes if node.op_type in ("Conv", "Gemm")]
    assert len(weights) == 3
    for weight in weights:
        array = weight.array()
        assert np.array_equal(array, array.astype(TYPES[type_]).astype(np.float32))
    # The normalisation is in the weights, and nothing else changed.
    assert [node.op_type for node in reduced.nodes if node.op_type == "BatchNormalization"] == []
    assert 0.0 < apart(evaluate(reduced, picture), evaluate(graph, picture)) < (0.01 if type_ == "bf16" else 0.001)


def test_without_a_smaller_type_only_nodes_in_few_bits_change(picture: dict[str, np.ndarray]) -> None:
    graph = loaded(residual())
    same = quantised(extract(graph, graph.position), Precision.of({}, {}, {"picture": means_text(np.ones(3))}))
    assert [node.id for node in same.nodes] == [node.id for node in graph.nodes]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no text of this kind!", "the means of 'picture' cannot be read"),
        (means_text(np.ones(2)), "node 'conv1', which reads 'picture': 2 means, and it reads 3 channels"),
        ("AHw=", "a mean is no number"),
    ],
)
def test_means_that_do_not_fit_are_refused(text: str, message: str) -> None:
    graph = loaded(residual())
    with pytest.raises(PlanError, match=message):
        quantised(extract(graph, graph.position), Precision.of({}, {}, {"picture": text}), "bf16")


@pytest.mark.parametrize("scheme", [scheme for scheme in Scheme if scheme.weight_bits is None])
def test_products_share_what_they_read(scheme: Scheme, vectors: dict[str, np.ndarray]) -> None:
    graph = loaded(products())
    reduced = whole(graph, {"left": scheme, "right": scheme}, seen(graph, vectors))
    kinds = Counter(node.op_type for node in reduced.nodes)
    assert kinds["QuantizeLinear"] + kinds["DynamicQuantizeLinear"] == 1
    assert 0.0 < apart(evaluate(reduced, vectors), evaluate(graph, vectors)) < 0.03


@pytest.mark.parametrize(
    "scheme", [Scheme.WEIGHTS_12, Scheme.WEIGHTS_10, Scheme.WEIGHTS_8, Scheme.WEIGHTS_6, Scheme.WEIGHTS_4]
)
def test_weights_in_few_bits_are_restored_and_nothing_else_changes(
    scheme: Scheme, picture: dict[str, np.ndarray]
) -> None:
    graph = loaded(residual())
    partition = extract(graph, ["classify"])
    reduced = quantised(partition, Precision.of({"classify": scheme}, {}))
    assert [node.op_type for node in reduced.nodes] == ["DequantizeLinear", "MatMul", "Add"]
    weight = graph.weights["w3"].array().T
    row = {"row": np.random.default_rng(2).standard_normal((1, weight.shape[0])).astype(np.float32)}
    restored = Blocks.of(weight, scheme.weight_bits or 0).restored()
    expected = row["row"] @ restored + graph.weights["b3"].array()
    assert evaluate(reduced, row)["scores"] == pytest.approx(expected, rel=1e-4, abs=1e-4)
    again = load_model(reduced.to_bytes(weights="inline"))
    assert apart(evaluate(again, row), evaluate(reduced, row)) < 1e-6


def test_what_is_written_is_onnx_that_reads_back(picture: dict[str, np.ndarray]) -> None:
    graph = loaded(residual())
    schemes = {layer.node.id: layer.schemes[0] for layer in layers_of(graph, graph.nodes)}
    reduced = whole(graph, schemes, seen(graph, picture))
    again = load_model(reduced.to_bytes(weights="inline"))
    assert apart(evaluate(again, picture), evaluate(reduced, picture)) < 1e-6
    assert [value.name for value in reduced.inputs] == ["picture"]
    assert [value.name for value in reduced.outputs] == ["scores"]
    assert all(value.shape is not None for value in reduced.graph.values.values())


def test_a_partition_keeps_its_border(picture: dict[str, np.ndarray]) -> None:
    graph = loaded(residual())
    partition = extract(graph, ["conv1", "norm", "relu1", "conv2"])
    reduced = quantised(partition, Precision.of({"conv2": Scheme.STATIC}, seen(graph, picture)))
    assert [value.name for value in reduced.outputs] == [value.name for value in partition.outputs]
    assert apart(evaluate(reduced, picture), evaluate(partition, picture)) < 0.02
    assert np.array_equal(evaluate(reduced, picture)["r1"], evaluate(partition, picture)["r1"])


def test_values_beyond_their_range_are_cut_off(vectors: dict[str, np.ndarray]) -> None:
    graph = loaded(products(np.eye(16, 12, dtype=np.float32)))
    partition = extract(graph, ["left"])
    reduced = quantised(partition, Precision.of({"left": Scheme.STATIC}, {"x": (-0.5, 0.25)}))
    (found,) = evaluate(reduced, vectors).values()
    assert found == pytest.approx(np.clip(vectors["x"][..., :12], -0.5, 0.25), abs=0.005)


def test_weights_that_are_zero_give_zero(vectors: dict[str, np.ndarray]) -> None:
    graph = loaded(products(np.zeros((16, 12), np.float32)))
    for scheme in Scheme:
        reduced = quantised(extract(graph, ["left"]), Precision.of({"left": scheme}, {"x": (-3.0, 3.0)}))
        assert not next(iter(evaluate(reduced, vectors).values())).any()


@pytest.mark.parametrize(
    ("schemes", "ranges", "message"),
    [
        ({"relu1": Scheme.STATIC}, WIDE, "node 'relu1' cannot compute in int8-static, only in fp32 alone"),
        ({"conv1": Scheme.DYNAMIC}, WIDE, "node 'conv1' cannot compute in int8-dynamic, only in int8-static"),
        ({"conv1": Scheme.STATIC}, {}, "needs the range of 'picture'"),
    ],
)
def test_what_cannot_be_is_refused(schemes: dict[str, Scheme], ranges: dict[str, Range], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        whole(loaded(residual()), schemes, ranges)
