"""Filters of 3x3, in tiles of 2x2, 4x4 or 6x6 results: 4 of the 9 products of a direct convolution, 2.3, or 1.8."""

from __future__ import annotations

from intarsia.backends.onnxruntime.kernels.kernel import winograd

KERNEL = winograd("Winograd3x3", (3, 3))
