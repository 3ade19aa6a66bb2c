"""The model as every later stage sees it: read, normalised once, cut into sub-models, written and mapped back.

This is the only folder that knows onnx and onnx_ir; all others see the types named here. Each is imported when it is
asked for: whoever opens a graph that was written before needs no onnx_ir, which takes longer to import than all else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from intarsia.lazy import attributes_of

if TYPE_CHECKING:
    from intarsia.graph.graph import Graph
    from intarsia.graph.normalisation.normalise import load_model
    from intarsia.graph.parts import Node, Value, Weight
    from intarsia.graph.ranges import SizeRange
    from intarsia.graph.store import open_graph, save_graph
    from intarsia.graph.submodel import SubModel, extract

__all__ = [
    "Graph",
    "Node",
    "SizeRange",
    "SubModel",
    "Value",
    "Weight",
    "extract",
    "load_model",
    "open_graph",
    "save_graph",
]

__getattr__ = attributes_of(
    __name__,
    {
        "intarsia.graph.graph": ("Graph",),
        "intarsia.graph.parts": (
            "Node",
            "Value",
            "Weight",
        ),
        "intarsia.graph.ranges": ("SizeRange",),
        "intarsia.graph.store": (
            "open_graph",
            "save_graph",
        ),
        "intarsia.graph.submodel": (
            "SubModel",
            "extract",
        ),
        "intarsia.graph.normalisation.normalise": ("load_model",),
    },
)
