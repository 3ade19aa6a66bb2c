"""Filters of 3x3 in groups of 2, 4 or 8 channels, with steps of 1 or 2: several groups share a block.

ONNX Runtime has no kernel on blocks for groups that are narrower than a block, and takes the values out of blocks.
"""

from __future__ import annotations

from intarsia.backends.onnxruntime.kernels.convolution import Convolution
from intarsia.backends.onnxruntime.kernels.kernel import Kernel, Obstacles

_WIDTHS = (2, 4, 8)
_LARGEST_STEP = 2


def _obstacles(convolution: Convolution, block: int) -> Obstacles:
    width, out = convolution.channels
    is_narrow = width == out in _WIDTHS and width < block and convolution.groups > 1
    is_ours = is_narrow and convolution.taps == (3, 3) and not convolution.is_transposed
    has_steps = max(convolution.strides) <= _LARGEST_STEP and set(convolution.dilations) == {1}
    yield None if is_ours and has_steps else ""
    ours = f"its 3x3 convolutions in groups of {width} channels"
    yield None if convolution.pads is not None else f"the padding of {ours} is unknown"
    channels = width * convolution.groups
    yield None if channels % block == 0 else f"the {channels} channels of {ours} are no multiple of {block}"


KERNEL = Kernel(
    operator="NarrowGroups", filters="of 3x3 in groups of 2, 4 or 8 channels", obstacles=_obstacles, packs=4
)
