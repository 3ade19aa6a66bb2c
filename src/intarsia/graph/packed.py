"""Weights that a stored graph holds in few bits only, since nothing reads them in fp32 any more.

They are fp32 weights like others to all who read the graph; what they hold is what their blocks stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import onnx

from intarsia.errors import ModelError
from intarsia.graph.dtypes import elem_type_of
from intarsia.graph.parts import Weight
from intarsia.graph.quantise.blocks import BLOCK, Blocks, packed, unpacked

_BITS, _FLIPPED, _SCALES = "intarsia.bits", "intarsia.flipped", "intarsia.scales"
"""Keys of an initializer's external data, beside ONNX's own."""
_FLOAT = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where something is stored: an entry, and the offset in it."""

    location: str
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedTensor:
    """The source of a weight in few bits.

    Attributes:
        content: Packed codes (`packed`), a row for each column that a product gives.
        scales: Of each block.
        flipped: Whether the weight itself has a row for each of these columns.
    """

    content: np.ndarray
    scales: np.ndarray
    flipped: bool

    @classmethod
    def of(cls, weight: np.ndarray, bits: int, *, flipped: bool) -> PackedTensor:
        """The weight in so many bits, as `graph.quantise` writes it."""
        blocks = Blocks.of(weight.T if flipped else weight, bits)
        return cls(content=packed(blocks.codes), scales=np.ascontiguousarray(blocks.scales.T), flipped=flipped)

    @property
    def bits(self) -> int:
        """Bits of an element."""
        return 8 * int(self.content.shape[2]) // BLOCK

    def numpy(self) -> np.ndarray:
        """The fp32 numbers, made anew at each call."""
        rows = unpacked(self.content, self.scales)
        return rows if self.flipped else np.ascontiguousarray(rows.T)


def add_packed(model: onnx.ModelProto, weight: Weight, tensor: PackedTensor, content: Place, scales: Place) -> None:
    """Add a weight whose parts are at these places."""
    entry = model.graph.initializer.add(name=weight.name, data_type=elem_type_of(weight.dtype), dims=weight.shape)
    entry.data_location = onnx.TensorProto.EXTERNAL
    facts = {
        "location": content.location,
        "offset": content.offset,
        "length": tensor.content.nbytes,
        _BITS: tensor.bits,
        _FLIPPED: int(tensor.flipped),
        _SCALES: f"{scales.offset}@{scales.location}",
    }
    for key, value in facts.items():
        entry.external_data.add(key=key, value=str(value))


def read_packed(tensor: onnx.TensorProto, view: Callable[[Place, int], np.ndarray]) -> PackedTensor | None:
    """The source of a weight that `add_packed` wrote; ``None`` of any other.

    Args:
        tensor: The weight's entry.
        view: So many bytes at a place; a `ModelError` where there are not as many.

    Raises:
        ModelError: It is not as `add_packed` writes it.
    """
    facts: Mapping[str, str] = {each.key: each.value for each in tensor.external_data}
    if _BITS not in facts:
        return None
    bits, flipped = int(facts[_BITS]), int(facts[_FLIPPED])
    offset, _, location = facts[_SCALES].partition("@")
    dims = tuple(tensor.dims)
    is_sound = len(dims) == 2 and bits in (4, 6, 8, 10, 12) and flipped in (0, 1) and min(dims) > 0
    columns, length = (dims if flipped else dims[::-1]) if is_sound else (0, 1)
    if length % BLOCK:
        raise ModelError(f"the stored graph is damaged: the weight {tensor.name!r} is not in whole blocks")
    count = length // BLOCK
    content = view(Place(location=facts["location"], offset=int(facts["offset"])), columns * length * bits // 8)
    scales = view(Place(location=location, offset=int(offset)), columns * count * _FLOAT)
    return PackedTensor(
        content=content.reshape(columns, count, -1),
        scales=scales.view(np.float32).reshape(columns, count),
        flipped=bool(flipped),
    )
