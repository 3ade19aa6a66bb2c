"""The interface of ``onnxruntime`` over compiled models: write ``import intarsia.onnxruntime as ort``, and no more.

What ONNX Runtime has and this module has not is refused with what to do instead; `docs/python.md` tells what is taken.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from intarsia.backends.onnxruntime.backend import OnnxRuntimeBackend
from intarsia.interop.binding import IOBinding
from intarsia.interop.nodes import ModelMetadata, NodeArg
from intarsia.interop.options import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions, SessionOptions
from intarsia.interop.providers import get_all_providers, get_available_providers
from intarsia.interop.refusal import refuse_absent
from intarsia.interop.session import InferenceSession
from intarsia.interop.values import OrtDevice, OrtValue
from intarsia.onnxruntime import capi
from intarsia.version import __version__ as _version

__all__ = [
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtDevice",
    "OrtValue",
    "RunOptions",
    "SessionIOBinding",
    "SessionOptions",
    "__intarsia_version__",
    "__version__",
    "capi",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_all_providers",
    "get_available_providers",
    "get_build_info",
    "get_device",
    "get_version_string",
    "has_collective_ops",
    "preload_dlls",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_seed",
]

INTERFACE_VERSION = "1.22.0"
"""The version of ONNX Runtime whose interface this is at least."""
__version__: str = OnnxRuntimeBackend().probe().version or INTERFACE_VERSION
"""Of the ONNX Runtime that is installed, for scripts that ask; where none is, the `INTERFACE_VERSION`."""
__intarsia_version__ = _version

SessionIOBinding = IOBinding


def get_device() -> str:
    """``CPU``: inputs and outputs are in the host's memory."""
    return "CPU"


def get_version_string() -> str:
    """As ``__version__``."""
    return __version__


def get_build_info() -> str:
    """What is behind the interface."""
    return f"Intarsia {_version}"


def has_collective_ops() -> bool:
    """Never."""
    return False


def preload_dlls(cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: str | None = None) -> None:
    """Without effect: engines load what they need."""


def set_default_logger_severity(severity: int) -> None:
    """Without effect: engines are quiet; Intarsia logs by ``logging``, under its own name."""


def set_default_logger_verbosity(verbosity: int) -> None:
    """Without effect, as `set_default_logger_severity`."""


def set_seed(seed: int) -> None:
    """Without effect: inference draws no random numbers."""


def enable_telemetry_events() -> None:
    """Without effect: nothing is ever sent."""


def disable_telemetry_events() -> None:
    """Without effect: nothing is ever sent."""


def __getattr__(name: str) -> Any:
    if name == "quantization":  # loaded by who asks for it: it is large, and ONNX Runtime's own
        return import_module(f"{__name__}.{name}")
    raise refuse_absent("intarsia.onnxruntime", name, __all__)
