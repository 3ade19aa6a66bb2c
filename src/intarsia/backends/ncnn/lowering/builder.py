"""Collects the layers that nodes are lowered to, and keeps the shape of every blob.

ncnn has no batch dimension: a value of shape (1, C, H, W) is a blob of shape (C, H, W). A leading dimension of 1 is
dropped from every value of rank two or more, other values keep all dimensions; ncnn's blobs have one to four.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from intarsia.backends.ncnn.lowering.layer import Block, Layer, Parameter, Refused, Shape

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node

MAX_RANK = 4
_RESHAPE_KEYS: Mapping[int, Shape] = {1: (0,), 2: (1, 0), 3: (2, 1, 0), 4: (2, 11, 1, 0)}
"""Parameter ids of a shape in row-major order, by rank: width 0, height 1, depth 11, channels 2."""


def blob_shape(shape: Shape) -> Shape:
    """The shape of the blob that holds a value.

    Raises:
        Refused: No blob can hold it.
    """
    kept = shape[1:] if drops_batch(shape) else shape
    if not kept:
        raise Refused("ncnn has no blob without dimensions")
    if len(kept) > MAX_RANK:
        raise Refused(f"ncnn's blobs have at most {MAX_RANK} dimensions without the batch, not {len(kept)}")
    if 0 in kept:
        raise Refused("ncnn has no empty blob")
    return kept


def drops_batch(shape: Shape) -> bool:
    """Whether the leading dimension is left out of the blob."""
    return len(shape) > 1 and shape[0] == 1


def shape_params(shape: Shape) -> dict[int, Parameter]:
    """A blob's shape as ``Reshape``, ``MemoryData`` and ``Input`` state it."""
    return dict(zip(_RESHAPE_KEYS[len(shape)], shape, strict=True))


class Builder:
    """Layers so far. Lowerings read values of the graph through it and bind the values they compute."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.layers: list[Layer] = []
        self.shapes: dict[str, Shape] = {}
        self.blobs: dict[str, str] = {}

    # What the graph says ------------------------------------------------------------------------------------------

    def shape(self, name: str) -> Shape:
        """The static shape of a value of the graph."""
        shape = self.graph.values[name].shape
        if shape is None:
            raise Refused(f"the shape of {name} is only known after it was computed")
        return shape

    def axis(self, name: str, axis: int) -> int:
        """Where an axis of a value lies in its blob."""
        shape = self.shape(name)
        axis += len(shape) if axis < 0 else 0
        if not drops_batch(shape):
            return axis
        if axis == 0:
            raise Refused("ncnn has no batch axis to work on")
        return axis - 1

    def is_constant(self, name: str) -> bool:
        """Whether the value is a weight of the graph."""
        return name in self.graph.weights

    def constant(self, name: str) -> np.ndarray:
        """A weight's values, to be read now: for the small ones that decide *how* a node is lowered."""
        if not self.is_constant(name):
            raise Refused(f"{name} is computed, and ncnn needs it when the network is written")
        return self.graph.weights[name].array()

    def optional(self, node: Node, index: int) -> str:
        """An input's name, or nothing where it is left out."""
        return node.inputs[index] if index < len(node.inputs) else ""

    def has_more_outputs(self, node: Node) -> bool:
        """Whether somebody wants an output after the first."""
        values = (self.graph.values[name] for name in node.outputs[1:] if name)
        return any(value.consumers or value.is_output for value in values)

    def weight(self, name: str) -> Block:
        """A block with a weight's own bytes."""
        self._check_weight(name)
        return Block(weight=name)

    def vector(self, name: str, size: int) -> np.ndarray:
        """A weight as ``size`` numbers in double precision, one number repeated."""
        self._check_weight(name)
        values = np.asarray(self.graph.weights[name].array(), np.float64).reshape(-1)
        return np.broadcast_to(values, (size,)) if values.size == 1 else values

    def _check_weight(self, name: str) -> None:
        if not self.is_constant(name):
            raise Refused(f"{name} is computed, and ncnn takes this operand only as a weight")
        dtype = self.graph.weights[name].dtype
        if dtype != "float32":
            raise Refused(f"the weight {name} is {dtype}, and ncnn computes in float32")

    # What is built ------------------------------------------------------------------------------------------------

    def input(self, name: str) -> str:
        """Make a value of the graph a blob that is fed from outside."""
        blob = f"Input:{len(self.blobs)}"
        self.shapes[blob] = blob_shape(self.shape(name))
        self.blobs[name] = blob
        return blob

    def blob(self, name: str, shape: Shape | None = None) -> str:
        """The blob of a value of the graph, seen in another shape if one is given. Weights become data layers."""
        wanted = blob_shape(self.shape(name)) if shape is None else shape
        if self.is_constant(name):
            return self.emit("MemoryData", (), wanted, shape_params(wanted), (self.weight(name),))
        blob = self.blobs.get(name) or self.input(name)
        return self.reshape(blob, wanted)

    def emit(
        self,
        kind: str,
        inputs: Sequence[str],
        shape: Shape,
        params: Mapping[int, Parameter] | None = None,
        blocks: Iterable[Block] = (),
    ) -> str:
        """Add a layer with one output; returns its blob."""
        return self.emit_many(kind, inputs, (shape,), params, blocks)[0]

    def emit_many(
        self,
        kind: str,
        inputs: Sequence[str],
        shapes: Sequence[Shape],
        params: Mapping[int, Parameter] | None = None,
        blocks: Iterable[Block] = (),
    ) -> tuple[str, ...]:
        """Add a layer; returns its blobs."""
        if params and not all(map(_is_finite, params.values())):
            raise Refused("ncnn's param files hold finite numbers only")
        made = {f"{kind}:{len(self.layers)}:{index}": shape for index, shape in enumerate(shapes)}
        self.shapes |= made
        outputs = tuple(made)
        layer = Layer(type=kind, inputs=tuple(inputs), outputs=outputs, params=params or {}, blocks=tuple(blocks))
        self.layers.append(layer)
        return outputs

    def reshape(self, blob: str, shape: Shape) -> str:
        """The same numbers in another shape; the blob itself where it has that shape."""
        if self.shapes[blob] == shape:
            return blob
        if math.prod(self.shapes[blob]) != math.prod(shape) or len(shape) > MAX_RANK:
            raise Refused(f"ncnn cannot see {self.shapes[blob]} as {shape}")
        return self.emit("Reshape", (blob,), shape, shape_params(shape))

    def bind(self, name: str, blob: str) -> None:
        """Say which blob holds a computed value of the graph."""
        self.blobs[name] = self.reshape(blob, blob_shape(self.shape(name)))


def _is_finite(value: Parameter) -> bool:
    return all(map(math.isfinite, value)) if isinstance(value, tuple) else math.isfinite(value)
