"""Filters of 1x1: a product of pixels and weights, whose sums stay in registers over all channels.

ONNX Runtime's kernel is as fast on most layers. Ours is the usual one where it multiplies and shifts its input as well,
and in 16 bits.
"""

from __future__ import annotations

from intarsia.backends.onnxruntime.kernels.convolution import Convolution
from intarsia.backends.onnxruntime.kernels.kernel import Kernel, Obstacles


def _obstacles(convolution: Convolution, block: int) -> Obstacles:
    is_ours = convolution.taps == (1, 1) and convolution.is_dense and convolution.groups == 1
    yield None if is_ours and not any(convolution.pads or ()) else ""
    between = " to ".join(map(str, convolution.channels))
    unblocked = f"the channels of its 1x1 stride-1 convolutions, {between}, are no multiples of {block}"
    yield None if all(count % block == 0 for count in convolution.channels) else unblocked


KERNEL = Kernel(operator="Pointwise", filters="of 1x1", obstacles=_obstacles, is_usual=False, has_short=True)
