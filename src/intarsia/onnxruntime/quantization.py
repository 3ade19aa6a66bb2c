"""ONNX Runtime's own ``quantization``, where it is installed: what it writes is a model like any other."""

from __future__ import annotations

import sys
from types import ModuleType

from intarsia.errors import BackendUnavailableError


def _theirs() -> ModuleType:
    try:
        from onnxruntime import quantization
    except ImportError as error:
        raise BackendUnavailableError(
            f"{__name__} is ONNX Runtime's own, and that cannot be imported here ({error}): "
            "pip install 'intarsia[onnxruntime]'"
        ) from error
    module: ModuleType = quantization
    return module


def _stand_for(theirs: ModuleType) -> None:
    """Let this name, and the names below it, mean their modules, so that each class is there once."""
    for name, module in [*sys.modules.items()]:
        if name == theirs.__name__ or name.startswith(f"{theirs.__name__}."):
            sys.modules[f"{__name__}{name.removeprefix(theirs.__name__)}"] = module


_stand_for(_theirs())
