"""Which operators LiteRT has kernels for, by element type.

Found by running each operator on each type in ai-edge-litert 2.3.0 against numpy. What its kernels take for quantised
numbers without being told a scale (``ADD`` of int8) is left out: they answer with zeros, or abort the process.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from intarsia.backends.contract.node_facts import words
from intarsia.backends.litert.builder import ModelBuilder, Operator
from intarsia.wording import counted

_SINGLE = words("float32")
_HALF = words("float16 float32")
_SUMS = words("float16 float32 int32 int64")
_COMPARED = words("float32 int8 int16 int32 int64 uint8")
_MOVED = _COMPARED | {"float16", "bfloat16", "bool"}
_ALL = _MOVED | {"float64", "uint16", "uint32", "uint64"}
_KERNELS: Mapping[str, frozenset[str]] = {
    name: types
    for names, types in (
        ("ABS", words("float16 float32 int16 int32")),
        ("ADD GREATER_EQUAL LESS_EQUAL", _SUMS | {"int16"}),
        ("ARG_MAX ARG_MIN", words("float32 int8 int32 uint8 bool")),
        ("ATAN2", words("float16 bfloat16 float32 float64")),
        ("AVERAGE_POOL_2D BATCH_MATMUL CEIL COS EXP FULLY_CONNECTED HARD_SWISH LOG SIN SOFTMAX SQRT", _HALF),
        ("BROADCAST_TO RESHAPE SELECT_V2 SLICE STRIDED_SLICE TRANSPOSE", _ALL),
        ("CAST", _ALL - {"uint64"}),
        ("CONCATENATION", _MOVED | {"uint32"}),
        ("CONV_2D CONV_3D CONV_3D_TRANSPOSE DEPTHWISE_CONV_2D TRANSPOSE_CONV", _SINGLE),
        ("CUMSUM", words("float32 int32 int64")),
        ("DIV", words("float16 float32 int32")),
        ("EQUAL", _SUMS | {"int16", "bool"}),
        ("FLOOR LOGISTIC ROUND TANH", words("float16 bfloat16 float32")),
        ("FLOOR_MOD", words("float32 int8 int16 int32 int64")),
        ("GATHER PAD PADV2", _MOVED),
        ("ERF GELU LEAKY_RELU LOG_SOFTMAX PRELU RELU RESIZE_BILINEAR", _SINGLE),
        ("GREATER LESS", _SUMS | {"int16", "bfloat16"}),
        ("LOGICAL_AND LOGICAL_NOT LOGICAL_OR", words("bool")),
        ("MAXIMUM MINIMUM", _COMPARED | {"float16", "bfloat16"}),
        ("MAX_POOL_2D", words("float32 int8 int16 uint8")),
        ("MEAN SUB SUM", _SUMS),
        ("MUL", _SUMS | {"int16", "uint32"}),
        ("NEG", _COMPARED - {"uint8"} | {"float16", "bfloat16"}),
        ("NOT_EQUAL", _SUMS | {"bool"}),
        ("POW", words("float32 int32")),
        ("REDUCE_MAX REDUCE_MIN", _COMPARED | {"float16"}),
        ("REDUCE_PROD TOPK_V2", _COMPARED),
        ("BITWISE_XOR RIGHT_SHIFT", words("int8 int16 int32 uint8 uint16 uint32")),
        ("SIGN", words("float32 float64 int32")),
        ("STABLEHLO_SCATTER", _ALL - {"bfloat16"}),
    )
    for name in words(names)
}
_MOST_DIMENSIONS: Mapping[str, int] = dict.fromkeys(
    words("BATCH_MATMUL CONCATENATION FULLY_CONNECTED MEAN REDUCE_MAX REDUCE_MIN SOFTMAX SUM"), 6
) | {"PAD": 5, "PADV2": 5}
"""Of what is computed; the others are not held to any number."""
_MOST_IN_HALF = 6
"""Dimensions of float16, which XNNPACK alone computes in."""
_TYPED_BY_RESULT = words("CONV_3D_TRANSPOSE SELECT_V2 TRANSPOSE_CONV")
"""Operators whose first operand is no value to compute with."""


def missing_kernel(draft: ModelBuilder) -> str | None:
    """Why the interpreter would not run these operators, or ``None``."""
    touched = chain.from_iterable((*each.reads, *each.writes) for each in draft.operators)
    if any(0 in draft.tensors[number].shape for number in touched):
        return "litert is not asked for tensors without elements"
    reasons = (_missing_type(draft, each) or _missing_rank(draft, each) for each in draft.operators)
    return next(filter(None, reasons), None)


def _missing_rank(draft: ModelBuilder, each: Operator) -> str | None:
    touched = [draft.tensors[number] for number in (*each.reads, *each.writes)]
    rank = max(len(tensor.shape) for tensor in touched)
    most = _MOST_DIMENSIONS.get(each.name, rank)
    if any(tensor.dtype == "float16" for tensor in touched):
        most = min(most, _MOST_IN_HALF)
    return None if rank <= most else f"litert has no {each.name} over {counted(rank, 'dimension')}"


def _missing_type(draft: ModelBuilder, each: Operator) -> str | None:
    types = _KERNELS.get(each.name, frozenset())
    deciding = [each.writes[0] if each.name in _TYPED_BY_RESULT else each.reads[0]]
    if each.name == "CAST":
        deciding.append(each.writes[0])
    for number in deciding:
        dtype = draft.tensors[number].dtype
        if dtype not in types:
            return f"litert has no {each.name} of {dtype}"
    return None
