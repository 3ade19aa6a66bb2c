"""Engines call what they make of a node after it, with this and that behind."""

from __future__ import annotations

import pytest

from intarsia.graph.engine_names import node_of

KNOWN = {"conv1": "conv1", "conv1_2": "conv1_2", "block/fc": "block/fc", "value": "maker"}


@pytest.mark.parametrize(
    ("name", "node"),
    [
        ("conv1", "conv1"),
        ("conv1_nchwc", "conv1"),
        ("conv1_2_nchwc", "conv1_2"),
        ("block/fc/MatMulAddFusion", "block/fc"),
        ("value:0", "maker"),
        ("reorder,conv1", "conv1"),
        ("reorder_token_3", None),
        ("", None),
    ],
)
def test_the_longest_name_that_is_known_tells_the_node(name: str, node: str | None) -> None:
    assert node_of(name, KNOWN) == node
