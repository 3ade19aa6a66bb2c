"""A LiteRT network as a ``.tflite`` file, in two parts: its structure with small constants, and the weights behind it.

A buffer of the file says where its bytes lie behind the structure. So nothing is written anew when the weights come,
and files may be larger than what a flatbuffer can address.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from intarsia.backends.litert.builder import Operator, Tensor
from intarsia.backends.litert.network import Network

_ALIGNMENT = 64
_UNPLACED = 1 << 40
"""Stands for a place while the size of the structure is not known: not 0, which would take no room."""
_OPTIONS: Mapping[str, str] = {
    "ADD": "AddOptions", "ARG_MAX": "ArgMaxOptions", "ARG_MIN": "ArgMinOptions", "AVERAGE_POOL_2D": "Pool2DOptions",
    "BATCH_MATMUL": "BatchMatMulOptions", "CAST": "CastOptions", "CONCATENATION": "ConcatenationOptions",
    "CONV_2D": "Conv2DOptions", "CONV_3D": "Conv3DOptions", "CONV_3D_TRANSPOSE": "Conv3DOptions",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions", "DIV": "DivOptions",
    "FULLY_CONNECTED": "FullyConnectedOptions", "GATHER": "GatherOptions", "GELU": "GeluOptions",
    "LEAKY_RELU": "LeakyReluOptions", "MAX_POOL_2D": "Pool2DOptions", "MEAN": "ReducerOptions",
    "MUL": "MulOptions", "REDUCE_MAX": "ReducerOptions", "REDUCE_MIN": "ReducerOptions",
    "REDUCE_PROD": "ReducerOptions", "RESIZE_BILINEAR": "ResizeBilinearOptions", "SOFTMAX": "SoftmaxOptions",
    "STABLEHLO_SCATTER": "StablehloScatterOptions", "STRIDED_SLICE": "StridedSliceOptions", "SUB": "SubOptions",
    "SUM": "ReducerOptions", "TRANSPOSE_CONV": "TransposeConvOptions",
}  # fmt: skip
"""Tables of options; operators that are not named need none."""
_VERSIONS = {"BROADCAST_TO": 2}
"""Oldest versions that the interpreter knows, where that is not the first."""
_COMBINED = {
    "none": None, "add": "STABLEHLO_ADD", "mul": "STABLEHLO_MULTIPLY", "max": "STABLEHLO_MAXIMUM", "min":
    "STABLEHLO_MINIMUM",
}  # fmt: skip
"""What combines two elements in a scatter, by the name of the reduction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """What stands before the weights of a file, padded; and of each weight, in their order, which one it is, see
    `Tensor.weight`, and its size in bytes, padded.
    """

    content: bytes
    weights: tuple[tuple[str | int, int], ...]


def assembled(structure: Structure, weights: Mapping[str | int, np.ndarray]) -> bytes:
    """The whole file."""
    parts: list[Any] = [structure.content]
    for name, size in structure.weights:
        array = np.ascontiguousarray(weights[name]).reshape(-1).view(np.uint8)
        parts += [array.data, bytes(size - array.nbytes)]
    return b"".join(parts)


def structure_of(network: Network) -> Structure:
    """Write a network."""
    return _Writer(network).structure()


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _size(tensor: Tensor) -> int:
    from intarsia.graph.dtypes import numpy_dtype

    return prod(tensor.shape) * numpy_dtype(tensor.dtype).itemsize


class _Writer:
    """Fills the tables of the schema."""

    def __init__(self, network: Network) -> None:
        from ai_edge_litert import schema_py_generated as schema

        self._schema = schema
        self._network = network
        self._codes: dict[str, int] = {}
        self._buffers = [schema.BufferT()]
        self._held: list[str | int | None] = []
        """Of each buffer but the first, which weight it is; ``None`` for a constant."""
        self._constants: list[bytes] = []
        self._combined: dict[tuple[str, str], int] = {}
        self._graphs: list[Any] = []

    def structure(self) -> Structure:
        network, schema = self._network, self._schema
        main = schema.SubGraphT(
            tensors=[self._tensor(tensor) for tensor in network.tensors],
            inputs=list(network.inputs),
            outputs=list(dict.fromkeys(network.outputs)),
        )
        self._graphs.append(main)
        main.operators = [self._operator(each) for each in network.operators]
        model = schema.ModelT(version=3, subgraphs=self._graphs, buffers=self._buffers, description="intarsia")
        model.operatorCodes = [self._code(name) for name in self._codes]
        return self._placed(model)

    def _placed(self, model: Any) -> Structure:
        """With the place of each buffer: constants behind the tables, weights behind the constants."""
        start = _padded(len(_packed(model)))
        constants = [content + bytes(_padded(len(content)) - len(content)) for content in self._constants]
        here, behind = start, start + sum(map(len, constants))
        weights = []
        for key, buffer in zip(self._held, self._buffers[1:], strict=True):
            size = _padded(buffer.size)
            if key is None:
                buffer.offset, here = here, here + size
            else:
                buffer.offset, behind = behind, behind + size
                weights.append((key, size))
        tables = _packed(model)
        return Structure(content=b"".join([tables, bytes(start - len(tables)), *constants]), weights=tuple(weights))

    def _tensor(self, tensor: Tensor) -> Any:
        return self._schema.TensorT(
            shape=list(tensor.shape), type=self._type(tensor.dtype), buffer=self._buffer(tensor), hasRank=True
        )

    def _buffer(self, tensor: Tensor) -> int:
        """Number of the buffer that a tensor fills; 0 is the one of those that are computed."""
        if tensor.content is None and tensor.weight is None:
            return 0
        if tensor.content is not None:
            self._constants.append(tensor.content.tobytes())
        elif tensor.weight in self._held:
            return self._held.index(tensor.weight) + 1
        self._held.append(tensor.weight)
        self._buffers.append(self._schema.BufferT(offset=_UNPLACED, size=_size(tensor)))
        return len(self._held)

    def _type(self, dtype: str) -> int:
        return int(getattr(self._schema.TensorType, dtype.upper()))

    def _operator(self, each: Operator) -> Any:
        schema = self._schema
        written = schema.OperatorT(
            opcodeIndex=self._codes.setdefault(each.name, len(self._codes)),
            inputs=list(each.reads),
            outputs=list(each.writes),
        )
        if each.name not in _OPTIONS:
            return written
        options = getattr(schema, f"{_OPTIONS[each.name]}T")()
        for name, value in each.options.items():
            setattr(options, name, self._option(name, value, each))
        if each.name.startswith("STABLEHLO"):
            written.builtinOptions2Type = getattr(schema.BuiltinOptions2, _OPTIONS[each.name])
            written.builtinOptions2 = options
        else:
            written.builtinOptionsType = getattr(schema.BuiltinOptions, _OPTIONS[each.name])
            written.builtinOptions = options
        return written

    def _option(self, name: str, value: Any, each: Operator) -> Any:
        if name.endswith(("DataType", "outputType")):
            return self._type(value)
        if name == "updateComputationSubgraphIndex":
            return self._combining(value, self._network.tensors[each.writes[0]].dtype)
        return value

    def _combining(self, reduction: str, dtype: str) -> int:
        """The graph that combines two elements: the one that is there, and the one that comes."""
        key = (reduction, dtype)
        if key not in self._combined:
            schema, name = self._schema, _COMBINED[reduction]
            one = [schema.TensorT(shape=[], type=self._type(dtype), hasRank=True) for _ in range(3)]
            graph = schema.SubGraphT(tensors=one, inputs=[0, 1], outputs=[1 if name is None else 2], operators=[])
            if name is not None:
                number = self._codes.setdefault(name, len(self._codes))
                graph.operators = [schema.OperatorT(opcodeIndex=number, inputs=[0, 1], outputs=[2])]
            self._combined[key] = len(self._graphs)
            self._graphs.append(graph)
        return self._combined[key]

    def _code(self, name: str) -> Any:
        number = getattr(self._schema.BuiltinOperator, name)
        # Readers older than the wide field look at the narrow one, which holds numbers up to 127.
        version = _VERSIONS.get(name, 1)
        return self._schema.OperatorCodeT(builtinCode=number, deprecatedBuiltinCode=min(number, 127), version=version)


def _packed(model: Any) -> bytes:
    import flatbuffers

    builder = flatbuffers.Builder(1 << 16)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())
