"""An artifact holds weights in few bits only where every reader reads them so, and its graph still has them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from intarsia.config import RunSettings
from intarsia.config.precision import Precision, Scheme
from intarsia.graph import Graph
from intarsia.graph.quantise import Blocks
from intarsia.graph.reference.reference import evaluate
from intarsia.partitioning import Partition
from intarsia.runtime import Artifact, Plan, build, load_build, plan_of, write_artifact
from intarsia.runtime.artifact.packed_weights import packed_weights
from intarsia.target import Target
from tests.unit.graph.models import info, model
from tests.unit.graph.quantise.networks import decoder, loaded

FEW = {"up0": Scheme.WEIGHTS_4, "down0": Scheme.WEIGHTS_8, "up1": Scheme.WEIGHTS_8}


def planned(graph: Graph, schemes: Mapping[str, Scheme]) -> Plan:
    partition = Partition(
        target=Target("reference"),
        nodes=tuple(node.id for node in graph.nodes),
        precision=Precision.of(schemes, {}) if schemes else None,
    )
    return plan_of(graph, (partition,), RunSettings(threads=1, max_error=0.5))


def test_what_is_read_in_few_bits_alone_is_packed() -> None:
    graph = loaded(decoder(width=64))
    found = packed_weights(graph, [planned(graph, {**FEW, "down1": Scheme.WEIGHTS_12})], [])
    bits = {"up0.w": 4, "down0.w": 8, "up1.w": 8, "down1.w": 12}
    assert {name: tensor.bits for name, tensor in found.items()} == bits
    assert packed_weights(graph, [planned(graph, FEW)], ["up0.w", "down0.w"]).keys() == {"up1.w"}
    assert packed_weights(graph, [planned(graph, {})], []) == {}
    # Plans for other sizes read some of them in another way.
    other = planned(graph, {**FEW, "up0": Scheme.WEIGHTS_8})
    assert packed_weights(graph, [planned(graph, FEW), other], []).keys() == {"down0.w", "up1.w"}
    assert packed_weights(graph, [planned(graph, FEW), planned(graph, {})], []) == {}


@pytest.mark.parametrize("reader", ["Identity", "MatMul"])
def test_what_something_else_reads_too_is_not(reader: str) -> None:
    inputs = ["w"] if reader == "Identity" else ["w", "y"]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["y"], name="product"),
        helper.make_node(reader, inputs, ["z"], name="other"),
    ]
    weights = {"w": np.ones((32, 32), np.float32)}
    outputs = [info("y", (32, 32)), info("z", (32, 32))]
    graph = loaded(model(nodes, [info("x", (32, 32))], outputs, weights))
    product = next(node.id for node in graph.nodes if node.outputs[0] == "y")
    assert packed_weights(graph, [planned(graph, {product: Scheme.WEIGHTS_8})], []) == {}


def test_a_sum_over_no_whole_blocks_is_not() -> None:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")]
    weights = {"w": np.ones((33, 32), np.float32)}
    graph = loaded(model(nodes, [info("x", (1, 33))], [info("y", (1, 32))], weights))
    assert packed_weights(graph, [planned(graph, {"product": Scheme.WEIGHTS_8})], []) == {}


def test_an_artifact_is_smaller_and_says_what_it_computes(tmp_path: Path) -> None:
    graph = loaded(decoder(width=64))
    feeds = {"x": np.random.default_rng(1).standard_normal((1, 64)).astype(np.float32)}
    sizes = {}
    for name, schemes in {"fp32": {}, "few": {**FEW, "down1": Scheme.WEIGHTS_4}}.items():
        path = tmp_path / f"{name}.intarsia"
        built = build(graph, planned(graph, schemes))
        write_artifact(path, graph, built)
        sizes[name] = path.stat().st_size
        artifact = Artifact(path)
        artifact.check_graph()
        restored = artifact.graph()
        expected = evaluate(restored, feeds)
        answer = load_build(graph, built).run(feeds)["joined1"]
        np.testing.assert_allclose(answer, expected["joined1"], rtol=1e-3, atol=1e-4)
        # What is built anew from the artifact alone has the same numbers.
        again = build(restored, artifact.plan)
        write_artifact(tmp_path / "again.intarsia", restored, again)
        found = evaluate(Artifact(tmp_path / "again.intarsia").graph(), feeds)
        np.testing.assert_allclose(found["joined1"], expected["joined1"], rtol=1e-5, atol=1e-6)
    assert sizes["few"] < 0.7 * sizes["fp32"]
    weight = graph.weights["up0.w"].array()
    np.testing.assert_array_equal(restored.weights["up0.w"].array(), Blocks.of(weight, 4).restored())
