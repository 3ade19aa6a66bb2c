"""Equal blocks are one block, and the best of each add up."""

from __future__ import annotations

import pytest

import networks
from benchmarks.block_times import blocks_of, distinct, sum_of_best
from intarsia.graph import load_model
from intarsia.graph.fingerprint import fingerprint_of
from intarsia.planning.request import segments_of


def test_the_best_of_each_block_add_up() -> None:
    blocks = [{"count": 3, "ms": {"mnn": 2.0, "ncnn": 1.5}}, {"count": 1, "ms": {"mnn": 4.0}}]
    assert sum_of_best(blocks) == pytest.approx(8.5)


def test_a_block_that_no_engine_runs_leaves_no_sum() -> None:
    assert sum_of_best([{"count": 1, "ms": {"mnn": 1.0}}, {"count": 1, "ms": {}}]) is None


def test_every_node_is_in_one_block_and_equal_blocks_share_a_group() -> None:
    graph = load_model(networks.build("style_transfer"))
    cells = blocks_of(graph, segments_of(graph))
    assert sorted(id_ for cell in cells for id_ in cell) == sorted(node.id for node in graph.nodes)
    groups = distinct(graph, cells)
    assert sorted(cell for group in groups for cell in group) == sorted(cells)
    # Its five residual blocks are alike.
    assert len(groups) < len(cells)
    for group in groups:
        assert len({fingerprint_of(graph, cell) for cell in group}) == 1
