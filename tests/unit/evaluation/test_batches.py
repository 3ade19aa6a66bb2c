"""Which requests may be joined, and how many of them should be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from intarsia.config import RunSettings
from intarsia.cost.timing.footprint import Tail
from intarsia.cost.timing.verdict import CONTROL_NAME, Verdict
from intarsia.evaluation.batches import _chosen, batch_dimension
from intarsia.graph import Graph, load_model
from intarsia.graph.ranges import SizeRange
from intarsia.partitioning import Partition
from intarsia.runtime import Bucket, plan_of
from intarsia.target import Target


def graph_of(shapes: Mapping[str, Sequence[int | str]], ranges: Mapping[str, str], folder: Path) -> Graph:
    """The sum of inputs of these shapes, with ranges for their open dimensions."""
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    model = helper.make_model(
        helper.make_graph([helper.make_node("Sum", list(shapes), ["y"])], "sum", inputs, [output]),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    path = folder / "sum.onnx"
    onnx.save(model, path)
    return load_model(path, {name: SizeRange.parse(text) for name, text in ranges.items()})


def bucket_of(graph: Graph, ranges: Mapping[str, str]) -> Bucket:
    parsed = {name: SizeRange.parse(text) for name, text in ranges.items()}
    part = Partition(target=Target("reference"), nodes=tuple(node.id for node in graph.nodes))
    plan = plan_of(graph, [part], RunSettings(threads=1))
    return Bucket(ranges=parsed, sizes={name: each.middle for name, each in parsed.items()}, plan=plan)


@pytest.mark.parametrize(
    ("shapes", "ranges", "found", "said"),
    [
        ({"a": ["N", 4], "b": ["N", 1]}, {"N": "1..8"}, "N", ""),
        ({"a": ["N", "S"], "b": ["N", "S"]}, {"N": "1..8", "S": "1..64"}, "N", ""),
        ({"a": ["N", 4], "b": [4]}, {"N": "1..8"}, None, "input b has no open first dimension"),
        ({"a": ["N", "N"]}, {"N": "1..8"}, None, "N is not the first dimension alone"),
        ({"a": ["N", 4]}, {"N": "2..8"}, None, "N is 2..8; compile with --shape N=1..HIGH"),
        ({"a": [4, "S"]}, {"S": "1..8"}, None, "input a has no open first dimension"),
    ],
)
def test_requests_are_joined_along_the_first_dimension_of_every_input(
    shapes: Mapping[str, Sequence[int | str]], ranges: Mapping[str, str], found: str | None, said: str, tmp_path: Path
) -> None:
    graph = graph_of(shapes, ranges, tmp_path)
    dimension, why = batch_dimension(graph, bucket_of(graph, ranges))
    assert dimension == found
    assert said in why


def verdict(ms: Mapping[int, float], p99_ms: Mapping[int, float] | None = None) -> Verdict:
    rounds = {str(size): (each,) * 20 for size, each in ms.items()}
    return Verdict(
        rounds_ms={**rounds, CONTROL_NAME: rounds["1"]} if "1" in rounds else {},
        set_sizes=(10, 10),
        profile_ms={},
        errors={},
        failed={} if rounds else {"16": ("run", "out of memory")},
        is_void=False,
        tails={str(size): Tail.of((each,) * 200) for size, each in (p99_ms or {}).items()},
        instances=dict.fromkeys(rounds, 2),
    )


def test_the_batch_with_the_most_requests_a_second_is_taken() -> None:
    found = _chosen(verdict({1: 1.0, 4: 0.5, 8: 0.4}), (1, 4, 8), "N", None)
    assert found.batch == 8
    assert "one call may answer up to 8 requests that wait, along N: 2.50 times as many" in found.reason
    assert found.sizes[4][0].median == pytest.approx(2000.0)
    row = found.export()["sizes"][0]
    assert (row["batch"], row["times_as_many"]["median"]) == (1, 1.0)


def test_without_a_gain_that_was_shown_each_request_is_a_call() -> None:
    found = _chosen(verdict({1: 1.0, 4: 1.2, 8: 1.0}), (1, 4, 8), "N", None)
    assert (found.batch, found.reason) == (1, "no batch was shown to answer more requests a second")


def test_a_batch_that_takes_longer_than_a_call_may_is_none() -> None:
    late = verdict({1: 1.0, 4: 0.5, 8: 0.4}, {1: 2.0, 4: 4.0, 8: 6.0})
    assert _chosen(late, (1, 4, 8), "N", 5.0).batch == 4
    found = _chosen(late, (1, 4, 8), "N", 3.0)
    assert (found.batch, found.reason) == (1, "no batch was shown to answer more requests a second within 3 ms")


def test_what_failed_or_had_no_time_says_so() -> None:
    assert "a batch failed at run: out of memory" in _chosen(verdict({}), (1, 4), "N", None).reason
    alone = verdict({1: 1.0})
    assert _chosen(alone, (1, 4), "N", None).reason == "requests are not joined: there was no time to compare batches"


def test_sizes_are_numbers_of_rows() -> None:
    assert np.isfinite(_chosen(verdict({1: 1.0, 2: 0.6}), (1, 2), "N", None).sizes[2][1].median)
