"""Quantises parts of a model: which nodes can be, the rewritten graph, and the loss of accuracy.

Weights are scaled per output channel, symmetrically, to ``int8``; what is multiplied with them is ``uint8`` with a zero
point, so that zero stays zero. Engines get plain ONNX: ``DynamicQuantizeLinear`` with ``MatMulInteger``, or operators
between ``DequantizeLinear`` and ``QuantizeLinear``. Weights alone may have few bits, in blocks.
"""

from intarsia.graph.quantise.blocks import BLOCK, ORIGIN, Blocks, bits_of, packed
from intarsia.graph.quantise.draft import GraphDraft
from intarsia.graph.quantise.layers import Layer, layers_of, with_sums
from intarsia.graph.quantise.rewrite import quantised
from intarsia.graph.quantise.rounding import means_of, means_text
from intarsia.graph.quantise.sensitivity import GATES, Described, described, gated, trimmed

__all__ = [
    "BLOCK",
    "GATES",
    "ORIGIN",
    "Blocks",
    "Described",
    "GraphDraft",
    "Layer",
    "bits_of",
    "described",
    "gated",
    "layers_of",
    "means_of",
    "means_text",
    "packed",
    "quantised",
    "trimmed",
    "with_sums",
]
