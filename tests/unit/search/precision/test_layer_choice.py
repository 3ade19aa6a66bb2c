"""Layers are chosen by what they cost, and what is chosen keeps to the error."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from intarsia.config.precision import Scheme
from intarsia.graph.quantise import layers_of
from intarsia.search.precision.families import PRODUCTS
from intarsia.search.precision.layer_choice import Chooser, _steps
from intarsia.search.precision.validation_set import Samples
from intarsia.target import Target
from tests.unit.graph.quantise.networks import loaded, residual


@pytest.fixture(scope="module")
def chooser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chooser]:
    graph, folder = loaded(residual()), tmp_path_factory.mktemp("choice")
    samples = Samples(graph, folder, seed=0)
    with Chooser(graph, Target("reference"), folder, samples.calibration, 60.0) as made:
        yield made


def test_all_layers_where_the_error_allows_it(chooser: Chooser) -> None:
    choice = chooser.choose(0.9)
    assert [layer.node.id for layer, _ in choice.layers] == ["conv1", "conv2", "join", "classify"]
    precision = choice.precision(dynamic=True)
    assert precision.nodes(Scheme.DYNAMIC) == ("classify",)
    assert precision.nodes(Scheme.STATIC) == ("conv1", "conv2", "join")
    assert [name for name, _ in precision.ranges] == ["c2", "picture", "r1"]
    assert all(low <= 0.0 <= high for _, (low, high) in precision.ranges)


def test_fewer_layers_err_less(chooser: Chooser) -> None:
    whole = chooser.choose(0.9)
    less = chooser.choose(0.9 * whole.error)
    assert len(less.layers) > 0
    assert less.layers != whole.layers
    assert 0.0 < less.error <= 0.9 * whole.error


def test_nothing_where_no_layer_is_good_enough(chooser: Chooser) -> None:
    choice = chooser.choose(1e-6)
    assert (choice.layers, choice.error) == ((), 0.0)


def test_weights_of_two_terms_where_they_are_the_cheaper_way() -> None:
    graph = loaded(residual())
    layer = layers_of(graph, graph.nodes)[0]
    assert [step.scheme for step in _steps(PRODUCTS, layer, 1.0, 0.9)] == [Scheme.STATIC]
    first, second = _steps(PRODUCTS, layer, 1.0, 0.1)
    assert (first.scheme, second.scheme) == (Scheme.STATIC_FINE, Scheme.STATIC)
    assert first.price < second.price
    assert first.square + second.square == pytest.approx(1.0)
