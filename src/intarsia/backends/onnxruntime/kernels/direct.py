"""Filters of any taps, steps and dilations over signals and volumes, which ONNX Runtime computes outside of blocks.

And over pictures in 16 bits.
"""

from __future__ import annotations

from intarsia.backends.onnxruntime.kernels.convolution import Convolution
from intarsia.backends.onnxruntime.kernels.kernel import Kernel, Obstacles

DIMENSIONS = {1: "Signal", 2: "Picture", 3: "Volume"}
"""What there is of so many sizes, besides images and channels."""


def direct(rank: int, *, is_transposed: bool = False, only_short: bool = False) -> Kernel:
    """A kernel for convolutions over so many sizes, in one group and with whole blocks of channels.

    Args:
        rank: How many sizes there are.
        is_transposed: Whether it takes transposed ones.
        only_short: Whether ONNX Runtime computes them in blocks as fast, but in 16 bits.
    """
    kind = f"{'transposed ' if is_transposed else ''}{rank}-dimensional"

    def obstacles(convolution: Convolution, block: int) -> Obstacles:
        is_ours = len(convolution.taps) == rank and convolution.groups == 1
        yield None if is_ours and convolution.is_transposed == is_transposed else ""
        ours = f"its {kind} convolutions"
        yield None if convolution.pads is not None else f"the padding of {ours} is unknown"
        between = " to ".join(map(str, convolution.channels))
        unblocked = f"the channels of {ours}, {between}, are no multiples of {block}"
        yield None if all(count % block == 0 for count in convolution.channels) else unblocked

    return Kernel(
        operator=f"{'Transposed' if is_transposed else 'Direct'}{DIMENSIONS[rank]}",
        filters=f"that is {kind}",
        obstacles=obstacles,
        packs=0 if only_short else rank + 2,
        is_transposed=is_transposed,
        is_usual=not only_short,
        has_short=True,
        only_short=only_short,
    )


KERNELS = tuple(direct(rank) for rank in (1, 3))
PICTURE = direct(2, only_short=True)
