"""Layers are chosen by what they cost, and what is chosen keeps to the error."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from intarsia.config.precision import Scheme
from intarsia.errors import ExecutionError
from intarsia.graph.quantise import layers_of
from intarsia.search.precision.calibration import Calibration, asked
from intarsia.search.precision.families import PRODUCTS, WEIGHTS
from intarsia.search.precision.layer_choice import Chooser, _groups, _steps, errors_of, worst
from intarsia.search.precision.validation_set import Samples
from intarsia.search.thresholds import PRECISION
from intarsia.target import Target
from tests.unit.graph.quantise.networks import loaded, residual

GRAPH = loaded(residual())


@pytest.fixture(scope="module")
def chooser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chooser]:
    graph, folder = GRAPH, tmp_path_factory.mktemp("choice")
    samples = Samples(graph, folder, seed=0)
    inputs, target = samples.calibration[:4], Target("reference")
    calibration = Calibration.of(graph, asked(target, folder, inputs, lambda: 60.0))
    with Chooser(graph, target, folder, inputs, inputs, lambda: 60.0, calibration) as made:
        yield made


def test_all_layers_where_the_error_allows_it(chooser: Chooser) -> None:
    choice = chooser.choose(0.9)
    assert [layer.node.id for layer, _ in choice.layers] == ["conv1", "conv2", "join", "classify"]
    precision = choice.precision(dynamic=True)
    assert precision.nodes(Scheme.DYNAMIC) == ("classify",)
    assert precision.nodes(Scheme.STATIC) == ("conv1", "conv2", "join")
    assert [name for name, _ in precision.ranges] == ["c2", "picture", "r1"]
    assert [name for name, _ in precision.means] == ["picture", "r1", "row"]
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


def test_the_worst_input_to_come_is_told_by_how_much_those_seen_differ() -> None:
    def answers(*errors: float) -> list[tuple[np.ndarray, ...]]:
        return [(np.array([1.0 + error]),) for error in errors]

    exact = answers(0.0, 0.0, 0.0, 0.0)
    assert worst(answers(0.01, 0.01, 0.01, 0.01), exact) == pytest.approx(0.01)
    assert worst(answers(0.01, 0.02, 0.01, 0.02), exact) == pytest.approx(0.015 + 2.07 * 0.0057735, rel=1e-3)
    assert worst(answers(0.0, 0.0, 0.0, 0.02), exact) == pytest.approx(0.005 + 2.07 * 0.01, rel=1e-3)
    assert worst(answers(0.01, 0.02), exact[:2]) == pytest.approx(0.02)  # too few to tell
    assert worst([], []) == 0.0
    (errors,) = errors_of(answers(0.01, 0.02, 0.01, 0.02), exact)
    assert errors == pytest.approx((0.01, 0.02, 0.01, 0.02))


def test_nothing_is_written_for_which_there_is_no_time(tmp_path: Path) -> None:
    calibration = Calibration(ranges={}, means={})
    asked_for: list[float] = []

    def has_time(seconds: float) -> bool:
        asked_for.append(seconds)
        return False

    with pytest.raises(ExecutionError, match="too long"):
        Chooser(
            GRAPH,
            Target("reference"),
            tmp_path,
            (),
            (),
            lambda: 60.0,
            calibration,
            has_time=has_time,
            family=WEIGHTS,
            writing_s=7.0,
        )
    assert asked_for == [7.0]
    assert not any(tmp_path.iterdir())


def test_the_way_that_loses_less_where_it_is_the_cheaper_one() -> None:
    layer = next(each for each in layers_of(GRAPH, GRAPH.nodes) if Scheme.WEIGHTS_4 in each.schemes)
    assert [step.scheme for step in _steps(PRODUCTS, (layer,), [1.0])] == [Scheme.STATIC]
    assert [step.scheme for step in _steps(WEIGHTS, (layer,), [0.9, 1.0])] == [Scheme.WEIGHTS_4]
    first, second = _steps(WEIGHTS, (layer,), [0.1, 1.0])
    assert (first.scheme, second.scheme) == (Scheme.WEIGHTS_8, Scheme.WEIGHTS_4)
    assert first.price < second.price
    assert first.square + second.square == pytest.approx(1.0)


@pytest.mark.parametrize("count", [0, 1, 24, 25, 53, 200])
def test_many_layers_are_compared_in_groups(count: int) -> None:
    layers = layers_of(GRAPH, GRAPH.nodes)[:1] * count
    groups = _groups(layers)
    assert len(groups) <= PRECISION.groups
    assert [layer for group in groups for layer in group] == list(layers)
