"""Filters of 3x3 in height and width, of any depth: Winograd's method in each slice, and the slices summed.

ONNX Runtime has no blocked layout for volumes; `blocks.layouts` lets such convolutions share one with what lies
between them.
"""

from __future__ import annotations

from intarsia.backends.onnxruntime.kernels.kernel import winograd

KERNEL = winograd("WinogradVolume", (None, 3, 3))
