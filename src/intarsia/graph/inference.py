"""The errors that graph libraries raise for a model that they cannot handle, and how to find the cause."""

from __future__ import annotations

import onnx
from google.protobuf.message import Error

INFERENCE_ERRORS = (
    onnx.checker.ValidationError,
    onnx.shape_inference.InferenceError,
    onnx.version_converter.ConvertError,
    Error,  # protobuf's: more than one message holds
    RuntimeError,
    ValueError,
)
_LONGEST = 400


def root_of(error: BaseException) -> str:
    """Return the message of the first error in a chain; the errors around it only list calls inside onnx_ir."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = str(error).strip().splitlines()
    line = lines[0].strip() if lines else type(error).__name__
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
