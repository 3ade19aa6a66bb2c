"""Filters of 3x3, in tiles of 2x2 or 4x4 results: a quarter of the products of a direct convolution, or 4 of 9."""

from __future__ import annotations

from intarsia.backends.onnxruntime.kernels.kernel import winograd

KERNEL = winograd("Winograd3x3", (3, 3))
