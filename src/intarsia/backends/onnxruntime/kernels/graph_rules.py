"""What the kernels have to do in a graph, before ONNX Runtime has optimised it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from intarsia.backends.contract.node_facts import is_constant
from intarsia.backends.contract.traits import KernelChoice
from intarsia.backends.onnxruntime.cubic_resize import is_cubic
from intarsia.backends.onnxruntime.kernels import HOST, KERNELS, TRANSPOSED, Kernel, described
from intarsia.backends.onnxruntime.kernels.expansion import is_expansion

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node

_BLOCKS, _PLAIN = "blocks", "plain"
_CONVOLUTIONS = {"Conv", TRANSPOSED}
_BETWEEN = {"DepthToSpace", "Elu", "InstanceNormalization", "LRN"}
"""Nodes that are ours where they stand between operators on blocks."""


def ours() -> str:
    """What the kernels compute, in words."""
    return f"convolution {' or '.join(each.filters for each in KERNELS)}"


def lack(graph: Graph, block: int) -> str | None:
    """Why no convolution can be replaced, by what is in the way of the one that comes nearest; ``None`` if one can."""
    furthest, reason = 0, f"no {ours()} to replace"
    for node in graph.nodes:
        if node.op_type not in _CONVOLUTIONS or node.domain not in {"", "ai.onnx"}:
            continue
        for kernel in KERNELS:
            obstacles = tuple(_obstacles(node, graph, kernel, block))
            passed = next((place for place, each in enumerate(obstacles) if each is not None), None)
            if passed is None:
                return None
            if passed > furthest:
                furthest, reason = passed, obstacles[passed] or reason
    return reason


def _obstacles(node: Node, graph: Graph, kernel: Kernel, block: int) -> Iterator[str | None]:
    """For each thing that a kernel needs of a convolution, one after the other, what this one has instead of it."""
    weight = graph.values[node.inputs[1]]
    convolution = described(weight.shape or (), node.attributes, is_transposed=node.op_type == TRANSPOSED)
    if convolution is None:
        yield ""
        return
    yield from kernel.obstacles(convolution, block)
    convolutions = f"the convolutions {kernel.filters}"
    is_single = weight.dtype == graph.values[node.inputs[0]].dtype == "float32"
    yield None if is_single else f"it computes in float32 only, and {convolutions} are {weight.dtype}"
    has_constants = node.inputs[1] in graph.weights and is_constant(node, graph, 2)
    yield None if has_constants else f"weights of {convolutions} are computed, and ours need constants"


def kernels(graph: Graph, block: int) -> Mapping[str, tuple[KernelChoice, ...]]:
    """For each node that ours may compute, by its id: ours in every way, the usual one first, and the host's.

    ONNX Runtime computes pictures in the blocks that ours do, and volumes and what lies between in none.
    """
    found: dict[str, tuple[KernelChoice, ...]] = {}
    for node in graph.nodes:
        if node.domain not in {"", "ai.onnx"}:
            continue
        if node.op_type in _BETWEEN:
            found[node.id] = (KernelChoice(name="", layout=_BLOCKS), KernelChoice(name=HOST, layout=_PLAIN))
        if is_cubic(node.op_type, node.attributes):
            found[node.id] = (KernelChoice(name="", layout=_PLAIN), KernelChoice(name=HOST, layout=_PLAIN))
        kernel = _taking(node, graph, block) if node.op_type in _CONVOLUTIONS else None
        if kernel is not None:
            own = tuple(KernelChoice(name=way, layout=_BLOCKS) for way in ("", *kernel.ways))
            host = KernelChoice(name=HOST, layout=_PLAIN if kernel.packs else _BLOCKS)
            found[node.id] = (*own, host) if kernel.is_usual else own
    for last, firsts in _expansions(graph, block).items():
        found = {node: several for node, several in found.items() if node not in firsts}
        found[last] = tuple(KernelChoice(name=name, layout=_BLOCKS, also=firsts) for name in ("", HOST))
    return found


def _expansions(graph: Graph, block: int) -> Mapping[str, tuple[str, ...]]:
    """For each depthwise convolution that a kernel of ours computes with the 1x1 one before it, that one's id."""
    found = {}
    for node in graph.nodes:
        first = _expanding(node, graph)
        if first is None:
            continue
        one, two = (described(graph.values[each.inputs[1]].shape or (), each.attributes) for each in (first, node))
        if one is not None and two is not None and is_expansion(one, two, block):
            found[node.id] = (first.id,)
    return found


def _expanding(node: Node, graph: Graph) -> Node | None:
    """The convolution before a convolution, with at most an activation between them."""
    if node.op_type != "Conv":
        return None
    before = _maker(node.inputs[0], graph)
    if before is not None and before.op_type in {"Clip", "Relu", "Mul"}:
        makers = (_maker(name, graph) for name in before.inputs[:2] if name)
        before = next((each for each in makers if each is not None and each.op_type == "Conv"), None)
    return before if before is not None and before.op_type == "Conv" else None


def _maker(name: str, graph: Graph) -> Node | None:
    producer = graph.values[name].producer
    return None if producer is None else graph.nodes[producer]


def _taking(node: Node, graph: Graph, block: int) -> Kernel | None:
    takers = (each for each in KERNELS if all(found is None for found in _obstacles(node, graph, each, block)))
    return next(takers, None)
