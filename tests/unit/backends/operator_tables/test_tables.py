"""What each table says of graphs of one node, by its source."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import helper

from intarsia.backends.operator_tables.described import described_capability
from intarsia.backends.operator_tables.table import refusals
from intarsia.backends.operator_tables.tables import TABLES
from intarsia.backends.registry import unsupported_names
from intarsia.graph import Graph
from intarsia.target import KINDS, Target
from tests.unit.backends.operator_tables.small_graphs import IMAGE, convolution, one, refused, weight


def test_every_engine_without_a_backend_that_takes_a_part_has_a_table_with_a_source() -> None:
    partial = {name for name in unsupported_names() if KINDS[name].partial}
    assert partial <= set(TABLES)
    for name, table_of in TABLES.items():
        table = table_of(Target(name))
        assert table.engine == name
        assert "https://" in table.source
        assert table.rows
        assert table.substance <= set(table.rows)
        for operator, row in table.rows.items():
            assert onnx.defs.has(operator), operator
            assert row.fused_into <= set(table.rows) | {"Sub"}
            assert row.dtypes


@pytest.mark.parametrize(
    ("kind", "graph", "reason"),
    [
        ("arm_acl", lambda: convolution(), ""),
        ("arm_acl", lambda: convolution(group=16), ""),
        ("arm_acl", lambda: convolution(group=4), "takes one group, or one for each channel"),
        ("arm_acl", lambda: convolution(size=7, group=16, pads=[3] * 4), "only with windows of 3x3 or 5x5"),
        ("arm_acl", lambda: convolution(shape=(2, 16, 8, 8)), "takes one sample at a time"),
        ("arm_acl", lambda: one("MaxPool", kernel_shape=[2, 2]), ""),
        ("arm_acl", lambda: one("MaxPool", kernel_shape=[2, 2], dilations=[2, 2]), "takes no dilation"),
        ("arm_acl", lambda: one("Softmax"), "has no Softmax"),
        ("arm_acl", lambda: one("Gemm", (3, 8), {"w": weight(8, 4)}), ""),
        ("ethos-n", lambda: convolution(), "computes in int8, uint8, not in float32"),
        ("tensorrt", lambda: convolution(), ""),
        ("tensorrt", lambda: one("Softmax", axis=1), ""),
        ("tensorrt", lambda: one("Softmax", axis=0), "keeps the first dimension"),
        ("tensorrt -use_implicit_batch=false", lambda: one("Softmax", axis=0), ""),
        ("tensorrt", lambda: one("Erf"), ""),
        ("tensorrt -tensorrt_version=6,0,1", lambda: one("Erf"), "has no Erf"),
        ("tensorrt", lambda: one("Det", (1, 2, 2)), "has no Det"),
        ("tensorrt", lambda: one("Transpose", perm=[1, 0, 2, 3]), "keeps the first dimension"),
        ("tensorrt", lambda: one("ReduceMean", weights={"axes": np.array([2, 3])}), ""),
        ("tensorrt", lambda: one("ReduceMean", weights={"axes": np.array([0, 1])}), "keeps the first dimension"),
        ("tensorrt -remove_no_mac_subgraphs", lambda: one("Exp"), "leaves regions to others"),
        ("tensorrt -remove_no_mac_subgraphs", lambda: one("ReduceMean", weights={"axes": np.array([2, 3])}), ""),
        ("cutlass", lambda: convolution(), ""),
        ("cutlass", lambda: convolution(group=16), "takes no group for each channel"),
        ("cutlass", lambda: one("Relu"), "runs only as the end of"),
        ("cudnn", lambda: convolution(pads=[1, 1, 1, 1]), ""),
        ("cudnn", lambda: convolution(pads=[0, 0, 1, 1]), "takes the same padding on both sides"),
        ("cudnn", lambda: one("LogSoftmax", (2, 3), axis=1), ""),
        ("cudnn", lambda: one("LogSoftmax"), "takes 2 dimensions"),
        ("cublas", lambda: one("MatMul", (4, 8), {"w": weight(8, 4)}), ""),
        ("cublas", lambda: convolution(), "has no Conv"),
        ("bnns", lambda: convolution(), ""),
        ("bnns", lambda: one("MaxPool", kernel_shape=[2, 2]), "has no MaxPool"),
        ("clml", lambda: one("Softmax", (1, 4)), ""),
        ("clml", lambda: one("Softmax", (1, 2, 4)), "takes 2 or 4 dimensions"),
        ("clml", lambda: one("Reshape", IMAGE, {"s": np.array([16, 64])}), "gives one sample"),
        ("vitis-ai", lambda: convolution(), ""),
        ("vitis-ai", lambda: convolution(strides=[9, 9], size=3), "takes no strides of 9x9"),
        ("vitis-ai", lambda: one("AveragePool", kernel_shape=[2, 3]), "takes square windows"),
        ("vitis-ai", lambda: one("LeakyRelu", alpha=0.1), "runs only as the end of"),
        ("mrvl", lambda: convolution(), ""),
        ("mrvl", lambda: convolution(shape=(9, 16, 8, 8)), "takes at most 8 samples at a time"),
        ("mrvl", lambda: one("MaxPool", kernel_shape=[2, 2]), "leaves regions to others that hold none of Conv"),
        ("dnnl", lambda: convolution(), ""),
        ("dnnl", lambda: one("Erf"), "has no Erf"),
    ],
)
def test_one_operator(kind: str, graph: Callable[[], Graph], reason: str) -> None:
    found = list(refused(kind, graph()).values())
    assert found == [] if not reason else reason in found[0]


def test_an_activation_is_fused_into_its_only_producer() -> None:
    relu = helper.make_node("Relu", ["y"], ["z"], "relu")
    both = helper.make_node("Add", ["y", "z"], ["s"], "add")
    assert refused("bnns", convolution(16, 3, 1, relu)) == {}
    found = refused("bnns", convolution(16, 3, 1, relu, both))
    assert "for which it is the only reader" in found["relu"]


def test_a_described_engine_takes_what_its_table_says() -> None:
    graph = convolution()
    library = Target("arm_acl")
    assert described_capability(graph, library).refusals == refusals(graph, TABLES["arm_acl"](library)) == {}
    assert described_capability(one("Softmax"), Target("arm_acl")).refusals == {
        "Softmax": "arm_acl has no Softmax, by its table of operators"
    }
