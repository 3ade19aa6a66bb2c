"""The model as every later stage sees it: read, normalised once, cut into sub-models, written and mapped back.

This is the only folder that knows onnx and onnx_ir; all others see the types named here. Whoever opens a graph that was
written before needs no onnx_ir, which takes longer to import than all else, so `load_model` is imported when asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from intarsia.graph.graph import Graph
from intarsia.graph.parts import Node, Value, Weight
from intarsia.graph.ranges import SizeRange
from intarsia.graph.store import open_graph, save_graph
from intarsia.graph.submodel import SubModel, extract

if TYPE_CHECKING:
    from intarsia.graph.normalisation.normalise import load_model

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


def __getattr__(name: str) -> Any:
    if name != "load_model":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from intarsia.graph.normalisation.normalise import load_model

    return load_model
