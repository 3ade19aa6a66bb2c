"""Products by weights in blocks as the operator ``intarsia::PackedProduct``, whose kernel reads them packed.

What a weight is multiplied with stays about exact, where ``MatMulNBits`` rounds it to 8 bits; and there are weights in
12, 10 and 6 bits. The layout is that of `native/kernels/products/packed_product.h`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from intarsia.backends.onnxruntime.block_products import Product, restored_weights, with_products
from intarsia.backends.onnxruntime.neighbours import Neighbours, other_term
from intarsia.graph.placeholder_ops import DOMAIN
from intarsia.graph.quantise import BLOCK, ORIGIN, GraphDraft, bits_of

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node, SubModel

OPERATOR = "PackedProduct"
_TYPES = ("int4", "uint8", "int16")
_MOST = 2047
"""The largest code in 12 bits for which a run's sum stays in 32."""
_LOWER = np.uint32(0xFFFF)
"""The lower half of a float."""
_MIDDLE = 8
"""What stands for zero in 4 bits."""


def with_packed_products(model: SubModel, block: int) -> SubModel:
    """The sub-graph with each product by a weight in blocks, and the bias behind it, as one operator.

    Args:
        block: Columns that the kernel computes together on this processor.
    """
    near = Neighbours.of(model)
    restored = {id_: node for id_, node in restored_weights(model, _TYPES).items() if _fits(node, model.graph)}
    found = ((id_, _sum(model.graph.node(id_), node, near)) for id_, node in restored.items())
    sums = {id_: total for id_, total in found if total is not None}
    return with_products(model, restored, partial(_write, block), sums)


def _fits(restored: Node, graph: Graph) -> bool:
    """Whether codes are in 12 bits where they have 16, and scales of fewer in 16: a model's own may have more."""
    codes, scales = (graph.weights[name] for name in restored.inputs[:2])
    if scales.dtype != "float32":
        return False
    if bits_of(codes.array()) > 8:
        return int(np.abs(codes.array().astype(np.int32)).max()) <= _MOST
    return not (scales.array().view(np.uint32) & _LOWER).any()


def _sum(product: Node, restored: Node, near: Neighbours) -> Node | None:
    """What adds a constant number for each column to a product, and is all that reads it."""
    (output,) = product.outputs
    reader = near.reader(output, {"Add"})
    bias = None if reader is None else near.graph.weights.get(other_term(reader, output))
    return reader if bias is not None and bias.shape == near.shape(restored.inputs[0])[1:] else None


def _write(block: int, product: Product, draft: GraphDraft) -> None:
    codes, scales = (draft.graph.weights[name] for name in product.restored.inputs[:2])
    array = codes.array()
    inputs = [product.x, draft.weight(f"{codes.name}/packed", packed(array, scales.array(), block))]
    if product.total is not None:
        inputs.append(next(name for name in product.total.inputs if name in draft.graph.weights))
    sizes = [bits_of(array), *array.shape]
    draft.add(OPERATOR, inputs, product.output, product.output, domain=DOMAIN, sizes=sizes, adds=0, gelu=0)


def packed(codes: np.ndarray, scales: np.ndarray, block: int) -> np.ndarray:
    """Codes [rows, columns] and scales [runs, columns] as bytes: [columns / block, runs, bytes of a run]."""
    rows, columns = codes.shape
    runs, blocks, bits = -(-rows // BLOCK), -(-columns // block), bits_of(codes)
    whole = np.zeros((runs * BLOCK, blocks * block), np.int16)
    whole[:rows, :columns] = codes.astype(np.int16) - np.int16(ORIGIN if bits == 8 else 0)
    steps = np.zeros((runs, blocks * block), np.float32)
    steps[:, :columns] = scales
    pairs = whole.reshape(runs, BLOCK // 2, 2, blocks, block).transpose(3, 0, 1, 4, 2)
    parts = []
    if bits == 4:
        parts.append(_words(pairs + np.int16(_MIDDLE), 4))
    elif bits == 6:
        parts += [_words((pairs >> 2) + np.int16(_MIDDLE), 4), _words(pairs & np.int16(3), 2)]
    else:
        low = bits - 8
        parts.append((pairs >> low).astype(np.int8))
        if low:
            parts.append(_words(pairs & np.int16(2**low - 1), low))
    upper = (steps.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    parts.append((steps if bits > 8 else upper).reshape(runs, blocks, block).transpose(1, 0, 2))
    rows_of_bytes = [np.ascontiguousarray(each).reshape(blocks, runs, -1).view(np.uint8) for each in parts]
    return np.concatenate(rows_of_bytes, axis=2)


def _words(numbers: np.ndarray, bits: int) -> np.ndarray:
    """Numbers of few bits [blocks, runs, 16, block, 2] in words of 16, lowest first: with i those at i + bits, ..."""
    several = np.split(numbers.astype(np.uint16), 16 // bits, axis=2)
    words = several[0]
    for place, each in enumerate(several[1:], 1):
        words |= each << np.uint16(bits * place)
    return words
