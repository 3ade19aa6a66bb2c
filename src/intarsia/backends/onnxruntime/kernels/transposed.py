"""Transposed convolutions, each as the convolutions that its results a whole number of strides apart are."""

from __future__ import annotations

from intarsia.backends.onnxruntime.kernels.direct import DIMENSIONS, direct

KERNELS = tuple(direct(rank, is_transposed=True) for rank in DIMENSIONS)
