"""The model as every later stage sees it: read, normalised once, cut into sub-models, written and mapped back.

This is the only folder that knows onnx and onnx_ir; all others see the types named here.
"""

from __future__ import annotations

from intarsia.graph.graph import Graph
from intarsia.graph.normalise import load_model
from intarsia.graph.parts import Node, Value, Weight
from intarsia.graph.store import open_graph
from intarsia.graph.submodel import SubModel

__all__ = ["Graph", "Node", "SubModel", "Value", "Weight", "load_model", "open_graph"]
