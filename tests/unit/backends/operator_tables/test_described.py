"""What targets take of which no backend can be asked."""

from __future__ import annotations

import pytest

from intarsia.backends.operator_tables.described import described_capability
from intarsia.target import KINDS, Target, register_kind
from tests.fakes import fake_graph

GRAPH = fake_graph([("conv", "Conv", ["x", "w"], ["c"]), ("relu", "Relu", ["c"], ["y"])], weights=["w"])


def test_a_device_takes_all() -> None:
    device = described_capability(GRAPH, Target("cuda"))
    assert all(device.takes(node.id) for node in GRAPH.nodes)


@pytest.mark.parametrize("partial", [True, False])
def test_an_engine_without_a_table_takes_nothing_if_it_takes_parts_and_all_if_it_does_not(*, partial: bool) -> None:
    with KINDS.scope():
        register_kind("nobodys", meaning="an engine that nobody drives", partial=partial)
        refusals = described_capability(GRAPH, Target("nobodys")).refusals
    reasons = ["nothing here says which operators nobodys takes"] * len(GRAPH.nodes) if partial else []
    assert list(refusals.values()) == reasons
