"""Lets what lies between our convolutions of volumes stay in blocks of channels.

ONNX Runtime keeps pictures in such a layout and volumes in none. So each convolution of ours over a volume reads and
writes blocks, what is between two of them computes in blocks too where it can, and values are reordered at the borders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx

from intarsia.backends.onnxruntime.saved_model import attributes_of
from intarsia.graph.placeholder_ops import DOMAIN

_X, _SUM = 0, 3
_RANK = 3
_CONVOLUTION, _MAX_POOL = "WinogradVolume", "BlockedMaxPool"
_INTO, _OUT_OF = "ToBlocks", "FromBlocks"
_SAME = {"Relu", "Sigmoid", "Tanh", "LeakyRelu", "Elu"}
"""Operators that do not care in which order numbers lie."""


def block_volumes(graph: onnx.GraphProto, block: int) -> None:
    """Give every convolution of ours over a volume its blocks."""
    if any(_is_ours(node) for node in graph.node):
        _Layouts(graph, block).assign()


class _Layouts:
    """The graph that is being written, and how each of its values lies."""

    def __init__(self, graph: onnx.GraphProto, block: int) -> None:
        self._graph = graph
        self._block = block
        self._written: list[onnx.NodeProto] = []
        self._constants = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
        self._channels = {node.output[0]: _channels(node, self._constants) for node in graph.node}
        self._blocked: dict[str, str] = {}
        self._plain = {value.name for value in (*graph.input, *graph.initializer)}
        self._taken = self._plain | {name for node in graph.node for name in node.output}

    def assign(self) -> None:
        """Write each node anew, in blocks or plain, with what reorders its inputs before it."""
        for node in self._graph.node:
            self._infer(node)
            if self._wants_blocks(node):
                self._write_blocked(node)
            else:
                self._read_plain(node)
                self._written.append(node)
                self._plain.update(node.output)
        for value in self._graph.output:
            self._unpack(value.name)
        del self._graph.node[:]
        self._graph.node.extend(self._written)

    def _infer(self, node: onnx.NodeProto) -> None:
        """How many channels a value has that no weights tell: the sum of those that are joined, or the same."""
        counts = [self._channels.get(name, 0) for name in node.input]
        if _joins_channels(node) and all(counts):
            self._channels[node.output[0]] = sum(counts)
        elif counts and (node.op_type in _SAME or node.op_type in {"MaxPool", "Add"}) and not node.domain:
            self._channels[node.output[0]] = counts[0]

    def _wants_blocks(self, node: onnx.NodeProto) -> bool:
        """Whether a node computes in blocks: ours always, others where that saves reordering."""
        if _is_ours(node):
            return True
        blocked = [name in self._blocked for name in node.input]
        fit = all(self._channels.get(name, 0) and self._channels[name] % self._block == 0 for name in node.input)
        if node.domain or not fit:
            return False
        if _joins_channels(node):
            return any(blocked)
        same = node.op_type in _SAME or _pools_in_blocks(node)
        return all(blocked) and (same or (node.op_type == "Add" and self._are_alike(node.input)))

    def _are_alike(self, names: Sequence[str]) -> bool:
        """Two values in blocks have as many dimensions; with as many channels only sizes may be spread, as in plain."""
        return len({self._channels[name] for name in names}) == 1

    def _write_blocked(self, node: onnx.NodeProto) -> None:
        for at in range(len(node.input)):
            if not _is_ours(node) or at in {_X, _SUM}:
                node.input[at] = self._pack(node.input[at])
        if node.op_type == "MaxPool":
            _own_pool(node)
        name = node.output[0]
        self._blocked[name] = node.output[0] = self._fresh(f"{name}/blocks")
        self._written.append(node)

    def _pack(self, name: str) -> str:
        if name and name not in self._blocked:
            self._blocked[name] = self._reordered(_INTO, name, self._fresh(f"{name}/blocks"))
        return self._blocked[name] if name else ""

    def _unpack(self, name: str) -> None:
        if name in self._blocked and name not in self._plain:
            self._plain.add(self._reordered(_OUT_OF, self._blocked[name], name))

    def _read_plain(self, node: onnx.NodeProto) -> None:
        for name in _read(node):
            self._unpack(name)

    def _reordered(self, op_type: str, name: str, to: str) -> str:
        self._written.append(onnx.helper.make_node(op_type, [name], [to], name=f"{to}/order", domain=DOMAIN))
        return to

    def _fresh(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def _is_ours(node: onnx.NodeProto) -> bool:
    return (node.domain, node.op_type) == (DOMAIN, _CONVOLUTION)


def _joins_channels(node: onnx.NodeProto) -> bool:
    return (node.domain, node.op_type) == ("", "Concat") and attributes_of(node)["axis"] == 1


def _channels(node: onnx.NodeProto, constants: Mapping[str, tuple[int, ...]]) -> int:
    """Of the volume that a node with weights gives; 0 if that is unknown."""
    weights = constants.get(node.input[1], ()) if len(node.input) > 1 else ()
    if len(weights) != _RANK + 2:
        return 0
    if node.op_type in {"Conv", "FusedConv", _CONVOLUTION}:
        return weights[0]
    return int(weights[1] * attributes_of(node).get("group", 1)) if node.op_type == "ConvTranspose" else 0


def _pools_in_blocks(node: onnx.NodeProto) -> bool:
    """Whether our pooling computes what this node does: the largest value, in windows whose number is rounded down."""
    if node.op_type != "MaxPool" or len(node.output) > 1:
        return False
    stated = attributes_of(node)
    return (
        len(stated["kernel_shape"]) == _RANK
        and not stated.get("ceil_mode", 0)
        and set(stated.get("dilations") or (1,)) == {1}
        and stated.get("auto_pad", "NOTSET") in {"NOTSET", "VALID"}
    )


def _own_pool(node: onnx.NodeProto) -> None:
    stated = attributes_of(node)
    window = stated["kernel_shape"]
    strides = stated.get("strides") or (1,) * len(window)
    pads = stated.get("pads") if stated.get("auto_pad", "NOTSET") == "NOTSET" else None
    numbers = {"kernel_shape": window, "strides": strides, "pads": pads or (0,) * 2 * len(window)}
    node.domain, node.op_type = DOMAIN, _MAX_POOL
    del node.attribute[:]
    node.attribute.extend(onnx.helper.make_attribute(name, value) for name, value in numbers.items())


def _read(node: onnx.NodeProto) -> list[str]:
    """What a node reads, in its bodies as well."""
    names = [*node.input]
    for attribute in node.attribute:
        for body in (attribute.g, *attribute.graphs):
            names += [name for inner in body.node for name in _read(inner)]
            names += [value.name for value in body.output]
    return names
