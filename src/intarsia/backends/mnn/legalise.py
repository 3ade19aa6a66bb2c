"""Which nodes MNN is given in other words (`graph.legalise`), since it computes only those rightly.

Found as `rules` was: each was wrong in some case as it stands, and right in every one in other words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import prod
from typing import TYPE_CHECKING

from intarsia.backends.contract.node_facts import constant

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node


def legalised(nodes: Iterable[Node], graph: Graph) -> frozenset[str]:
    """Ids of the accepted nodes that MNN computes rightly only in other words (`graph.legalise`)."""
    return frozenset(node.id for node in nodes if node.op_type in _LEGALISED and _LEGALISED[node.op_type](node, graph))


def _shape(node: Node, graph: Graph, position: int) -> tuple[int, ...]:
    return graph.values[node.inputs[position]].shape or ()


def _plain_bounds(node: Node, graph: Graph) -> bool:
    """Whether the bounds of a Clip are constants, and in order: MNN gives the lower one where it exceeds the upper."""
    names = [name for name in node.inputs[1:] if name]
    if any(name not in graph.weights for name in names):
        return False
    bounds = [float(graph.weights[name].array().reshape(-1)[0]) for name in names]
    return bounds == sorted(bounds)


def _counts_from_the_end(node: Node, graph: Graph) -> bool:
    """Whether indices may be negative, which MNN does not know."""
    indices = constant(node, graph, 1)
    return indices is None or bool((indices < 0).any())


def _is_stretched(node: Node, graph: Graph) -> bool:
    """Whether MNN would misread an input of Where, since it is broadcast."""
    result = graph.values[node.outputs[0]].shape
    condition, *choices = (_shape(node, graph, position) for position in (0, 1, 2))
    return condition != result or any(shape != result and prod(shape) != 1 for shape in choices)


def _normalises_all(node: Node, graph: Graph) -> bool:
    """Whether no axis is left for the batch, without which MNN's own kernel answers with what was in memory.

    Where mean and deviation are asked for as well, MNN's converter takes the operator apart, and that is right.
    """
    return (
        len([name for name in node.outputs if name]) == 1
        and int(node.attributes.get("axis", -1)) % len(_shape(node, graph, 0)) == 0
    )


def _is_no_plain_image(node: Node, graph: Graph) -> bool:
    """Whether a convolution has one dimension, or more pads before than behind, which MNN gets wrong."""
    return len(_shape(node, graph, 0)) == 3 or bool(node.attributes.get("auto_pad") == "SAME_LOWER")


_LEGALISED: Mapping[str, Callable[[Node, Graph], object]] = {
    **dict.fromkeys(("ArgMax", "ArgMin"), lambda node, _: node.attributes.get("select_last_index", 0)),
    **dict.fromkeys(("CastLike", "LpNormalization", "Mean"), lambda *_: True),
    "Clip": lambda node, graph: not _plain_bounds(node, graph),
    # Floats near 0 are compared wrongly for equal and less, and rightly for greater and its kin.
    **dict.fromkeys(("Equal", "Less"), lambda node, graph: graph.values[node.inputs[0]].dtype == "float32"),
    **dict.fromkeys(("GatherElements", "GatherND", "ScatterElements"), _counts_from_the_end),
    "Conv": _is_no_plain_image,
    # Pads that follow from the shape of the result are taken for none, or put on the other side.
    "ConvTranspose": lambda node, _: (
        "output_shape" in node.attributes or str(node.attributes.get("auto_pad", "")).startswith("SAME")
    ),
    # An exact one is approximated, with an error of 5e-4.
    "Gelu": lambda node, _: node.attributes.get("approximate", "none") == "none",
    "Gemm": lambda node, _: node.attributes.get("transA", 0),
    "MatMul": lambda node, graph: any(len(_shape(node, graph, position)) < 2 for position in (0, 1)),
    "LayerNormalization": _normalises_all,
    "Where": _is_stretched,
}
"""When an operator is given to MNN in other words."""
