"""The parts of a graph: nodes, values and weights, as frozen data. `intarsia.graph.build` makes them from ONNX."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import onnx


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One operator application.

    Attributes:
        id: Unique in the graph; the node's own name where that is unique, else ``<op>_<index>``.
        index: Position in ``Graph.nodes``.
        domain: Operator domain; ``""`` is ONNX's own.
        inputs: Value names by position; ``""`` where an optional input is left out.
        outputs: Value names by position; ``""`` where an optional output is left out.
        reads: The names that must exist before it runs: inputs, then what nested graphs capture; each once.
        attributes: Attribute values: int, float, str, lists of them as tuples, tensors as arrays, nested graphs as
            ``onnx.GraphProto``.
        has_subgraph: Whether some attribute is a graph, as in ``If``, ``Loop`` and ``Scan``.
        metadata: The node's own key-value pairs. Not part of what it computes.
        proto: The node as ONNX writes it. Shared: never change it.
    """

    id: str
    index: int
    op_type: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    reads: tuple[str, ...]
    attributes: Mapping[str, Any] = field(compare=False)
    has_subgraph: bool
    metadata: Mapping[str, str] = field(compare=False)
    proto: onnx.NodeProto = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One value that flows between nodes.

    Attributes:
        name: Unique in the graph.
        dtype: numpy or ml_dtypes name, or ``"string"``; ``None`` where unknown, and for sequences and optionals.
        shape: ``None`` where the rank or some dimension is unknown.
        producer: Index of the node that computes it; ``None`` for inputs and weights.
        consumers: Indices of the nodes that read it, ascending.
        nbytes: Size in memory; 0 where unknown.
        type_proto: Its ONNX type, ``None`` where unknown. Shared: never change it.
    """

    name: str
    dtype: str | None
    shape: tuple[int, ...] | None
    producer: int | None
    consumers: tuple[int, ...]
    is_input: bool
    is_output: bool
    is_weight: bool
    nbytes: int
    type_proto: onnx.TypeProto | None = field(repr=False, compare=False)

    @property
    def rank(self) -> int | None:
        """Number of dimensions; ``None`` where unknown. Known for some values whose shape is not."""
        if self.shape is not None:
            return len(self.shape)
        if self.type_proto is None or not self.type_proto.tensor_type.HasField("shape"):
            return None
        return len(self.type_proto.tensor_type.shape.dim)


class Tensor(Protocol):
    """The source of a weight's content: an array in memory, a mapped file, or a file that is read on demand."""

    def numpy(self) -> np.ndarray:
        """Return the content, in the same memory at each call if possible."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """A constant. Its content stays where it is (usually a mapped file) until ``array`` asks for it.

    Attributes:
        dtype: numpy or ml_dtypes name, or ``"string"``.
        nbytes: Size in memory (sub-byte types count one byte per element, strings nothing).
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    source: Tensor = field(repr=False, compare=False)

    @classmethod
    def of(cls, name: str, array: np.ndarray) -> Weight:
        """Make a weight with this content, in memory."""
        return cls(
            name=name, dtype=array.dtype.name, shape=array.shape, nbytes=array.nbytes, source=ArrayTensor(content=array)
        )

    def array(self) -> np.ndarray:
        """The content. All users share it, so never write to it, though the array may be writeable."""
        array: np.ndarray = self.source.numpy()
        return array if array.flags.c_contiguous else np.ascontiguousarray(array).reshape(self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayTensor:
    """A `Tensor` in memory."""

    content: np.ndarray

    def numpy(self) -> np.ndarray:
        """The array itself."""
        return self.content


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedTensor:
    """A `Tensor` inside a mapped file, from `map_file`, that begins at ``offset``."""

    file: np.ndarray
    offset: int
    dtype: np.dtype
    shape: tuple[int, ...]

    def numpy(self) -> np.ndarray:
        """A view of the mapped bytes."""
        end = self.offset + prod(self.shape) * self.dtype.itemsize
        return self.file[self.offset : end].view(self.dtype).reshape(self.shape)


def map_file(path: str | Path) -> np.ndarray:
    """Map a file into memory: its pages are read when they are used.

    The array calls itself writeable, since some engines share no other kind, but nothing written reaches the file.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is empty.
    """
    return np.asarray(np.memmap(path, dtype=np.uint8, mode="c"))
