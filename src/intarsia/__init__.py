"""The public names. Each is loaded on first use, so that ``import intarsia`` stays cheap and loads no engine."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from intarsia import errors
from intarsia.extras import compiling
from intarsia.version import __version__

if TYPE_CHECKING:
    from intarsia.backends.registration import register_engine
    from intarsia.config import CompilationConfig
    from intarsia.deploy.model import DeployedModel
    from intarsia.deploy.verbs import compile_deployment, load_deployment
    from intarsia.devices import Constraint
    from intarsia.driver import CompileSettings, build, compare, partition
    from intarsia.interop.session import InferenceSession
    from intarsia.interop.torch_compile import torch_backend
    from intarsia.partitioning import Partitioning
    from intarsia.remote.verbs import compile
    from intarsia.report.comparison import Comparison
    from intarsia.runtime import CompiledModel, load
    from intarsia.target import Target, VirtualDevice

__all__ = [
    "Comparison",
    "CompilationConfig",
    "CompileSettings",
    "CompiledModel",
    "Constraint",
    "DeployedModel",
    "InferenceSession",
    "Partitioning",
    "Target",
    "VirtualDevice",
    "__version__",
    "build",
    "compare",
    "compile",
    "compile_deployment",
    "errors",
    "load",
    "load_deployment",
    "partition",
    "register_engine",
    "torch_backend",
]

_HOME = {
    "Comparison": "intarsia.report.comparison",
    "CompilationConfig": "intarsia.config",
    "CompileSettings": "intarsia.driver",
    "CompiledModel": "intarsia.runtime",
    "Constraint": "intarsia.devices",
    "DeployedModel": "intarsia.deploy.model",
    "InferenceSession": "intarsia.interop.session",
    "Partitioning": "intarsia.partitioning",
    "Target": "intarsia.target",
    "VirtualDevice": "intarsia.target",
    "build": "intarsia.driver",
    "compare": "intarsia.driver",
    "compile": "intarsia.remote.verbs",
    "compile_deployment": "intarsia.deploy.verbs",
    "load": "intarsia.runtime",
    "load_deployment": "intarsia.deploy.verbs",
    "partition": "intarsia.driver",
    "register_engine": "intarsia.backends.registration",
    "torch_backend": "intarsia.interop.torch_compile",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with compiling(f"intarsia.{name}"):
        value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
