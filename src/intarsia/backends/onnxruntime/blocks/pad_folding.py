"""Takes what ONNX Runtime's own optimiser leaves of padding with zeros into the blocked convolutions behind it.

It folds a ``Pad`` that names every dimension, and no other: not one with ``axes``, nor one before a convolution that
states ``auto_pad``.
"""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from intarsia.backends.onnxruntime.blocks.padding import padding_of
from intarsia.backends.onnxruntime.saved_model import BLOCKED, attributes_of, reorders

_RANK = 4


def fold_pads(graph: onnx.GraphProto) -> None:
    """Let each convolution that reads nothing but padding pad by itself."""
    constants = {tensor.name: tensor for tensor in graph.initializer}
    results = {value.name for value in graph.output}
    for pad in [node for node in graph.node if node.op_type == "Pad" and node.domain in {"", "ai.onnx"}]:
        rows = _rows(pad, constants)
        readers = _readers(graph, pad.output[0])
        convolutions = [node for reorder in readers for node in _readers(graph, reorder.output[0])]
        if rows is None or pad.output[0] in results or not convolutions:
            continue
        if all(reorders(node, "ReorderInput") for node in readers) and all(map(_pads_by_number, convolutions)):
            for node in convolutions:
                _pad_more(node, rows)
            for reorder in readers:
                reorder.input[0] = pad.input[0]
            graph.node.remove(pad)


def _rows(pad: onnx.NodeProto, constants: Mapping[str, onnx.TensorProto]) -> tuple[int, ...] | None:
    """Rows of zeros before and after height and width; ``None`` if it pads anything else, or by something else."""
    found = padding_of(pad, constants, _RANK)
    if found is None or found.mode != "constant" or found.value:
        return None
    return (*found.before, *found.after)


def _readers(graph: onnx.GraphProto, name: str) -> list[onnx.NodeProto]:
    return [node for node in graph.node if name in node.input]


def _pads_by_number(node: onnx.NodeProto) -> bool:
    is_blocked = (node.domain, node.op_type) == (BLOCKED, "Conv")
    return is_blocked and attributes_of(node).get("auto_pad", "NOTSET") in {"NOTSET", "VALID"}


def _pad_more(node: onnx.NodeProto, rows: tuple[int, ...]) -> None:
    """Add rows of zeros to those that a convolution adds."""
    stated = attributes_of(node)
    own = stated.get("pads", (0,) * len(rows)) if stated.get("auto_pad") != "VALID" else (0,) * len(rows)
    kept = [each for each in node.attribute if each.name not in {"pads", "auto_pad"}]
    del node.attribute[:]
    node.attribute.extend(kept)
    node.attribute.append(onnx.helper.make_attribute("pads", [a + b for a, b in zip(own, rows, strict=True)]))
