"""What a kernel looks at in a convolution, however that is written: as ONNX has it, or as ONNX Runtime fused it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Convolution:
    """A convolution with weights of known shape.

    Attributes:
        taps: Of the filter, along each dimension.
        channels: In and out, of one group.
        groups: In how many groups the channels are.
        is_dense: Whether the filter is put at every place, and its taps lie side by side.
        pads: Rows of zeros in front along each dimension, then behind; ``None`` if that is unknown.
    """

    taps: tuple[int, ...]
    channels: tuple[int, int]
    groups: int
    is_dense: bool
    pads: tuple[int, ...] | None


def described(weights: Sequence[int], attributes: Mapping[str, Any]) -> Convolution | None:
    """The convolution with weights of a shape and these attributes; ``None`` if the shape is none of weights."""
    groups = attributes.get("group", 1)
    if len(weights) < 3 or not all(isinstance(size, int) for size in weights) or weights[0] % groups:
        return None
    taps = tuple(weights[2:])
    is_dense = all(set(attributes.get(name) or (1,)) == {1} for name in ("strides", "dilations"))
    pads = _pads(taps, attributes) if is_dense else None
    channels = (weights[1], weights[0] // groups)
    return Convolution(taps=taps, channels=channels, groups=groups, is_dense=is_dense, pads=pads)


def _pads(taps: tuple[int, ...], attributes: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Of a dense convolution."""
    none = (0,) * len(taps)
    less, more = tuple((size - 1) // 2 for size in taps), tuple(size // 2 for size in taps)
    match attributes.get("auto_pad", "NOTSET"):
        case "NOTSET" | "":
            return tuple(attributes.get("pads") or none * 2)
        case "VALID":
            return none * 2
        case "SAME_UPPER":
            return less + more
        case "SAME_LOWER":
            return more + less
        case _:
            return None
