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


def _of_floats(node: Node, graph: Graph) -> bool:
    """MNN compares floats near 0 wrongly for equal and less, and rightly for greater and its kin."""
    return graph.values[node.inputs[0]].dtype == "float32"


def _is_stretched(node: Node, graph: Graph) -> bool:
    """Whether MNN would misread an input of Where, since it is broadcast."""
    result = graph.values[node.outputs[0]].shape
    condition, *choices = (_shape(node, graph, position) for position in (0, 1, 2))
    return condition != result or any(shape != result and prod(shape) != 1 for shape in choices)


def _asks_for_the_last(node: Node, graph: Graph) -> bool:
    return bool(node.attributes.get("select_last_index", 0))


def _normalises_all(node: Node, graph: Graph) -> bool:
    """Whether no axis is left for the batch, without which MNN's own kernel answers with what was in memory.

    Where mean and deviation are asked for as well, MNN's converter takes the operator apart, and that is right.
    """
    return (
        len([name for name in node.outputs if name]) == 1
        and int(node.attributes.get("axis", -1)) % len(_shape(node, graph, 0)) == 0
    )


def _is_exact(node: Node, graph: Graph) -> bool:
    """Whether a Gelu is asked for that MNN approximates, with an error of 5e-4."""
    return bool(node.attributes.get("approximate", "none") == "none")


def _turns_the_left(node: Node, graph: Graph) -> bool:
    return bool(node.attributes.get("transA", 0))


def _has_a_vector(node: Node, graph: Graph) -> bool:
    return any(len(_shape(node, graph, position)) < 2 for position in (0, 1))


def _always(node: Node, graph: Graph) -> bool:
    return True


def _is_no_plain_image(node: Node, graph: Graph) -> bool:
    """Whether a convolution has one dimension, or more pads before than behind, which MNN gets wrong."""
    return len(_shape(node, graph, 0)) == 3 or bool(node.attributes.get("auto_pad") == "SAME_LOWER")


def _leaves_pads_open(node: Node, graph: Graph) -> bool:
    """Whether pads follow from the shape of the result: MNN takes them for none, or puts them on the other side."""
    return "output_shape" in node.attributes or str(node.attributes.get("auto_pad", "")).startswith("SAME")


_LEGALISED: Mapping[str, Callable[[Node, Graph], bool]] = {
    **dict.fromkeys(("ArgMax", "ArgMin"), _asks_for_the_last),
    **dict.fromkeys(("CastLike", "LpNormalization", "Mean"), _always),
    "Clip": lambda node, graph: not _plain_bounds(node, graph),
    **dict.fromkeys(("Equal", "Less"), _of_floats),
    **dict.fromkeys(("GatherElements", "GatherND", "ScatterElements"), _counts_from_the_end),
    "Conv": _is_no_plain_image,
    "ConvTranspose": _leaves_pads_open,
    "Gelu": _is_exact,
    "Gemm": _turns_the_left,
    "MatMul": _has_a_vector,
    "LayerNormalization": _normalises_all,
    "Where": _is_stretched,
}
"""When an operator is given to MNN in other words."""
