"""The operator tables, by the kind of target."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from intarsia.backends.operator_tables.amd import vitis_ai
from intarsia.backends.operator_tables.apple import bnns
from intarsia.backends.operator_tables.arm import arm_acl, ethos_n
from intarsia.backends.operator_tables.intel import dnnl
from intarsia.backends.operator_tables.marvell import mrvl
from intarsia.backends.operator_tables.nvidia import cublas, cudnn, cutlass, tensorrt
from intarsia.backends.operator_tables.qualcomm import clml
from intarsia.backends.operator_tables.table import TableOf

TABLES: Mapping[str, TableOf] = MappingProxyType(
    {
        "tensorrt": tensorrt,
        "cutlass": cutlass,
        "cudnn": cudnn,
        "cublas": cublas,
        "dnnl": dnnl,
        "arm_acl": arm_acl,
        "bnns": bnns,
        "clml": clml,
        "ethos-n": ethos_n,
        "vitis-ai": vitis_ai,
        "mrvl": mrvl,
    }
)
"""What says which operators an engine takes that no backend drives."""
