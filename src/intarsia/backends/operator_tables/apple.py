"""Operators of Apple's BNNS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from intarsia.backends.contract.node_facts import words
from intarsia.backends.operator_tables.limits import (
    flat_weight,
)
from intarsia.backends.operator_tables.sources import tvm
from intarsia.backends.operator_tables.table import OperatorTable, Row

if TYPE_CHECKING:
    from intarsia.target import Target

_IMAGE = frozenset({4})


def bnns(target: Target) -> OperatorTable:
    """What TVM gives Apple's BNNS."""
    return OperatorTable(
        engine=target.kind.name,
        source=tvm("bnns", "1060b98d2804fe36e3acd9ef69aa6554e2447d19"),
        rows={
            "Conv": Row(ranks=_IMAGE, constant=(1, 2)),
            "Relu": Row(fused_into=words("Conv")),
            "Gemm": Row(limits=(flat_weight,)),
            "MatMul": Row(data=2),
            "Gelu": Row(fused_into=words("Gemm MatMul"), attributes={"approximate": ("tanh", b"tanh")}),
        },
    )
