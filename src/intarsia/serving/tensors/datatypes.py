"""The protocol's datatypes by the element types that models have."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

BYTES = "BYTES"
BF16 = "BF16"
BY_DTYPE: Mapping[str, str] = MappingProxyType(
    {
        "bool": "BOOL",
        "uint8": "UINT8",
        "uint16": "UINT16",
        "uint32": "UINT32",
        "uint64": "UINT64",
        "int8": "INT8",
        "int16": "INT16",
        "int32": "INT32",
        "int64": "INT64",
        "float16": "FP16",
        "bfloat16": BF16,
        "float32": "FP32",
        "float64": "FP64",
        "string": BYTES,
    }
)
"""Open Inference Protocol 2, "Tensor Data Types", and BF16 of its binary tensor extension."""
BY_DATATYPE: Mapping[str, str] = MappingProxyType({datatype: dtype for dtype, datatype in BY_DTYPE.items()})
