from __future__ import annotations

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from intarsia.errors import FeedError, ModelError
from intarsia.graph import load_model
from intarsia.graph.reference.reference import evaluate
from tests.unit.graph.models import feeds_of, info, model, two_layers


def test_it_gives_what_the_evaluator_gives_for_the_whole_model() -> None:
    proto = two_layers()
    feeds = feeds_of(proto)
    (expected,) = ReferenceEvaluator(proto).run(None, feeds)
    result = evaluate(load_model(proto), feeds)["y"]
    np.testing.assert_array_equal(result, np.asarray(expected))
    assert result.var() > 0


def test_inner_values_are_kept_on_demand() -> None:
    proto = two_layers()
    results = evaluate(load_model(proto), feeds_of(proto), keep=["b", "w0", "x"])
    assert list(results) == ["y", "b", "w0", "x"]
    np.testing.assert_array_equal(results["b"], np.maximum(results["x"] @ results["w0"], 0))


def test_a_missing_input_is_named() -> None:
    with pytest.raises(FeedError, match="no array for input x"):
        evaluate(load_model(two_layers()), {})


def test_an_unknown_value_to_keep_is_named() -> None:
    proto = two_layers()
    with pytest.raises(FeedError, match="no value ghost"):
        evaluate(load_model(proto), feeds_of(proto), keep=["ghost"])


def test_an_operator_it_does_not_know_is_named_by_its_node() -> None:
    nodes = [helper.make_node("Foo", ["x"], ["y"], domain="their", name="strange")]
    proto = model(nodes, [info("x")], [info("y")], domains={"their": 1})
    with pytest.raises(ModelError, match=r"'strange' \(Foo\)"):
        evaluate(load_model(proto), feeds_of(proto))


def test_an_operator_that_a_function_defines_for_its_types() -> None:
    proto = model([helper.make_node("Celu", ["x"], ["y"], alpha=2.0)], [info("x")], [info("y")])
    feeds = feeds_of(proto)
    x = feeds["x"]
    expected = np.maximum(x, 0) + np.minimum(0, 2 * (np.exp(x / 2) - 1))
    np.testing.assert_allclose(evaluate(load_model(proto), feeds)["y"], expected, rtol=1e-6)


def test_overflow_is_no_warning() -> None:
    proto = model([helper.make_node("Exp", ["x"], ["y"])], [info("x")], [info("y")])
    assert np.isinf(evaluate(load_model(proto), {"x": np.full((2, 3), 1000, np.float32)})["y"]).all()
