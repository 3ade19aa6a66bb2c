"""A 1x1 convolution and the depthwise one of 3x3 behind it, which one kernel computes.

It takes no single convolution, so it is not among the `KERNELS`.
"""

from __future__ import annotations

from intarsia.backends.onnxruntime.kernels.convolution import Convolution

_MOST_EDGE, _MOST_STEP = 2, 2
_TAPS = (3, 3)


def is_expansion(first: Convolution, second: Convolution, block: int) -> bool:
    """Whether our kernel computes the two."""
    is_pointwise = first.taps == (1, 1) and first.is_dense and first.groups == 1 and not any(first.pads or ())
    is_depthwise = second.taps == _TAPS and second.channels == (1, 1) and second.groups == first.channels[1]
    has_steps = max(second.strides) <= _MOST_STEP and set(second.dilations) == {1} and not second.is_transposed
    has_edges = second.pads is not None and max(second.pads) <= _MOST_EDGE
    return is_pointwise and is_depthwise and has_steps and has_edges and not any(n % block for n in first.channels)
