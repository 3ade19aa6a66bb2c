"""The convolutions that are computed by kernels of our own, one file a kernel; `native` holds what they compute.

A kernel's file says which convolutions it takes. `substitution` puts its operator in their place, and the engine
`winograd` refuses a graph for which none of them has anything to do.
"""

from __future__ import annotations

from intarsia.backends.onnxruntime.kernels import few_outputs, pointwise, winograd_3x3, winograd_5x5, winograd_volume
from intarsia.backends.onnxruntime.kernels.convolution import Convolution, described
from intarsia.backends.onnxruntime.kernels.kernel import HOST, OURS, Kernel, tile_of

__all__ = ["HOST", "KERNELS", "OURS", "Convolution", "Kernel", "described", "kernel_of", "tile_of"]

KERNELS: tuple[Kernel, ...] = (
    few_outputs.KERNEL,
    pointwise.KERNEL,
    winograd_3x3.KERNEL,
    winograd_5x5.KERNEL,
    winograd_volume.KERNEL,
)
"""All of them; of two that take a convolution the first has it."""


def kernel_of(convolution: Convolution, block: int) -> Kernel | None:
    """The kernel that computes a convolution in blocks of so many channels, if one does."""
    return next((each for each in KERNELS if each.takes(convolution, block)), None)
