"""ONNX Runtime's exceptions, which our errors are too where they leave a session; and classes found here as well."""

from __future__ import annotations

from typing import Any

from intarsia.interop.failures import THEIRS
from intarsia.interop.nodes import ModelMetadata, NodeArg
from intarsia.interop.options import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions, SessionOptions
from intarsia.interop.providers import get_all_providers, get_available_providers
from intarsia.interop.refusal import refuse_absent
from intarsia.interop.values import OrtDevice, OrtValue

globals().update(THEIRS)
__all__ = [
    *THEIRS,
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "ModelMetadata",
    "NodeArg",
    "OrtDevice",
    "OrtValue",
    "RunOptions",
    "SessionOptions",
    "get_all_providers",
    "get_available_providers",
]


def __getattr__(name: str) -> Any:
    raise refuse_absent(__name__, name, __all__)
