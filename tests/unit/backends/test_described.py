"""What targets take of which no backend can be asked."""

from __future__ import annotations

from intarsia.backends.described import described_capability
from intarsia.target import Target
from tests.fakes import fake_graph

GRAPH = fake_graph([("conv", "Conv", ["x", "w"], ["c"]), ("relu", "Relu", ["c"], ["y"])], weights=["w"])


def test_a_device_takes_all_and_an_accelerator_without_a_backend_nothing() -> None:
    device = described_capability(GRAPH, Target("cuda"))
    assert all(device.takes(node.id) for node in GRAPH.nodes)
    refusals = described_capability(GRAPH, Target("tensorrt")).refusals
    assert set(refusals.values()) == {"nothing here says which operators tensorrt takes"}
    assert len(refusals) == len(GRAPH.nodes)
