"""Writes a quantised network as a ``.tflite`` file, by the numbers of TensorFlow Lite's schema (version 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

TYPES: Mapping[str, int] = {"float32": 0, "int32": 2, "uint8": 3, "int8": 9}
"""``TensorType``."""
OPERATORS: Mapping[str, tuple[int, int, Mapping[str, tuple[int, str]]]] = {
    "ADD": (0, 11, {"activation": (0, "Int8")}),
    "AVERAGE_POOL_2D": (1, 5, {"padding": (0, "Int8"), "stride_w": (1, "Int32"), "stride_h": (2, "Int32"),
                               "filter_w": (3, "Int32"), "filter_h": (4, "Int32"), "activation": (5, "Int8")}),
    "CONV_2D": (3, 1, {"padding": (0, "Int8"), "stride_w": (1, "Int32"), "stride_h": (2, "Int32"),
                       "activation": (3, "Int8"), "dilation_w": (4, "Int32"), "dilation_h": (5, "Int32")}),
    "DEPTHWISE_CONV_2D": (4, 2, {"padding": (0, "Int8"), "stride_w": (1, "Int32"), "stride_h": (2, "Int32"),
                                 "multiplier": (3, "Int32"), "activation": (4, "Int8"), "dilation_w": (5, "Int32"),
                                 "dilation_h": (6, "Int32")}),
    "FULLY_CONNECTED": (9, 8, {"activation": (0, "Int8")}),
    "MAX_POOL_2D": (17, 5, {"padding": (0, "Int8"), "stride_w": (1, "Int32"), "stride_h": (2, "Int32"),
                            "filter_w": (3, "Int32"), "filter_h": (4, "Int32"), "activation": (5, "Int8")}),
    "MUL": (18, 21, {"activation": (0, "Int8")}),
    "PAD": (34, 22, {}),
    "RESHAPE": (22, 17, {}),
    "SOFTMAX": (25, 9, {"beta": (0, "Float32")}),
    "SUB": (41, 28, {"activation": (0, "Int8")}),
}  # fmt: skip
"""Of each operator ``BuiltinOperator``, ``BuiltinOptions``, and the slot and type of each option."""
_VERSIONS: Mapping[str, int] = {"CONV_2D": 3, "DEPTHWISE_CONV_2D": 3, "FULLY_CONNECTED": 4, "ADD": 2, "MUL": 2,
                                "SUB": 2, "SOFTMAX": 2, "MAX_POOL_2D": 2, "AVERAGE_POOL_2D": 2, "PAD": 2}  # fmt: skip
"""Versions that say that operands are int8."""
SAME, VALID = 0, 1
NONE, RELU = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tensor:
    """A tensor of the file.

    Attributes:
        name: As messages call it.
        shape: As it lies in memory.
        dtype: Element type.
        scales: One, or one for each slice; empty for none.
        zero: The code of 0.
        axis: Which dimension the slices are of.
        content: What it holds, of constants.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str = "int8"
    scales: tuple[float, ...] = ()
    zero: int = 0
    axis: int = 0
    content: np.ndarray | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """An operator, called as the schema spells it, with the numbers of its tensors."""

    name: str
    reads: tuple[int, ...]
    write: int
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """All that a file holds."""

    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def written(network: Network) -> bytes:
    """The file."""
    import flatbuffers

    b = flatbuffers.Builder(1 << 16)
    contents = [b"", *(each.content.tobytes() for each in network.tensors if each.content is not None)]
    buffers = [_table(b, {0: ("ref", _bytes(b, content))} if content else {}) for content in contents]
    tensors, number = [], 0
    for each in network.tensors:
        number += each.content is not None
        tensors.append(_tensor(b, each, number if each.content is not None else 0))
    kinds = list(dict.fromkeys(each.name for each in network.operators))
    operators = [_operator(b, each, kinds.index(each.name)) for each in network.operators]
    codes = [_code(b, name) for name in kinds]
    fields = {
        0: ("ref", _vector(b, tensors)),
        1: ("ref", _numbers(b, np.array(network.inputs, np.int32))),
        2: ("ref", _numbers(b, np.array(network.outputs, np.int32))),
        3: ("ref", _vector(b, operators)),
        4: ("ref", b.CreateString("main")),
    }
    graph = _table(b, fields)
    fields = {
        0: ("Uint32", 3),
        1: ("ref", _vector(b, codes)),
        2: ("ref", _vector(b, [graph])),
        3: ("ref", b.CreateString("intarsia")),
        4: ("ref", _vector(b, buffers)),
    }
    b.Finish(_table(b, fields), b"TFL3")
    return bytes(b.Output())


def _tensor(b: Any, each: Tensor, buffer: int) -> int:
    fields: dict[int, tuple[str, Any]] = {
        0: ("ref", _numbers(b, np.array(each.shape, np.int32))),
        1: ("Int8", TYPES[each.dtype]),
        2: ("Uint32", buffer),
        3: ("ref", b.CreateString(each.name)),
    }
    if each.scales:
        zeros = np.full(len(each.scales), each.zero, np.int64)
        quantised = {
            2: ("ref", _numbers(b, np.array(each.scales, np.float32))),
            3: ("ref", _numbers(b, zeros)),
            6: ("Int32", each.axis),
        }
        fields[4] = ("ref", _table(b, quantised))
    return _table(b, fields)


def _operator(b: Any, each: Operator, kind: int) -> int:
    _, group, slots = OPERATORS[each.name]
    attrs = {slots[name][0]: (slots[name][1], value) for name, value in each.options.items()}
    fields = {
        0: ("Uint32", kind),
        1: ("ref", _numbers(b, np.array(each.reads, np.int32))),
        2: ("ref", _numbers(b, np.array([each.write], np.int32))),
        3: ("Uint8", group),
        4: ("ref", _table(b, attrs)),
    }
    return _table(b, fields)


def _code(b: Any, name: str) -> int:
    number = OPERATORS[name][0]
    return _table(b, {0: ("Int8", number), 2: ("Int32", _VERSIONS.get(name, 1)), 3: ("Int32", number)})


def _table(b: Any, fields: Mapping[int, tuple[str, Any]]) -> int:
    """A table by its slots; what is 0 is not left out, since some defaults are not 0."""
    b.StartObject(max(fields, default=-1) + 1)
    b.ForceDefaults(True)
    for slot, (kind, value) in fields.items():
        if kind == "ref":
            b.PrependUOffsetTRelativeSlot(slot, value, 0)
        else:
            getattr(b, f"Prepend{kind}Slot")(slot, value, 0)
    return int(b.EndObject())


def _vector(b: Any, offsets: Sequence[int]) -> int:
    b.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        b.PrependUOffsetTRelative(offset)
    return int(b.EndVector())


def _numbers(b: Any, array: np.ndarray) -> int:
    return int(b.CreateNumpyVector(array))


def _bytes(b: Any, content: bytes) -> int:
    """A vector of bytes at a multiple of 16, as the schema wants buffers."""
    b.StartVector(1, len(content), 16)
    b.head = b.head - len(content)
    b.Bytes[b.head : b.head + len(content)] = content
    return int(b.EndVector())
