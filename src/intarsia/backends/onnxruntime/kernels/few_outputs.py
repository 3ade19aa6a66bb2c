"""Filters of any size for at most four output channels, such as the colours of a picture.

ONNX Runtime computes a whole block of channels for them, most of it empty.
"""

from __future__ import annotations

from intarsia.backends.onnxruntime.kernels.convolution import Convolution
from intarsia.backends.onnxruntime.kernels.kernel import Kernel, Obstacles

MOST = 4


def _obstacles(convolution: Convolution, block: int) -> Obstacles:
    channels_in, channels_out = convolution.channels
    is_ours = len(convolution.taps) == 2 and convolution.is_dense and convolution.groups == 1 and channels_out <= MOST
    yield None if is_ours else ""
    ours = f"its stride-1 convolutions to {channels_out} channels"
    yield None if convolution.pads is not None else f"the padding of {ours} is unknown"
    yield (
        None if channels_in % block == 0 else f"the {channels_in} channels that {ours} read are no multiple of {block}"
    )


KERNEL = Kernel(operator="FewOutputs", filters=f"to at most {MOST} channels", obstacles=_obstacles)
