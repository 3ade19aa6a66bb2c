"""Products by weights in blocks as ONNX Runtime's ``MatMulNBits``, whose kernels read the weights packed.

ONNX Runtime 1.31 makes them of ``DequantizeLinear`` and ``MatMul`` itself, but not where it has joined the product with
an activation before, and at an accuracy that one entry sets for a whole session. Written so, weights lie outside of the
model too, as bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from intarsia.backends.onnxruntime.neighbours import SAME_MEMORY, Neighbours, rewritten
from intarsia.graph.quantise import BLOCK, ORIGIN, GraphDraft, packed
from intarsia.graph.reference.rounding import CONTRIB

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node, SubModel

_ROUNDED = 4
"""Of ``accuracy_level``: the other factor is rounded to 8 bits in blocks. At the others 8 bits take many times as
long as fp32."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A product by a weight in blocks, and what goes with it.

    Attributes:
        restored: What restores its weight.
        x: What is multiplied.
        output: The product, and the sum with it.
        total: What adds a constant to it in the same operator.
        around: What states another rank before and behind it, where it reads and yields what lies beyond these.
    """

    restored: Node
    x: str
    output: str
    total: Node | None
    around: tuple[Node, Node] | None


def with_block_products(model: SubModel) -> SubModel:
    """The sub-graph with each product by a weight in blocks as one operator."""
    return with_products(model, restored_weights(model), _write)


def with_products(
    model: SubModel,
    restored: Mapping[str, Node],
    write: Callable[[Product, GraphDraft], None],
    totals: Mapping[str, Node] = MappingProxyType({}),
) -> SubModel:
    """The sub-graph in which ``write`` writes each of these products, without what restored its weight.

    Args:
        restored: By id of a product what restores its weight.
        totals: By id of a product what adds a constant to it, and goes with it.
    """
    if not restored:
        return model
    near = Neighbours.of(model)
    products = {id_: _product(near, id_, node, totals.get(id_)) for id_, node in restored.items()}
    gone = {model.graph.position[id_] for id_ in products}
    gone |= {node.index for each in products.values() for node in (each.restored, each.total) if node is not None}
    moved = {model.graph.position[id_] for id_, each in products.items() if each.around is not None}
    for before, behind in (each.around for each in products.values() if each.around is not None):
        gone.add(behind.index)
        if moved.issuperset(model.graph.values[before.outputs[0]].consumers):
            gone.add(before.index)
    written = {model.graph.position[id_]: partial(write, each) for id_, each in products.items()}
    return rewritten(model, written, gone)


def _product(near: Neighbours, id_: str, restored: Node, total: Node | None) -> Product:
    """Exporters put rows in a matrix before a product, and give them their rank again behind it. It needs neither."""
    product = near.graph.node(id_)
    x, output = product.inputs[0], (product if total is None else total).outputs[0]
    before, behind = near.maker(x, SAME_MEMORY), near.reader(output, SAME_MEMORY)
    if before is None or behind is None or near.is_kept(x):
        return Product(restored=restored, x=x, output=output, total=total, around=None)
    source, result = before.inputs[0], behind.outputs[0]
    rows, columns = near.shape(source), near.shape(output)[-1:]
    if not rows or rows[-1:] != near.shape(x)[-1:] or near.shape(result) != (*rows[:-1], *columns):
        return Product(restored=restored, x=x, output=output, total=total, around=None)
    return Product(restored=restored, x=source, output=result, total=total, around=(before, behind))


def restored_weights(model: SubModel, dtypes: Collection[str] = ("int4", "uint8")) -> dict[str, Node]:
    """By id of a product, what restores its second factor from a weight in blocks, and is read by nothing else."""
    near = Neighbours.of(model)
    return {node.id: made for node in model.nodes if (made := _restored(node, near, dtypes)) is not None}


def _restored(node: Node, near: Neighbours, dtypes: Collection[str]) -> Node | None:
    if node.op_type != "MatMul" or near.reader(node.inputs[1], {"MatMul"}) is None:
        return None
    source = near.maker(node.inputs[1], {"DequantizeLinear"})
    return source if source is not None and _is_in_blocks(source, near.graph, dtypes) else None


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


def _write(product: Product, draft: GraphDraft) -> None:
    codes, scales = (draft.graph.weights[name] for name in product.restored.inputs[:2])
    array = codes.array()
    length, columns = array.shape
    parts = [
        draft.weight(f"{codes.name}/packed", packed(array)),
        draft.weight(f"{scales.name}/packed", scales.array().T),
    ]
    draft.add(
        "MatMulNBits",
        [product.x, *parts],
        product.output,
        product.output,
        domain=CONTRIB,
        K=length,
        N=columns,
        bits=8 if array.dtype == np.uint8 else 4,
        block_size=BLOCK,
        accuracy_level=_ROUNDED,
    )
