"""Upper bounds for models. Real models stay far below them; hostile files may not."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds that are checked before anything of that size is built. Beyond one, a model is refused or not folded.

    Attributes:
        file_bytes: Of the model's own file. Protobuf reads no larger message; weights beyond that lie beside it.
        nesting: Graphs inside of graphs, as the bodies of ``Loop`` and ``If``, calls of functions followed. Protobuf
            reads 100 messages inside of each other, and each graph takes three. Real models have up to 4.
        functions: Functions of one model, as onnx's own checker has it. Exporters write some hundred.
        calls: Functions that call each other in a row, as onnx's own checker has it. Exporters write one for each level
            of modules, some 10.
        expanded_nodes: Nodes that the calls of functions become. The largest networks have some 10,000 in all.
        expanded_bytes: Constants that the calls of functions become, each counted once a call.
        rank: Dimensions of one value, as numpy has it. Real values have up to 8.
        value_bytes: Of one value, inputs and what is computed included. No machine that a model is compiled on has
            this much memory.
        dense_bytes: Of all weights that are stored sparse, made dense.
        folded_bytes: Of all constants that are computed while the model is read, beside four times its weights. What
            would follow stays a node.
        folded_ns: Nanoseconds that computing these constants may take, as estimated, beside 30 for each byte of its
            weights. What would follow stays a node.
    """

    file_bytes: int = (2 << 30) - 1
    nesting: int = 30
    functions: int = 10_000
    calls: int = 100
    expanded_nodes: int = 50_000
    expanded_bytes: int = 2 << 30
    rank: int = 64
    value_bytes: int = 1 << 40
    dense_bytes: int = 2 << 30
    folded_bytes: int = 2 << 30
    folded_ns: int = 4_000_000_000


LIMITS = Limits()
