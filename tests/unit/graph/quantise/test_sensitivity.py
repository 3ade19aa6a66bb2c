"""Graphs to learn by."""

from __future__ import annotations

import numpy as np
import pytest

from intarsia.config.precision import Precision, Scheme
from intarsia.graph import extract
from intarsia.graph.quantise import GATES, described, gated, layers_of, quantised, trimmed
from intarsia.graph.reference.reference import evaluate
from tests.unit.graph.quantise.networks import PICTURE, loaded, residual

FEEDS = {"picture": np.random.default_rng(5).standard_normal(PICTURE).astype(np.float32)}


@pytest.mark.parametrize("opset", [13, 21])
def test_ranges_and_means_of_what_layers_read(opset: int) -> None:
    proto = residual()
    proto.opset_import[0].version = opset
    graph = loaded(proto)
    told, names = described(graph, layers_of(graph, graph.nodes))
    found = evaluate(told, FEEDS)
    values = {**FEEDS, **evaluate(graph, FEEDS, keep=[name for name in names if name not in FEEDS])}
    assert set(names) == {"picture", "r1", "c2", "row"}
    for name, own in names.items():
        value = values[name]
        assert (found[own.lowest], found[own.highest]) == (value.min(), value.max())
        if name == "c2":  # only a sum reads it
            assert own.means == ""
        else:
            axes = (0, 2, 3) if value.ndim == 4 else (0,)
            assert found[own.means] == pytest.approx(value.mean(axis=axes), rel=1e-4, abs=1e-6)


def test_what_trimming_a_range_loses() -> None:
    told, errors = trimmed(loaded(residual()), {"picture": (-4.0, 4.0)}, (1.0, 0.5, 0.01))
    found = evaluate(told, FEEDS)
    whole, half, hardly = (float(found[name]) for name in errors["picture"])
    assert whole == pytest.approx((8 / 255) ** 2 / 12, rel=0.3)  # of rounding, evenly spread
    assert whole < half < hardly


def test_gates_choose_between_both_ways() -> None:
    graph = loaded(residual())
    layers = layers_of(graph, graph.nodes)
    ranges = {name: (-20.0, 20.0) for layer in layers for name in layer.reads}
    gates = gated(graph, [(layer, Scheme.STATIC) for layer in layers], ranges)

    def opened(*ids: str) -> np.ndarray:
        vector = np.array([layer.node.id in ids for layer in layers], np.float32)
        return evaluate(gates, {**FEEDS, GATES: vector})["scores"]

    assert opened() == pytest.approx(evaluate(graph, FEEDS)["scores"], rel=1e-5)
    for ids in (["conv2"], ["conv1", "classify"], [layer.node.id for layer in layers]):
        reduced = quantised(extract(graph, graph.position), Precision.of(dict.fromkeys(ids, Scheme.STATIC), ranges))
        assert opened(*ids) == pytest.approx(evaluate(reduced, FEEDS)["scores"], rel=1e-3, abs=1e-3)
