"""How long it takes to compute a constant while a model is read, about: so that a small file cannot ask for hours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isqrt, prod
from types import MappingProxyType

_PRODUCTS = frozenset({"Attention", "Einsum", "Gemm", "MatMul", "MatMulInteger", "QLinearMatMul"})
"""Sums of products: as many as the root of what two factors and the result have elements, multiplied."""
_USUAL_NS = 10
_NS: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(("DeformConv", "GridSample", "MaxRoiPool", "NonMaxSuppression", "RoiAlign"), 50_000),
        **dict.fromkeys(("GRU", "LSTM", "RNN", "Col2Im", "ConvTranspose", "MaxUnpool", "TfIdfVectorizer"), 5_000),
        **dict.fromkeys(("GatherElements", "GatherND", "ScatterElements", "ScatterND"), 1_000),
        **dict.fromkeys(("RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TopK"), 500),
        **dict.fromkeys(("Erf", "Gelu", "Unique"), 150),
    }
)
"""Nanoseconds an element of those over which onnx's evaluator (1.23.2) loops in Python, and `_USUAL_NS` of others."""
_BOUNDED = frozenset(
    {"Compress", "Concat", "Gather", "NonMaxSuppression", "NonZero", "ReduceSum", "Reshape", "SequenceAt"}
    | {"SequenceLength", "Slice", "Split", "Squeeze", "StringSplit", "TopK", "Unique", "Unsqueeze", "Where"}
)
"""What they make is about as large as what they read, at most, where inference cannot tell how large."""


def folding_ns(op_type: str, inputs: Sequence[int], outputs: Sequence[int]) -> int:
    """Nanoseconds, about.

    Args:
        op_type: The operator.
        inputs: Elements of what it reads.
        outputs: Elements of what it makes, as far as that is known.
    """
    elements = sum(inputs) + sum(outputs)
    if op_type in _PRODUCTS:
        return _USUAL_NS * elements + isqrt(prod((*sorted(inputs)[-2:], max(outputs, default=1))))
    return _NS.get(op_type, _USUAL_NS) * elements


def is_bounded(op_type: str) -> bool:
    """Whether what it makes is about as large as what it reads, at most, whatever the numbers say."""
    return op_type in _BOUNDED
