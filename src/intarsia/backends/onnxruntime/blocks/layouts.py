"""Lets values stay in blocks of channels between operators that compute in them.

ONNX Runtime packs pictures into blocks around its own operators alone, and volumes never. Here a value that is in
blocks is read so wherever something of ours, or an operator to which the order is nothing, can; it is unpacked where
others read it. Where ONNX Runtime has no convolution on blocks and we have one, values are packed for that; signals and
volumes into blocks of our own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import onnx

from intarsia.backends.onnxruntime.blocks.blocked_nodes import (
    HOLDING,
    OURS,
    BlockedForm,
    Surroundings,
    blocked_form,
    rewritten,
)
from intarsia.backends.onnxruntime.kernels import PACKING, TRANSPOSED
from intarsia.backends.onnxruntime.saved_model import BLOCKED, attributes_of, reorders
from intarsia.graph.placeholder_ops import DOMAIN

_VOLUME, _PICTURE, _SIGNAL = 5, 4, 3
_OWN_INTO, _OWN_OUT_OF = ("ToBlocks", DOMAIN), ("FromBlocks", DOMAIN)
_INTO = {_VOLUME: _OWN_INTO, _PICTURE: ("ReorderInput", BLOCKED), _SIGNAL: _OWN_INTO}
_OUT_OF = {_VOLUME: _OWN_OUT_OF, _PICTURE: ("ReorderOutput", BLOCKED), _SIGNAL: _OWN_OUT_OF}
"""What packs and unpacks values of so many dimensions."""


def keep_in_blocks(
    graph: onnx.GraphProto, block: int, shapes: Mapping[str, tuple[int, ...]], plain: Collection[str] = ()
) -> tuple[tuple[str, str], ...]:
    """Keep values in blocks where that can be done.

    Args:
        graph: As ONNX Runtime saves it; it is changed.
        block: Channels of a block.
        shapes: Of values of the model that it was made of, where all sizes are known.
        plain: Values whose nodes stay as they are.

    Returns:
        The value that each node gave which an operator of ours computes now, and that operator.
    """
    pictures = any((node.domain, node.op_type) == (BLOCKED, "ReorderOutput") for node in graph.node)
    if not pictures and not any(map(_is_convolution, graph.node)):
        return ()
    return _Layouts(graph, block, shapes, plain).assign()


class _Layouts:
    """The graph that is being written, and how each of its values lies."""

    def __init__(
        self, graph: onnx.GraphProto, block: int, shapes: Mapping[str, tuple[int, ...]], kept: Collection[str]
    ) -> None:
        self._graph = graph
        self._block = block
        self._shapes = shapes
        self._kept = kept
        self._written: list[onnx.NodeProto] = []
        self._constants = {tensor.name: tensor for tensor in graph.initializer}
        self._channels = {node.output[0]: _channels_by_weights(node, self._constants) for node in graph.node}
        self._blocked: dict[str, str] = {}
        self._ranks: dict[str, int] = {}
        self._packed: dict[str, str] = {}
        self._plain = {value.name for value in (*graph.input, *graph.initializer)}
        self._taken = self._plain | {name for node in graph.node for name in node.output}
        self._results = {value.name for value in graph.output}
        self._readers = Counter(name for node in graph.node for name in _read(node))
        self._makers: dict[str, onnx.NodeProto] = {}
        self._ours: list[tuple[str, str]] = []

    def assign(self) -> tuple[tuple[str, str], ...]:
        """Write each node anew, in blocks or plain, with what reorders its inputs before it."""
        for node in self._graph.node:
            self._infer(node)
            if not self._is_taken_over(node) and not self._write_blocked(node):
                self._read_plain(node)
                self._written.append(node)
                self._plain.update(node.output)
        for value in self._graph.output:
            self._unpack(value.name)
        del self._graph.node[:]
        self._graph.node.extend(self._written)
        return tuple(self._ours)

    def _is_taken_over(self, node: onnx.NodeProto) -> bool:
        """Whether a node only changes a layout, which is done anew where somebody wants it."""
        if reorders(node, "ReorderOutput") and attributes_of(node)["channels"] % self._block == 0:
            name = node.output[0]
            self._note(name, node.input[0], _PICTURE)
            self._channels[name] = attributes_of(node)["channels"]
            return True
        if reorders(node, "ReorderInput") and node.input[0] in self._blocked:
            self._packed[node.output[0]] = self._blocked[node.input[0]]
            return True
        node.input[:] = [self._packed.get(name, name) for name in node.input]
        return False

    def _note(self, name: str, blocked: str, rank: int) -> None:
        self._blocked[name] = blocked
        self._ranks[name] = rank

    def _infer(self, node: onnx.NodeProto) -> None:
        """How many channels a value has that no weights tell: the sum of those that are joined, or the same."""
        form = blocked_form(node, self._around(node))
        if form is None or self._channels[node.output[0]]:
            return
        counts = [self._channels.get(node.input[at], 0) for at in form.reads]
        if form.channels:
            self._channels[node.output[0]] = form.channels
        elif all(counts):
            self._channels[node.output[0]] = sum(counts) if node.op_type == "Concat" else counts[0]

    def _around(self, node: onnx.NodeProto) -> Surroundings:
        rank = max((self._ranks.get(name, 0) for name in node.input), default=0)
        channels = self._channels.get(node.input[0], 0) if node.input else 0
        return Surroundings(
            constants=self._constants, shapes=self._shapes, rank=rank, channels=channels, block=self._block
        )

    def _write_blocked(self, node: onnx.NodeProto) -> bool:
        """Write a node in blocks, if that saves reordering."""
        around = self._around(node)
        form = blocked_form(node, around)
        if form is None or node.output[0] in self._kept or not self._pays(node, form):
            return False
        if self._is_held_before(node):
            return True
        rank = form.packs or around.rank
        inputs = [self._pack(name, rank) if at in form.reads else name for at, name in enumerate(node.input)]
        for at, name in enumerate(node.input):
            if at not in form.reads:
                self._unpack(name)
        name = node.output[0]
        self._note(name, self._fresh(f"{name}/blocks"), rank)
        made = rewritten(node, form, inputs, self._blocked[name])
        self._written.append(made)
        self._makers[self._blocked[name]] = made
        if form.op_type in OURS:
            self._ours.append((name, form.op_type))
        return True

    def _pays(self, node: onnx.NodeProto, form: BlockedForm) -> bool:
        if form.packs:
            return True
        names = [node.input[at] for at in form.reads]
        blocked = [name in self._blocked for name in names]
        if any(self._channels.get(name, 0) % self._block or not self._channels.get(name, 0) for name in names):
            return False
        return any(blocked) if node.op_type == "Concat" and self._joins_for_blocks(node) else all(blocked)

    def _joins_for_blocks(self, node: onnx.NodeProto) -> bool:
        """Whether some of what is joined is worth packing, as the whole is wanted in blocks."""
        rank = self._around(node).rank
        readers = [each for each in self._graph.node if node.output[0] in each.input]
        return rank in {_VOLUME, _SIGNAL} or (bool(readers) and all(reorders(each, "ReorderInput") for each in readers))

    def _is_held_before(self, node: onnx.NodeProto) -> bool:
        """Whether what comes before holds the values, so that a Relu has nothing left to do."""
        name = node.input[0]
        maker = self._makers.get(self._blocked.get(name, "")) if node.op_type == "Relu" else None
        is_ours = maker is not None and maker.domain == DOMAIN and maker.op_type in HOLDING
        if maker is None or not is_ours or self._readers[name] > 1 or name in self._results:
            return False
        low = next(each for each in maker.attribute if each.name == "low")
        low.f = max(low.f, 0.0)
        self._note(node.output[0], maker.output[0], self._ranks[name])
        return True

    def _pack(self, name: str, rank: int) -> str:
        if name not in self._blocked:
            self._note(name, self._reordered(_INTO[rank], name, self._fresh(f"{name}/blocks")), rank)
        return self._blocked[name]

    def _unpack(self, name: str) -> None:
        if name in self._blocked and name not in self._plain:
            rank = self._ranks[name]
            channels = {"channels": self._channels[name]} if rank == _PICTURE else {}
            self._plain.add(self._reordered(_OUT_OF[rank], self._blocked[name], name, channels))

    def _read_plain(self, node: onnx.NodeProto) -> None:
        for name in _read(node):
            self._unpack(name)

    def _reordered(self, op: tuple[str, str], name: str, to: str, attributes: Mapping[str, int] | None = None) -> str:
        op_type, domain = op
        node = onnx.helper.make_node(op_type, [name], [to], name=f"{to}/order", domain=domain)
        node.attribute.extend(onnx.helper.make_attribute(key, value) for key, value in (attributes or {}).items())
        self._written.append(node)
        return to

    def _fresh(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def _is_convolution(node: onnx.NodeProto) -> bool:
    return node.domain == DOMAIN and node.op_type in PACKING


def _channels_by_weights(node: onnx.NodeProto, constants: Mapping[str, onnx.TensorProto]) -> int:
    """Of the plain value that a node with weights gives; 0 if that is unknown."""
    weights = constants.get(node.input[1]) if len(node.input) > 1 else None
    if weights is None or len(weights.dims) < 3 or node.domain == BLOCKED:
        return 0
    kernel = PACKING.get(node.op_type)
    if node.op_type == TRANSPOSED or (kernel is not None and kernel.is_transposed):
        return int(weights.dims[1] * attributes_of(node).get("group", 1))
    return int(weights.dims[0]) if node.op_type in {"Conv", "FusedConv"} or kernel is not None else 0


def _read(node: onnx.NodeProto) -> Sequence[str]:
    """What a node reads, in its bodies as well."""
    names = [*node.input]
    for attribute in node.attribute:
        for body in (attribute.g, *attribute.graphs):
            names += [name for inner in body.node for name in _read(inner)]
            names += [value.name for value in body.output]
    return names
