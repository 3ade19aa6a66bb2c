"""Two values whose parts are all added are added first."""

from __future__ import annotations

from collections import Counter

import onnx
import pytest
from onnx import helper

from intarsia.backends.onnxruntime.few_rows.parted_sums import with_joined_sums
from tests.unit.backends.onnxruntime.few_rows.test_merged_products import agree, whole
from tests.unit.graph.models import info, model

SUMS = (("a0", "b0"), ("b1", "a1"))


def parted(
    sums: tuple[tuple[str, str], ...] = SUMS, sizes: tuple[int, int] = (4, 2), others: tuple[str, ...] = ()
) -> onnx.ModelProto:
    """Two values in two parts, of which some are added."""
    nodes = [
        helper.make_node("Split", ["a", "first"], ["a0", "a1"], axis=1),
        helper.make_node("Split", ["b", "second"], ["b0", "b1"], axis=1),
        *(helper.make_node("Add", pair, [f"y{number}"]) for number, pair in enumerate(sums)),
    ]
    outputs = [info(f"y{number}", None) for number in range(len(sums))] + [info(name, None) for name in others]
    weights = {"first": [4, 2], "second": sizes}
    return model(nodes, [info("a", (1, 6)), info("b", (1, 6))], outputs, weights)


def test_one_sum_and_one_parting_are_left() -> None:
    plain = whole(parted())
    joined = with_joined_sums(plain)
    assert [node.op_type for node in joined.nodes] == ["Add", "Split"]
    agree(plain, joined)


@pytest.mark.parametrize(
    "network",
    [
        parted(sums=SUMS[:1]),
        parted(sums=(("a0", "a0"), ("b1", "b1"))),
        parted(others=("a0",)),
        parted(sums=(*SUMS, ("a0", "b0"))),
    ],
    ids=["one part alone", "of one value", "a part that others read", "a part that is added twice"],
)
def test_what_is_not_added_part_by_part_stays(network: onnx.ModelProto) -> None:
    plain = whole(network)
    assert with_joined_sums(plain) is plain
    assert Counter(node.op_type for node in plain.nodes)["Split"] > 0
