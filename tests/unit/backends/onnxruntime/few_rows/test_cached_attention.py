"""Attention over a cache as one operator: where it is found, and where not."""

from __future__ import annotations

from collections import Counter

import onnx
import pytest
from onnx import helper

from intarsia.backends.onnxruntime.few_rows.cached_attention import OPERATOR, attentions, with_cached_attention
from intarsia.graph import SubModel, extract, load_model
from tests.attention_models import LAYERS, Layer


def replaced(network: onnx.ModelProto, block: int = 16) -> SubModel:
    """The whole of a network with its attention replaced."""
    graph = load_model(network)
    return with_cached_attention(extract(graph, graph.position), block, lambda _: True)


@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)
def test_all_that_only_moves_numbers_goes_with_it(layer: Layer) -> None:
    found = Counter(node.op_type for node in replaced(layer.network()).nodes)
    projections = 2 if layer.is_parted or not layer.adds else 4
    assert found == {"MatMul": projections, OPERATOR: 1}


def test_its_scale_is_the_product_of_all() -> None:
    for layer in (LAYERS["one token"], LAYERS["scaled before"]):
        (found,) = attentions(load_model(layer.network()), 16)
        assert found.scale == pytest.approx(layer.width**-0.5)


def test_a_part_keeps_what_others_read() -> None:
    graph = load_model(Layer().network())
    ids = [node.id for node in graph.nodes]
    inside = extract(graph, [id_ for id_ in ids if id_ not in {"all.node", "y.node"}])
    assert [node.op_type for node in with_cached_attention(inside, 16, lambda _: True).nodes] == [OPERATOR]
    cut = extract(graph, ids[: ids.index("weights.node")])
    assert with_cached_attention(cut, 16, lambda _: True) is cut


def test_one_that_is_not_wanted_stays() -> None:
    graph = load_model(Layer().network())
    whole = extract(graph, graph.position)
    assert with_cached_attention(whole, 16, lambda id_: id_ != "rows.node") is whole


@pytest.mark.parametrize(
    ("layer", "why"),
    [
        (Layer(width=24), "heads that are no whole vectors"),
        (Layer(rows=17), "so many rows that products of matrices are faster"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_the_kernel_does_not_take_stays(layer: Layer, why: str) -> None:
    assert OPERATOR not in {node.op_type for node in replaced(layer.network()).nodes}, why


@pytest.mark.parametrize("name", ["weights", "scores", "masked", "turned"])
def test_what_others_read_as_well_stays(name: str) -> None:
    network = LAYERS["a mask for each head"].network()
    network.graph.output.append(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    assert OPERATOR not in {node.op_type for node in replaced(network).nodes}


def test_keys_that_are_not_turned_are_none() -> None:
    network = Layer(cached=15).network()  # as many keys as numbers
    for node in network.graph.node:
        if node.output[0] == "turned":
            node.attribute[0].ints[:] = [0, 1, 2, 3]
    assert not list(attentions(load_model(network), 16))


def test_a_cache_that_is_read_before_the_end_stays() -> None:
    network = Layer().network()
    place = next(at for at, node in enumerate(network.graph.node) if node.output[0] == "turned")
    network.graph.node.insert(place, helper.make_node("Abs", ["present.k"], ["early"], name="abs"))
    network.graph.output.append(helper.make_tensor_value_info("early", onnx.TensorProto.FLOAT, None))
    found = replaced(network)
    assert OPERATOR not in {node.op_type for node in found.nodes}
