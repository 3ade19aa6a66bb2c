"""Filters of any taps, steps and dilations over signals and volumes, which ONNX Runtime computes outside of blocks.

And over pictures in 16 bits.
"""

from __future__ import annotations

from intarsia.backends.onnxruntime.kernels.convolution import Convolution
from intarsia.backends.onnxruntime.kernels.kernel import Kernel, Obstacles

_SIZES_OF_PICTURE = 2
DIMENSIONS = {1: "Signal", 2: "Picture", 3: "Volume"}
"""What there is of so many sizes, besides images and channels."""


def direct(rank: int, *, is_transposed: bool = False) -> Kernel:
    """A kernel for convolutions over so many sizes, in one group and with whole blocks of channels."""
    kind = f"{'transposed ' if is_transposed else ''}{rank}-dimensional"

    def obstacles(convolution: Convolution, block: int) -> Obstacles:
        is_ours = len(convolution.taps) == rank and convolution.groups == 1
        yield None if is_ours and convolution.is_transposed == is_transposed else ""
        ours = f"its {kind} convolutions"
        yield None if convolution.pads is not None else f"the padding of {ours} is unknown"
        between = " to ".join(map(str, convolution.channels))
        unblocked = f"the channels of {ours}, {between}, are no multiples of {block}"
        yield None if all(count % block == 0 for count in convolution.channels) else unblocked

    is_picture = rank == _SIZES_OF_PICTURE and not is_transposed
    return Kernel(
        operator=f"{'Transposed' if is_transposed else 'Direct'}{DIMENSIONS[rank]}",
        filters=f"that is {kind}",
        obstacles=obstacles,
        packs=0 if is_picture else rank + 2,
        is_transposed=is_transposed,
        is_usual=not is_picture,
        has_short=True,
        only_short=is_picture,
    )


KERNELS = tuple(direct(rank) for rank in (1, 3))
PICTURE = direct(_SIZES_OF_PICTURE)
"""In 16 bits alone: in floats ONNX Runtime's own kernel on blocks is as fast."""
