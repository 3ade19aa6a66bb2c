"""Filters of 5x5 in height and width, of any depth: as `winograd_volume`."""

from __future__ import annotations

from intarsia.backends.onnxruntime.kernels.kernel import winograd

KERNEL = winograd("WinogradVolume5x5", (None, 5, 5))
