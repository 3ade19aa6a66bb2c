"""Filters of 5x5, in tiles of 2x2 or 4x4 results: 9 of the 25 products of a direct convolution, or 4."""

from __future__ import annotations

from intarsia.backends.onnxruntime.kernels.kernel import winograd

KERNEL = winograd("Winograd5x5", (5, 5))
