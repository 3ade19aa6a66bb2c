"""The first convolution of a network over signals or volumes: its image has few channels, and is not in blocks."""

from __future__ import annotations

from intarsia.backends.onnxruntime.kernels.convolution import Convolution
from intarsia.backends.onnxruntime.kernels.direct import DIMENSIONS
from intarsia.backends.onnxruntime.kernels.kernel import Kernel, Obstacles

MOST = 4


def _kernel(rank: int) -> Kernel:
    def obstacles(convolution: Convolution, block: int) -> Obstacles:
        channels_in, channels_out = convolution.channels
        is_ours = len(convolution.taps) == rank and convolution.groups == 1 and not convolution.is_transposed
        yield None if is_ours and channels_in <= MOST else ""
        ours = f"its {rank}-dimensional convolutions of {channels_in} channels"
        yield None if convolution.pads is not None else f"the padding of {ours} is unknown"
        unblocked = f"the {channels_out} channels that {ours} give are no multiple of {block}"
        yield None if channels_out % block == 0 else unblocked

    return Kernel(
        operator=f"FewInputs{DIMENSIONS[rank]}",
        filters=f"that is {rank}-dimensional, of at most {MOST} channels",
        obstacles=obstacles,
        packs=rank + 2,
        reads_plain=True,
    )


KERNELS = tuple(_kernel(rank) for rank in (1, 3))
