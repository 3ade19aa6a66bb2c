"""What becomes a part of the product in few bits before it, and what does not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import helper

from intarsia.backends.onnxruntime.few_rows.product_endings import join_product_endings
from intarsia.backends.onnxruntime.saved_model import attributes_of
from intarsia.graph.placeholder_ops import DOMAIN
from tests.unit.graph.models import info, model

ALIKE = dict.fromkeys("xacdg", (1, 8)) | dict.fromkeys("rsz", (1, 1, 8))


def product(inputs: str, output: str) -> onnx.NodeProto:
    return helper.make_node("PackedProduct", inputs.split(), [output], domain=DOMAIN, sizes=[8, 8, 8], adds=0, gelu=0)


def node(op_type: str, inputs: str, output: str) -> onnx.NodeProto:
    domain = "com.microsoft" if op_type == "FastGelu" else ""
    return helper.make_node(op_type, inputs.split(), [output], domain=domain)


def joined(nodes: Sequence[onnx.NodeProto], outputs: str = "y") -> list[str]:
    results = [info(name, None) for name in outputs.split()]
    weights = {"w": np.zeros(96, np.uint8), "b": np.ones(8, np.float32), "deep": np.array([1, 1, 8])}
    graph = model(nodes, [info("x", (1, 8))], results, weights, domains={DOMAIN: 1, "com.microsoft": 1}).graph
    join_product_endings(graph, ALIKE)
    return [_line(each) for each in graph.node]


def _line(each: onnx.NodeProto) -> str:
    gelu = " gelu" if attributes_of(each).get("gelu") else ""
    return f"{each.op_type} {' '.join(each.input)} > {each.output[0]}{gelu}"


def test_a_sum_and_gelu_behind_it_are_the_products() -> None:
    nodes = [product("x w b", "a"), node("Exp", "x", "c"), node("Add", "c a", "d"), node("FastGelu", "d", "y")]
    assert joined(nodes) == ["Exp x > c", "PackedProduct x w b c > y gelu"]


def test_without_a_bias_it_gets_one_of_zeros() -> None:
    assert joined([product("x w", "a"), node("Add", "a x", "y")]) == ["PackedProduct x w intarsia/0x8 x > y"]


def test_behind_gelu_and_a_sum_nothing_is_added() -> None:
    nodes = [product("x w b", "a"), node("FastGelu", "a", "c"), node("Add", "c x", "y")]
    assert joined(nodes) == ["PackedProduct x w b > c gelu", "Add c x > y"]
    nodes = [product("x w b", "a"), node("Add", "a x", "c"), node("Add", "c x", "y")]
    assert joined(nodes) == ["PackedProduct x w b x > c", "Add c x > y"]


def test_of_two_products_one_adds_what_the_other_gives() -> None:
    nodes = [product("x w b", "a"), product("x w b", "c"), node("Add", "a c", "y")]
    assert joined(nodes) == ["PackedProduct x w b > c", "PackedProduct x w b c > y"]


def test_what_others_read_or_has_another_shape_stays() -> None:
    others = [product("x w b", "a"), node("Add", "a x", "y"), node("FastGelu", "a", "z")]
    assert joined(others, "y z") == ["PackedProduct x w b > a", "Add a x > y", "FastGelu a > z"]
    wide = [product("x w b", "a"), node("Exp", "x", "e"), node("Add", "a e", "y")]
    assert joined(wide) == ["PackedProduct x w b > a", "Exp x > e", "Add a e > y"]
    biased = [product("x w b", "a"), node("FastGelu", "a b", "y")]
    assert joined(biased) == ["PackedProduct x w b > a", "FastGelu a b > y"]


def test_what_is_reshaped_before_it_is_added_is_not_reshaped() -> None:
    deep = node("Reshape", "x deep", "z")
    nodes = [deep, product("x w b", "a"), node("Reshape", "a deep", "r"), node("Add", "r z", "y")]
    assert joined(nodes) == ["Reshape x deep > z", "PackedProduct x w b z > y"]


def test_of_two_that_are_reshaped_one_stays_so() -> None:
    reshaped = [node("Reshape", "a deep", "r"), node("Reshape", "c deep", "s")]
    nodes = [product("x w b", "a"), product("x w b", "c"), *reshaped, node("Add", "r s", "y")]
    assert joined(nodes) == ["PackedProduct x w b > c", "Reshape c deep > s", "PackedProduct x w b s > y"]


def test_what_is_reshaped_for_others_stays_so() -> None:
    deep = node("Reshape", "x deep", "z")
    nodes = [
        deep,
        product("x w b", "a"),
        node("Reshape", "a deep", "r"),
        node("Add", "r z", "y"),
        node("Exp", "r", "e"),
    ]
    assert len(joined(nodes, "y e")) == 5
    nodes = [product("x w b", "a"), node("Reshape", "a deep", "r"), node("Exp", "r", "y")]
    assert len(joined(nodes)) == 3
