"""What a ``Pad`` node adds to the sizes of its input, as far as constants tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx

from intarsia.backends.onnxruntime.saved_model import attributes_of

_PADS, _VALUE, _AXES = 1, 2, 3
_BATCH_AND_CHANNELS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Padding:
    """Rows that are added to each size of a value [N, C, sizes].

    Attributes:
        mode: As ONNX names it.
        value: Of the rows, where the mode is ``constant``.
        before: For each size, how many rows in front of it.
        after: How many behind it.
    """

    mode: str
    value: float
    before: tuple[int, ...]
    after: tuple[int, ...]


def padding_of(pad: onnx.NodeProto, constants: Mapping[str, onnx.TensorProto], rank: int) -> Padding | None:
    """What a node adds to values of so many dimensions; ``None`` if that is unknown, or it does anything else too."""
    inputs = (*pad.input, "", "", "")
    held = [_numbers(constants.get(name)) if name else None for name in inputs[:4]]
    is_known = all(not name or held[at] is not None for at, name in enumerate(inputs[:4]) if at >= _PADS)
    pads, value, axes = held[_PADS], held[_VALUE], held[_AXES]
    if not is_known or pads is None:
        return None
    along = range(len(pads) // 2) if axes is None else [int(axis) % rank for axis in axes]
    before, after = ([0] * rank, [0] * rank)
    for place, axis in enumerate(along):
        before[axis], after[axis] = int(pads[place]), int(pads[place + len(pads) // 2])
    own = _BATCH_AND_CHANNELS
    if min(before + after) < 0 or any(before[:own] + after[:own]):
        return None
    return Padding(
        mode=attributes_of(pad).get("mode", "constant"),
        value=0.0 if value is None else float(value[0]),
        before=tuple(before[own:]),
        after=tuple(after[own:]),
    )


def _numbers(tensor: onnx.TensorProto | None) -> np.ndarray | None:
    if tensor is None or tensor.data_location == onnx.TensorProto.EXTERNAL:
        return None
    return onnx.numpy_helper.to_array(tensor).reshape(-1)
