"""What the kernels have to do in a graph, before ONNX Runtime has optimised it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from intarsia.backends.contract.node_facts import is_constant
from intarsia.backends.contract.traits import KernelChoice
from intarsia.backends.onnxruntime.cubic_resize import is_cubic
from intarsia.backends.onnxruntime.few_rows.cached_attention import attentions
from intarsia.backends.onnxruntime.few_rows.merged_products import groups_in
from intarsia.backends.onnxruntime.kernels import HOST, KERNELS, TRANSPOSED, Kernel, described
from intarsia.backends.onnxruntime.kernels.expansion import is_expansion

if TYPE_CHECKING:
    from intarsia.backends.onnxruntime.kernels.convolution import Convolution
    from intarsia.graph import Graph, Node

_BLOCKS, _PLAIN = "blocks", "plain"
_CONVOLUTIONS = {"Conv", TRANSPOSED}
_IN_FLOATS = tuple(kernel for kernel in KERNELS if not kernel.only_short)
_BETWEEN = {"DepthToSpace", "Elu", "InstanceNormalization", "LRN"}
"""Nodes that are ours where they stand between operators on blocks."""


def ours() -> str:
    """What the kernels compute, in words."""
    return f"convolution {' or '.join(each.filters for each in _IN_FLOATS)}"


def lack(graph: Graph, block: int) -> str | None:
    """Why nothing can be replaced, by what is in the way of the convolution that comes nearest; ``None`` if it can."""
    furthest, reason = 0, f"no {ours()} to replace"
    for facts in dict.fromkeys(_facts(node, graph) for node in graph.nodes if _is_convolution(node)):
        for kernel in _IN_FLOATS:
            obstacles = tuple(_obstacles(facts, kernel, block))
            passed = next((place for place, each in enumerate(obstacles) if each is not None), None)
            if passed is None:
                return None
            if passed > furthest:
                furthest, reason = passed, obstacles[passed] or reason
    of_few_rows = chain(attentions(graph, block), groups_in(graph, range(len(graph.nodes))))
    return None if any(True for _ in of_few_rows) else reason


class _Facts(NamedTuple):
    """What decides whether a kernel computes a convolution; equal ones, of which networks are full, are decided once.

    Attributes:
        convolution: ``None`` if its weights are none.
        dtype: Of its weights.
        is_float32: Whether it is float32 throughout.
        has_constants: Whether its weights and its bias are constants.
    """

    convolution: Convolution | None
    dtype: str | None
    is_float32: bool
    has_constants: bool


def _is_convolution(node: Node) -> bool:
    return node.op_type in _CONVOLUTIONS and node.domain in {"", "ai.onnx"}


def _facts(node: Node, graph: Graph) -> _Facts:
    weight = graph.values[node.inputs[1]]
    return _Facts(
        convolution=described(weight.shape or (), node.attributes, is_transposed=node.op_type == TRANSPOSED),
        dtype=weight.dtype,
        is_float32=weight.dtype == graph.values[node.inputs[0]].dtype == "float32",
        has_constants=node.inputs[1] in graph.weights and is_constant(node, graph, 2),
    )


def _obstacles(facts: _Facts, kernel: Kernel, block: int) -> Iterator[str | None]:
    """For each thing that a kernel needs of a convolution, one after the other, what this one has instead of it."""
    if facts.convolution is None:
        yield ""
        return
    yield from kernel.obstacles(facts.convolution, block)
    convolutions = f"the convolutions {kernel.filters}"
    yield None if facts.is_float32 else f"it computes in float32 only, and {convolutions} are {facts.dtype}"
    yield None if facts.has_constants else f"weights of {convolutions} are computed, and ours need constants"


def kernels(graph: Graph, block: int, *, every: bool = False) -> Mapping[str, tuple[KernelChoice, ...]]:
    """For each node that ours may compute, by its id: ours, the usual one first, and the host's.

    ONNX Runtime computes pictures in the blocks that ours do, and volumes and what lies between in none.

    Args:
        graph: What is computed.
        block: Channels of a block.
        every: Whether those are named too that are not worth measuring.
    """
    found: dict[str, tuple[KernelChoice, ...]] = {}
    taking = cache(partial(_taking, block=block))
    for node in graph.nodes:
        if node.domain not in {"", "ai.onnx"}:
            continue
        if node.op_type in _BETWEEN:
            found[node.id] = (KernelChoice(name="", layout=_BLOCKS), KernelChoice(name=HOST, layout=_PLAIN))
        if is_cubic(node.op_type, node.attributes):
            found[node.id] = (KernelChoice(name="", layout=_PLAIN), KernelChoice(name=HOST, layout=_PLAIN))
        kernel = taking(_facts(node, graph)) if _is_convolution(node) else None
        if kernel is not None:
            ways = kernel.alternatives(None if every else _sizes(node, graph))
            own = tuple(KernelChoice(name=way, layout=_BLOCKS) for way in ("", *ways))
            host = KernelChoice(name=HOST, layout=_PLAIN if kernel.packs else _BLOCKS)
            found[node.id] = (*own, host) if kernel.is_usual else own
    for last, firsts in _expansions(graph, block).items():
        found = {node: several for node, several in found.items() if node not in firsts}
        found[last] = tuple(KernelChoice(name=name, layout=_BLOCKS, also=firsts) for name in ("", HOST))
    return found


def short_nodes(graph: Graph, block: int) -> frozenset[str]:
    """The ids of the nodes that a kernel of ours computes which can multiply numbers of 16 bits."""
    taking = cache(partial(_taking, block=block, kernels=KERNELS))
    taken = ((node.id, taking(_facts(node, graph))) for node in graph.nodes if _is_convolution(node))
    return frozenset(node for node, kernel in taken if kernel is not None and kernel.has_short)


def _sizes(node: Node, graph: Graph) -> tuple[int, ...] | None:
    """Of a convolution's result, without channels, where all are known."""
    shape = graph.values[node.outputs[0]].shape
    return (shape[0], *shape[2:]) if shape else None


def named_kernels(graph: Graph, block: int) -> dict[str, tuple[str, ...]]:
    """For each node, by its id, the names of the kernels that may be asked for.

    Attention is among them, and not among `kernels`: in one network all of it is alike, and so the engine's time beside
    ONNX Runtime's tells which is faster.
    """
    found = {
        node: tuple(each.name for each in own if each.name) for node, own in kernels(graph, block, every=True).items()
    }
    return {**found, **{attention.last.id: (HOST,) for attention in attentions(graph, block)}}


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


def _taking(facts: _Facts, block: int, kernels: Sequence[Kernel] = _IN_FLOATS) -> Kernel | None:
    takers = (each for each in kernels if all(found is None for found in _obstacles(facts, each, block)))
    return next(takers, None)
