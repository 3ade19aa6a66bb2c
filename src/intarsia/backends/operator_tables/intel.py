"""Operators of Intel's oneDNN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from intarsia.backends.contract.node_facts import words
from intarsia.backends.operator_tables.sources import tvm
from intarsia.backends.operator_tables.table import OperatorTable, Row

if TYPE_CHECKING:
    from intarsia.target import Target


def dnnl(target: Target) -> OperatorTable:
    """What TVM gives oneDNN."""
    plain = Row()
    images = frozenset({4, 5})
    return OperatorTable(
        engine=target.kind.name,
        source=tvm("dnnl", "001898f47e16cf103f3a9238313bc384812aaa88"),
        rows={
            **dict.fromkeys(words("Abs Clip Exp Log Sqrt Round Relu LeakyRelu Tanh Sigmoid Gelu Swish"), plain),
            "Conv": Row(data=2, ranks=frozenset({3, 4, 5})),
            "ConvTranspose": Row(data=2, ranks=images),
            "Gemm": Row(data=2),
            "MatMul": Row(data=2),
            "MaxPool": Row(ranks=images),
            "AveragePool": Row(ranks=images),
            "BatchNormalization": Row(constant=(1, 2, 3, 4)),
            "LayerNormalization": plain,
            "Softmax": plain,
            "Add": Row(data=2),
            "Mul": Row(data=2),
        },
    )
