"""Products by weights in blocks as ONNX Runtime's ``MatMulNBits``, whose kernels read the weights packed.

ONNX Runtime 1.31 makes them of ``DequantizeLinear`` and ``MatMul`` itself, but not where it has joined the product with
an activation before, and at an accuracy that one entry sets for a whole session. Written so, weights lie outside of the
model too, as bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from intarsia.graph.quantise import BLOCK, ORIGIN, GraphDraft, packed
from intarsia.graph.reference.rounding import CONTRIB

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node, SubModel

_ROUNDED = 4
"""Of ``accuracy_level``: the other factor is rounded to 8 bits in blocks. At the others 8 bits take many times as
long as fp32."""


def with_block_products(model: SubModel) -> SubModel:
    """The sub-graph with each product by a weight in blocks as one operator."""
    restored = restored_weights(model)
    return with_products(model, restored, lambda draft, product: _write(draft, product, restored[product.id]))


def with_products(
    model: SubModel,
    restored: Mapping[str, Node],
    write: Callable[[GraphDraft, Node], None],
    behind: Iterable[Node] = (),
) -> SubModel:
    """The sub-graph in which ``write`` writes each of these products, without what restored its weight.

    Args:
        behind: Nodes behind products that go with them.
    """
    if not restored:
        return model
    gone = {node.id for node in (*restored.values(), *behind)}
    draft = GraphDraft(model.graph)
    for node in model.nodes:
        if node.id in restored:
            write(draft, node)
        elif node.id not in gone:
            draft.keep(node)
    return draft.finish_part(model)


def restored_weights(model: SubModel, dtypes: Collection[str] = ("int4", "uint8")) -> dict[str, Node]:
    """By id of a product, what restores its second factor from a weight in blocks, and is read by nothing else."""
    return {node.id: made for node in model.nodes if (made := _restored(node, model.graph, dtypes)) is not None}


def _restored(node: Node, graph: Graph, dtypes: Collection[str]) -> Node | None:
    if node.op_type != "MatMul":
        return None
    value = graph.values[node.inputs[1]]
    if value.producer is None or len(value.consumers) != 1 or value.is_output:
        return None
    source = graph.nodes[value.producer]
    return source if source.op_type == "DequantizeLinear" and _is_in_blocks(source, graph, dtypes) else None


def _is_in_blocks(node: Node, graph: Graph, dtypes: Collection[str]) -> bool:
    """Whether it restores a constant matrix whose codes lie around the middle, as we write them."""
    codes = graph.weights.get(node.inputs[0])
    if codes is None or codes.dtype not in dtypes or len(codes.shape) != 2:
        return False
    if any(name not in graph.weights for name in node.inputs[1:]):
        return False
    if (node.attributes.get("block_size"), node.attributes.get("axis", 1)) != (BLOCK, 0):
        return False
    if len(node.inputs) < 3:
        return codes.dtype != "uint8"
    return codes.dtype == "uint8" and bool((graph.weights[node.inputs[2]].array() == ORIGIN).all())


def _write(draft: GraphDraft, product: Node, restored: Node) -> None:
    codes, scales = (draft.graph.weights[name] for name in restored.inputs[:2])
    array = codes.array()
    length, columns = array.shape
    (output,) = product.outputs
    parts = [
        draft.weight(f"{codes.name}/packed", packed(array)),
        draft.weight(f"{scales.name}/packed", scales.array().T),
    ]
    draft.add(
        "MatMulNBits",
        [product.inputs[0], *parts],
        output,
        output,
        domain=CONTRIB,
        K=length,
        N=columns,
        bits=8 if array.dtype == np.uint8 else 4,
        block_size=BLOCK,
        accuracy_level=_ROUNDED,
    )
