"""Weights in blocks of few bits on every engine, in the form that it is given: the right answer, or a refusal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from intarsia.backends import registry
from intarsia.config.precision import Precision, Scheme
from intarsia.graph import extract, load_model
from intarsia.graph.quantise import quantised
from intarsia.graph.reference.reference import evaluate
from intarsia.runtime.verify import distance
from intarsia.target import Target
from tests.conformance.process import EngineProcess
from tests.conformance.test_odd_models import answered
from tests.unit.graph.models import info, model

pytestmark = [pytest.mark.engine]
COMPUTES = {"onnxruntime": 1, "openvino": 32}
"""Engines that must not refuse sums over a multiple of so many elements."""
ALLOWED = 0.01
"""What 8 bits in the other factor explain."""


@pytest.fixture(scope="module")
def process(target: Target) -> Iterator[EngineProcess]:
    with EngineProcess(str(target)) as process:
        yield process


@pytest.mark.parametrize(
    "scheme", [Scheme.WEIGHTS_12, Scheme.WEIGHTS_10, Scheme.WEIGHTS_8, Scheme.WEIGHTS_6, Scheme.WEIGHTS_4]
)
@pytest.mark.parametrize(("rows", "length", "columns"), [(1, 128, 64), (3, 45, 7), (1, 1, 2)])
def test_products_by_blocks(
    engine: str, process: EngineProcess, tmp_path: Path, scheme: Scheme, rows: int, length: int, columns: int
) -> None:
    rng = np.random.default_rng(5)
    weights = {
        "w": rng.standard_normal((length, columns)).astype(np.float32),
        "b": rng.standard_normal(columns).astype(np.float32),
    }
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["a"], name="product"),
        helper.make_node("Relu", ["a"], ["y"], name="relu"),
    ]
    graph = load_model(model(nodes, [info("x", (rows, length))], [info("y", (rows, columns))], weights))
    plain = quantised(extract(graph, graph.position), Precision.of({"product": scheme}, {}))
    registry.get(engine).with_few_bits(plain).save(tmp_path / "model.onnx")
    feeds = {"x": rng.standard_normal((rows, length)).astype(np.float32)}
    answer = answered(process, tmp_path / "model.onnx", feeds, tmp_path)
    if "results" not in answer and length % COMPUTES.get(engine, length + 1):
        assert all(answer["refused"].values())
        return
    assert distance(answer["results"]["0/y"], evaluate(plain, feeds)["y"]) <= ALLOWED
