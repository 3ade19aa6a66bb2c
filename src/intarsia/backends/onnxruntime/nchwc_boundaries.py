"""Lets placeholders read and write ONNX Runtime's blocks of channels, instead of unpacking those for them alone.

In an optimised model a placeholder (`graph.placeholder_ops`) stands behind a ``ReorderOutput`` and before a
``ReorderInput`` wherever its neighbours compute in blocks. An engine that computes in the same blocks needs neither.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

import onnx

from intarsia.backends.onnxruntime.saved_model import parsed, reorders
from intarsia.graph.export import serialise
from intarsia.graph.placeholder_ops import DOMAIN, OP_TYPE

_UNPACK, _PACK = "ReorderOutput", "ReorderInput"


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOver:
    """A model after the change, and by placeholder the positions of its inputs and outputs that are in blocks."""

    content: bytes
    borders: dict[int, tuple[tuple[int, ...], tuple[int, ...]]]


def hand_over(content: bytes, block: int, able: Collection[int]) -> HandedOver:
    """A model as ONNX Runtime saves its optimised graph, without the reordering around placeholders.

    ``able`` has the numbers of those whose engines can read and write blocks, of so many channels.

    Raises:
        ModelError: The file is not ONNX.
    """
    model = parsed(content)
    graph = _Wires(model.graph)
    borders = {}
    for node in model.graph.node:
        number = _number(node)
        if number is not None and number in able:
            inputs = tuple(at for at, name in enumerate(node.input) if graph.takes_blocks(node, at, name, block))
            outputs = tuple(at for at, name in enumerate(node.output) if graph.gives_blocks(node, at, name, block))
            borders[number] = (inputs, outputs)
    graph.drop_unread()
    return HandedOver(content=serialise(model), borders=borders)


class _Wires:
    """Who makes and who reads each value of a graph that is being changed."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self._graph = graph
        self._makers = {name: node for node in graph.node for name in node.output}
        self._readers: dict[str, list[onnx.NodeProto]] = defaultdict(list)
        for node in graph.node:
            for name in node.input:
                self._readers[name].append(node)
        self._results = {value.name for value in graph.output}

    def takes_blocks(self, placeholder: onnx.NodeProto, at: int, name: str, block: int) -> bool:
        """Let an input be read before it is unpacked, if it is unpacked right before the placeholder."""
        maker = self._makers.get(name)
        if maker is None or not reorders(maker, _UNPACK) or _integer(maker, "channels") % block:
            return False
        placeholder.input[at] = maker.input[0]
        self._readers[name].remove(placeholder)
        self._readers[maker.input[0]].append(placeholder)
        return True

    def gives_blocks(self, placeholder: onnx.NodeProto, at: int, name: str, block: int) -> bool:
        """Let an output be read as it comes, if all that is done with it is to pack it."""
        readers = self._readers[name]
        dims = _dims(placeholder)[at]
        fits = len(dims) == 4 and dims[0] == 1 and dims[1] % block == 0
        if not fits or name in self._results or not readers or not all(reorders(node, _PACK) for node in readers):
            return False
        for pack in tuple(readers):
            packed = pack.output[0]
            for reader in self._readers.pop(packed, []):
                reader.input[:] = [name if other == packed else other for other in reader.input]
                self._readers[name].append(reader)
            readers.remove(pack)
            self._graph.node.remove(pack)
        return True

    def drop_unread(self) -> None:
        """Take out what unpacked values for placeholders alone."""
        for node in tuple(self._graph.node):
            name = node.output[0]
            if reorders(node, _UNPACK) and not self._readers[name] and name not in self._results:
                self._graph.node.remove(node)


def _number(node: onnx.NodeProto) -> int | None:
    return _integer(node, "partition") if (node.domain, node.op_type) == (DOMAIN, OP_TYPE) else None


def _integer(node: onnx.NodeProto, name: str) -> int:
    return next((attribute.i for attribute in node.attribute if attribute.name == name), 0)


def _dims(placeholder: onnx.NodeProto) -> list[tuple[int, ...]]:
    """The shape of each output of a placeholder."""
    numbers = next(tuple(attribute.ints) for attribute in placeholder.attribute if attribute.name == "dims")
    found = []
    while numbers:
        rank = numbers[0]
        found.append(numbers[1 : 1 + rank])
        numbers = numbers[1 + rank :]
    return found
