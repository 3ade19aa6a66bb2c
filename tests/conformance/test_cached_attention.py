"""Our operator for attention over a cache inside ONNX Runtime: the right answer for each form that exporters write."""

from __future__ import annotations

import numpy as np
import pytest

from intarsia.backends import registry
from intarsia.config import RunSettings
from intarsia.graph import extract, load_model
from intarsia.graph.reference.reference import evaluate
from intarsia.runtime.verify import distance
from intarsia.target import Target
from tests.attention_models import LAYERS, Layer

pytestmark = [pytest.mark.engine]
ALLOWED = 1e-5
SETTINGS = RunSettings(threads=2)


@pytest.fixture(autouse=True)
def _usable() -> None:
    found = registry.probe("winograd")
    if not found.usable:
        pytest.skip(f"winograd cannot be used here: {found.reason}")


@pytest.mark.parametrize("spec", ["winograd", "winograd -kernels=*=host"])
@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)
def test_it_answers_as_the_nodes_do(layer: Layer, spec: str) -> None:
    graph, target = load_model(layer.network()), Target(spec)
    backend = registry.of(target)
    assert not backend.capability(graph, target).refusals
    whole = extract(graph, graph.position)
    artifact = backend.compile(whole, target, SETTINGS)
    is_ours = b"CachedAttention" in artifact.files["model.onnx"]
    assert is_ours == (spec == "winograd")
    held = {name: whole.weights[name].array() for name in artifact.weights}
    draw = np.random.default_rng(3)
    feeds = {value.name: draw.standard_normal(value.shape or ()).astype(np.float32) for value in whole.inputs}
    if layer.is_safe and layer.mask is not None:
        feeds["mask"][...] = -np.inf
    found = {value.name: np.empty(value.shape or (), np.float32) for value in whole.outputs}
    engine = backend.load(artifact, held, target, SETTINGS)
    engine.bind(feeds, found)()
    engine.close()
    for name, want in evaluate(whole, feeds).items():
        assert distance(found[name], want) <= ALLOWED, name


def test_the_hosts_is_asked_for_by_the_node_that_yields_the_result() -> None:
    graph, backend = load_model(Layer().network()), registry.get("winograd")
    assert not backend.capability(graph, Target("winograd -kernels=rows.node=host")).refusals
    refusals = backend.capability(graph, Target("winograd -kernels=rows.node=tile-2")).refusals
    assert "there is host" in refusals["rows.node"]
