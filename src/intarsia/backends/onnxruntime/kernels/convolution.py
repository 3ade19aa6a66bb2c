"""What a kernel looks at in a convolution, however that is written: as ONNX has it, or as ONNX Runtime fused it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

TRANSPOSED = "ConvTranspose"
"""The operator of transposed convolutions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Convolution:
    """A convolution with weights of known shape.

    Attributes:
        taps: Of the filter, along each dimension.
        channels: In and out, of one group.
        groups: In how many groups the channels are.
        pads: Rows of zeros in front along each dimension, then behind; of a transposed convolution rows that are left
            out of the result. ``None`` if that is unknown.
        strides: From one place of the filter to the next, along each dimension.
        dilations: From one tap to the next.
        is_transposed: Whether each pixel is spread over the taps.
        extra: Rows behind the result of a transposed convolution.
    """

    taps: tuple[int, ...]
    channels: tuple[int, int]
    groups: int
    pads: tuple[int, ...] | None
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    is_transposed: bool = False
    extra: tuple[int, ...] = ()

    @property
    def is_dense(self) -> bool:
        """Whether the filter is put at every place, and its taps lie side by side."""
        return {*self.strides, *self.dilations} == {1} and not self.is_transposed


def described(
    weights: Sequence[int], attributes: Mapping[str, Any], *, is_transposed: bool = False
) -> Convolution | None:
    """The convolution with weights of a shape and these attributes; ``None`` if the shape is none of weights."""
    groups = attributes.get("group", 1)
    if len(weights) < 3 or not all(isinstance(size, int) for size in weights) or weights[0] % groups:
        return None
    taps = tuple(weights[2:])
    ones = (1,) * len(taps)
    strides, dilations = (tuple(attributes.get(name) or ones) for name in ("strides", "dilations"))
    by_group = weights[0] // groups
    pads = _pads(tuple((tap - 1) * each for tap, each in zip(taps, dilations, strict=True)), strides, attributes)
    if is_transposed and (attributes.get("auto_pad", "NOTSET") not in _STATED or attributes.get("output_shape")):
        pads = None
    return Convolution(
        taps=taps,
        channels=(by_group, weights[1]) if is_transposed else (weights[1], by_group),
        groups=groups,
        pads=pads,
        strides=strides,
        dilations=dilations,
        is_transposed=is_transposed,
        extra=tuple(attributes.get("output_padding") or ()),
    )


_STATED = ("NOTSET", "")


def _pads(reach: tuple[int, ...], strides: tuple[int, ...], attributes: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Of a filter that reaches so far from its first tap. With steps, `SAME` depends on the size of the image."""
    none = (0,) * len(reach)
    less, more = tuple(size // 2 for size in reach), tuple((size + 1) // 2 for size in reach)
    is_same = set(strides) == {1}
    match attributes.get("auto_pad", "NOTSET"):
        case mode if mode in _STATED:
            return tuple(attributes.get("pads") or none * 2)
        case "VALID":
            return none * 2
        case "SAME_UPPER" if is_same:
            return less + more
        case "SAME_LOWER" if is_same:
            return more + less
        case _:
            return None
