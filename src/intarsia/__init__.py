"""The public names. Each is loaded on first use, so that ``import intarsia`` stays cheap and loads no engine."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from intarsia import errors

if TYPE_CHECKING:
    from intarsia.config import CompilationConfig
    from intarsia.driver import compile
    from intarsia.runtime import CompiledModel, load
    from intarsia.target import Target

__version__ = "0.1.0"

__all__ = ["CompilationConfig", "CompiledModel", "Target", "__version__", "compile", "errors", "load"]

_HOME = {
    "CompilationConfig": "intarsia.config",
    "CompiledModel": "intarsia.runtime",
    "Target": "intarsia.target",
    "compile": "intarsia.driver",
    "load": "intarsia.runtime",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
