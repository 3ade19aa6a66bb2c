"""The convolutions that are computed by kernels of our own, one file a kernel; `native` holds what they compute.

A kernel's file says which convolutions it takes. `substitution` puts its operator in their place, and the engine
`winograd` refuses a graph for which none of them has anything to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from intarsia.backends.onnxruntime.kernels import (
    direct,
    few_inputs,
    few_outputs,
    narrow_groups,
    pointwise,
    transposed,
    winograd_3x3,
    winograd_5x5,
    winograd_volume,
    winograd_volume_5x5,
)
from intarsia.backends.onnxruntime.kernels.convolution import TRANSPOSED, Convolution, described
from intarsia.backends.onnxruntime.kernels.kernel import HOST, OURS, Kernel, tile_of

__all__ = [
    "HOST",
    "KERNELS",
    "OURS",
    "PACKING",
    "TRANSPOSED",
    "Convolution",
    "Kernel",
    "described",
    "kernel_of",
    "tile_of",
]

KERNELS: tuple[Kernel, ...] = (
    few_outputs.KERNEL,
    narrow_groups.KERNEL,
    pointwise.KERNEL,
    winograd_3x3.KERNEL,
    winograd_5x5.KERNEL,
    winograd_volume.KERNEL,
    winograd_volume_5x5.KERNEL,
    *direct.KERNELS,
    *few_inputs.KERNELS,
    *transposed.KERNELS,
    direct.PICTURE,
)
"""All of them; of two that take a convolution the first has it."""

PACKING: Mapping[str, Kernel] = MappingProxyType({each.operator: each for each in KERNELS if each.packs})
"""Those that have values put in blocks for them, by operator."""


def kernel_of(convolution: Convolution, block: int) -> Kernel | None:
    """The kernel that computes a convolution in blocks of so many channels, if one does."""
    return next((each for each in KERNELS if each.takes(convolution, block)), None)
