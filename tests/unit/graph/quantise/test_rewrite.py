"""Layers in 8 bits compute nearly what they did, in plain ONNX, and nothing else changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pytest

from intarsia.config.precision import Precision, Range, Scheme
from intarsia.errors import PlanError
from intarsia.graph import Graph, SubModel, extract, load_model
from intarsia.graph.quantise import layers_of, quantised, with_sums
from intarsia.graph.quantise.blocks import Blocks
from intarsia.graph.reference.reference import evaluate
from tests.unit.graph.quantise.networks import PICTURE, loaded, products, residual

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
    assert layers["conv1"].schemes == (Scheme.STATIC, Scheme.STATIC_FINE)
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
    limit = 0.5 if scheme is Scheme.WEIGHTS_4 else 0.05
    assert 0.0 < apart(evaluate(reduced, picture), evaluate(graph, picture)) < limit
    kinds = Counter(node.op_type for node in reduced.nodes)
    assert kinds["BatchNormalization"] == 0
    assert kinds["QuantizeLinear"] == (4 if scheme.needs_ranges else 3)
    assert kinds["MatMulInteger"] + kinds["Gemm"] + kinds["MatMul"] == (2 if scheme.is_fine else 1)
    assert not {"w1", "w2", "w3"} & reduced.weights.keys()


def test_weights_of_two_terms_hardly_round(vectors: dict[str, np.ndarray]) -> None:
    graph = loaded(products())
    exact = np.round(vectors["x"] * 8) / 8 * np.float32(15 / 8)  # what 8 bits hold of this range without rounding
    partition, ranges = extract(graph, ["left"]), {"x": (-127 * 15 / 64, 128 * 15 / 64)}
    expected = evaluate(partition, {"x": exact})
    for coarse, fine in ((Scheme.STATIC, Scheme.STATIC_FINE), (Scheme.DYNAMIC, Scheme.DYNAMIC_FINE)):
        errors = [
            apart(evaluate(quantised(partition, Precision.of({"left": scheme}, ranges)), {"x": exact}), expected)
            for scheme in (coarse, fine)
        ]
        assert errors[1] < errors[0]
    static = quantised(partition, Precision.of({"left": Scheme.STATIC_FINE}, ranges))
    assert apart(evaluate(static, {"x": exact}), expected) < 1e-4


@pytest.mark.parametrize("scheme", [scheme for scheme in Scheme if scheme.weight_bits is None])
def test_products_share_what_they_read(scheme: Scheme, vectors: dict[str, np.ndarray]) -> None:
    graph = loaded(products())
    reduced = whole(graph, {"left": scheme, "right": scheme}, seen(graph, vectors))
    kinds = Counter(node.op_type for node in reduced.nodes)
    assert kinds["QuantizeLinear"] + kinds["DynamicQuantizeLinear"] == 1
    assert 0.0 < apart(evaluate(reduced, vectors), evaluate(graph, vectors)) < 0.03


@pytest.mark.parametrize("scheme", [Scheme.WEIGHTS_8, Scheme.WEIGHTS_4])
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
