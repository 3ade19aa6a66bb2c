"""Which nodes OpenVINO takes where a shape depends on the content of a value, and which inputs decide over it.

The CPU plug-in takes no open ranks. So a model is compiled for each content of the inputs that decide over shapes, and
these had better change seldom: they come from small inputs of the whole model, not from its data. Where sizes of the
inputs are open, `open_size_rules` decides instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from intarsia.backends.contract.node_facts import has_input, words

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node, SubModel

DECIDING: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(words("BlackmanWindow ConstantOfShape HammingWindow HannWindow"), (0,)),
    **dict.fromkeys(
        words(
            "AffineGrid CenterCropPad Expand OneHot ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax "
            "ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Reshape Split Squeeze Tile TopK Unsqueeze"
        ),
        (1,),
    ),
    "Col2Im": (1, 2),
    "Range": (0, 1, 2),
    **dict.fromkeys(("Pad", "Resize"), (1, 2, 3)),
    "Slice": (1, 2, 3, 4),
}
"""Operator -> positions of the inputs whose content decides over shapes or axes."""

COUNTED = words("Compress NonMaxSuppression NonZero Unique")
"""Operators with as many results as they find in their data."""
OF_SHAPE = words("Shape Size")
"""Operators that look at the shape of their input only."""
_OF_FIRST = words("CastLike")
"""Operators that look at the type of their second input only."""
BY_POINTER = ("bfloat", "float8")
"""Beginnings of the names of types that numpy lacks."""
_SMALL = 64
"""Elements of a scalar or list among the inputs that is taken for axes, sizes or the like, and not for data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """What is known of a graph's values before it runs, given its small inputs.

    Attributes:
        contents: Values whose content follows from weights and small inputs.
        open: Values whose shape does not.
    """

    contents: frozenset[str]
    open: frozenset[str]


def refusal(node: Node, graph: Graph) -> str | None:
    """Why a node's shapes are too uncertain for OpenVINO, or ``None``."""
    facts = _facts(graph)
    for name in filter(None, (*node.reads, *node.outputs)):
        value = graph.values[name]
        if value.shape is None and str(value.dtype).startswith(BY_POINTER):
            return f"openvino hands out {value.dtype} by pointer only, and the shape of {name} is not known before"
    for name in node.reads:
        if name in facts.open:
            return f"the shape of {name} may change between calls, and openvino is compiled for one"
    for position, name in _deciding(node):
        if name not in facts.contents:
            return f"openvino wants input {position} of {node.op_type} as a constant, or from small inputs of the model"
    return None


def deciding_inputs(model: SubModel) -> tuple[str, ...]:
    """The inputs of a partition whose content decides over shapes in it, in order."""
    producers = {name: node for node in model.nodes for name in node.outputs if name}
    found: set[str] = set()
    to_do = [name for node in model.nodes for _, name in _deciding(node)]
    while to_do:
        name = to_do.pop()
        if name in found or name in model.weights:
            continue
        found.add(name)
        node = producers.get(name)
        to_do += () if node is None else contents_read(node)
    return tuple(value.name for value in model.inputs if value.name in found)


def _deciding(node: Node) -> Iterator[tuple[int, str]]:
    for position in DECIDING.get(node.op_type, ()):
        if has_input(node, position):
            yield position, node.inputs[position]


def contents_read(node: Node) -> tuple[str, ...]:
    """The values whose content its results depend on."""
    if node.op_type in OF_SHAPE:
        return ()
    return node.inputs[:1] if node.op_type in _OF_FIRST else node.reads


def _facts(graph: Graph) -> _Facts:
    key = (__name__, "facts")
    if key not in graph.memo:
        graph.memo[key] = _collected(graph)
    found: _Facts = graph.memo[key]
    return found


def _collected(graph: Graph) -> _Facts:
    contents, unknown = set(graph.weights), set()
    for name in graph.inputs:
        shape = graph.values[name].shape
        if shape is None:
            unknown.add(name)
        elif len(shape) <= 1 and prod(shape) <= _SMALL:
            contents.add(name)
    for node in graph.nodes:
        if _has_known_contents(node, contents, unknown):
            contents.update(node.outputs)
        if _has_open_shapes(node, contents, unknown):
            unknown.update(name for name in node.outputs if name and graph.values[name].shape is None)
    return _Facts(contents=frozenset(contents), open=frozenset(unknown))


def _has_known_contents(node: Node, contents: set[str], unknown: set[str]) -> bool:
    if node.has_subgraph or node.op_type in COUNTED:
        return False
    if node.op_type in OF_SHAPE:
        return node.inputs[0] not in unknown
    return contents.issuperset(contents_read(node))


def _has_open_shapes(node: Node, contents: set[str], unknown: set[str]) -> bool:
    if node.has_subgraph or node.op_type in COUNTED:
        return True
    if contents.issuperset(node.reads):
        return False
    return not unknown.isdisjoint(node.reads) or any(name not in contents for _, name in _deciding(node))
