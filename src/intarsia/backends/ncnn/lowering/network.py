"""A sub-graph as an ncnn network: the param text, the order of its weight blocks, and its borders."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from intarsia.backends.ncnn.lowering.builder import Builder, blob_shape, shape_params
from intarsia.backends.ncnn.lowering.fusion import fuse
from intarsia.backends.ncnn.lowering.layer import Block, Layer, Parameter, Refused, Shape
from intarsia.backends.ncnn.lowering.operators import LOWERINGS

if TYPE_CHECKING:
    from intarsia.graph import Graph, Node, SubModel

_MAGIC = 7767517
_ARRAY_KEY = -23300
_CHANNEL_FLOATS = 4
"""A channel of a blob starts at a multiple of this many floats."""
_READ_ONLY = frozenset({"Convolution", "ConvolutionDepthWise", "Pooling"})
"""Layers that were seen to read memory that is not ncnn's own without writing to it or reading past its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Border:
    """A value that enters or leaves the network.

    Attributes:
        name: The value's name in the graph.
        shape: Its shape in the graph.
        blob: Its blob.
        blob_shape: The shape without the batch.
        shared: For an input: its array may be handed over where it lies. ncnn crashes when a layer that works in
            place is given memory that ncnn did not allocate.
    """

    name: str
    shape: Shape
    blob: str
    blob_shape: Shape
    shared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """What ncnn loads: ``param`` is the text of a param file, ``blocks`` the weight stream in order."""

    param: str
    blocks: tuple[Block, ...]
    inputs: tuple[Border, ...]
    outputs: tuple[Border, ...]


def refusal(node: Node, graph: Graph) -> str | None:
    """Why a node is not taken: the reason its own lowering gives."""
    if node.domain not in ("", "ai.onnx"):
        return f"ncnn has no operators of domain {node.domain}"
    lowering = LOWERINGS.get(node.op_type)
    if lowering is None:
        return f"{node.op_type} has no lowering to ncnn"
    build = Builder(graph)
    try:
        for name in node.reads:  # each may have to be fed, even those that the layers leave unread
            if not build.is_constant(name):
                blob_shape(build.shape(name))
        lowering(build, node)
    except Refused as refused:
        return str(refused)
    return None


def lower(model: SubModel) -> Network:
    """Translate a sub-graph whose nodes were all accepted.

    Raises:
        Refused: A node was not accepted.
    """
    build = Builder(model.graph)
    fed = {value.name: build.input(value.name) for value in model.inputs}
    for node in model.nodes:
        LOWERINGS[node.op_type](build, node)
    layers, made = fuse(build, {value.name: build.blobs[value.name] for value in model.outputs})
    entries = [
        Layer(type="Input", inputs=(), outputs=(blob,), params=shape_params(build.shapes[blob]))
        for blob in fed.values()
    ]
    lines, extracted = _with_splits([*entries, *layers], made)
    names = _BlobNames()
    return Network(
        param=_render(lines, names),
        blocks=tuple(block for layer in layers for block in layer.blocks),
        inputs=tuple(
            _border(build, name, blob, names[blob], shared=_is_shared(build, blob, lines)) for name, blob in fed.items()
        ),
        outputs=tuple(_border(build, name, made[name], names[extracted[name]]) for name in made),
    )


def _border(build: Builder, name: str, blob: str, rendered: str, *, shared: bool = False) -> Border:
    return Border(name=name, shape=build.shape(name), blob=rendered, blob_shape=build.shapes[blob], shared=shared)


def _is_shared(build: Builder, blob: str, layers: Iterable[Layer]) -> bool:
    """Only where ncnn's channels would have no padding either: some layers assume it when they cut channels out."""
    plane = math.prod(build.shapes[blob][1:])
    return plane % _CHANNEL_FLOATS == 0 and all(layer.type in _READ_ONLY for layer in layers if blob in layer.inputs)


def _with_splits(layers: Sequence[Layer], outputs: Mapping[str, str]) -> tuple[list[Layer], dict[str, str]]:
    """Give every reader a blob of its own, as param files want it.

    An output that is read inside too gets one as well: ncnn drops a blob once its readers have run. So does an input
    that is an output.
    """
    readers = Counter(blob for layer in layers for blob in layer.inputs) + Counter(outputs.values())
    fed = {layer.outputs[0] for layer in layers if layer.type == "Input"}
    spare: dict[str, Iterator[str]] = {}
    lines: list[Layer] = []
    for layer in layers:
        inputs = tuple(next(spare[blob]) if blob in spare else blob for blob in layer.inputs)
        lines.append(replace(layer, inputs=inputs))
        for blob in layer.outputs:
            if readers[blob] > 1 or (blob in fed and blob in outputs.values()):
                copies = tuple(f"{blob}/{index}" for index in range(readers[blob]))
                lines.append(Layer(type="Split", inputs=(blob,), outputs=copies))
                spare[blob] = iter(copies)
    extracted = {name: next(spare[blob]) if blob in spare else blob for name, blob in outputs.items()}
    return lines, extracted


class _BlobNames(dict[str, str]):
    """Short names without blanks, in order of first use: a param file's names are words."""

    def __missing__(self, blob: str) -> str:
        self[blob] = f"b{len(self)}"
        return self[blob]


def _render(layers: Sequence[Layer], names: _BlobNames) -> str:
    count = sum(len(layer.outputs) for layer in layers)
    lines = [str(_MAGIC), f"{len(layers)} {count}"]
    for index, layer in enumerate(layers):
        words = [layer.type, f"l{index}", str(len(layer.inputs)), str(len(layer.outputs))]
        words += [names[blob] for blob in (*layer.inputs, *layer.outputs)]
        words += [_parameter(key, value) for key, value in layer.params.items()]
        lines.append(" ".join(words))
    return "\n".join(lines) + "\n"


def _parameter(key: int, value: Parameter) -> str:
    if isinstance(value, tuple):
        return ",".join((f"{_ARRAY_KEY - key}={len(value)}", *map(_number, value)))
    return f"{key}={_number(value)}"


def _number(value: float) -> str:
    """A number as ncnn reads it: one with a point or an exponent is a float."""
    if isinstance(value, int):
        return str(value)
    text = f"{np.float32(value):.9g}"
    return text if "." in text or "e" in text else f"{text}.0"
