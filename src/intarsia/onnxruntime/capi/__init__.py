"""Where scripts import ONNX Runtime's exceptions and classes from, beside the package itself."""

from __future__ import annotations

from intarsia.onnxruntime.capi import onnxruntime_inference_collection, onnxruntime_pybind11_state

__all__ = ["onnxruntime_inference_collection", "onnxruntime_pybind11_state"]
