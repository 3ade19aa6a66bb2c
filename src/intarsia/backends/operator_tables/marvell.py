"""Operators of Marvell's inference processor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from intarsia.backends.contract.node_facts import refused, words
from intarsia.backends.operator_tables.limits import (
    axis_at,
    flat_weight,
    plain_or_depthwise,
    result_of,
)
from intarsia.backends.operator_tables.sources import tvm
from intarsia.backends.operator_tables.table import ALL, OperatorTable, Row

if TYPE_CHECKING:
    from intarsia.target import Target

_IMAGE = frozenset({4})


def mrvl(target: Target) -> OperatorTable:
    """What TVM gives Marvell's processor, which leaves regions without a layer to others."""
    layer = Row(constant=(1, 2), limits=(flat_weight,))
    return OperatorTable(
        engine=target.kind.name,
        source=tvm("mrvl", "11d16fdc67f6f0a9cf7d851994bc5c6d611bee3a"),
        substance=words("Conv Gemm MatMul"),
        rows={
            "Conv": Row(ranks=_IMAGE, batch=8, constant=(1, 2), limits=(plain_or_depthwise,)),
            "BatchNormalization": Row(constant=(1, 2, 3, 4), fused_into=words("Conv")),
            "Relu": Row(fused_into=words("Conv BatchNormalization Gemm MatMul Add")),
            "Gemm": layer,
            "MatMul": layer,
            "Add": Row(ranks=_IMAGE, batch=8, data=2),
            "Concat": Row(ranks=_IMAGE, batch=1, data=ALL, limits=(axis_at(1),)),
            "MaxPool": Row(ranks=_IMAGE, batch=8),
            "AveragePool": Row(ranks=_IMAGE, batch=1),
            "GlobalAveragePool": Row(ranks=_IMAGE, batch=1),
            "Reshape": Row(limits=(_flat_or_image,)),
            "Flatten": Row(limits=(_flat_or_image,)),
        },
    )


_flat_or_image = refused("gives two or four dimensions", lambda node, graph: len(result_of(node, graph)) not in (2, 4))
