"""What a script for ONNX Runtime sets on a session or a run: what has a meaning, what does no harm, what is refused."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, ClassVar

from intarsia.errors import ConfigError, UnsupportedError
from intarsia.interop.refusal import refuse_absent

_HINTS = (
    "session.dynamic_block_base",
    "session.force_spinning_stop",
    "session.inter_op.",
    "session.intra_op.",
    "session.disable_prepacking",
    "session.use_device_allocator_for_initializers",
    "session.use_env_allocators",
    "session.load_model_format",
)
"""Entries of a session's configuration that only say how ONNX Runtime should save time or memory."""


class GraphOptimizationLevel(IntEnum):
    """Taken and without effect: each engine optimises as it measured fastest."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(IntEnum):
    """Taken and without effect: branches run at one time where that was measured to win."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(IntEnum):
    """Taken and without effect: the plan has its order."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


class _Options:
    """Fields of its own, and no others: what is not one is refused when it is set or asked for."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dataclass_fields__:
            raise refuse_absent(type(self).__name__, name, dir(type(self)))
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        raise refuse_absent(type(self).__name__, name, dir(type(self)))


@dataclass(kw_only=True)
class SessionOptions(_Options):
    """The settings of a session.

    Of meaning here are ``intra_op_num_threads`` (0 for as many as the process may use), ``enable_profiling`` with
    ``profile_file_prefix``, `add_free_dimension_override_by_name`, `register_custom_ops_library` and `add_provider`.
    What tells ONNX Runtime how to save time or memory, and where to log, is taken and has no effect: the plan is
    measured. All else is refused with what to do instead.
    """

    enable_cpu_mem_arena: bool = True
    enable_mem_pattern: bool = True
    enable_mem_reuse: bool = True
    enable_profiling: bool = False
    execution_mode: ExecutionMode = ExecutionMode.ORT_SEQUENTIAL
    execution_order: ExecutionOrder = ExecutionOrder.DEFAULT
    graph_optimization_level: GraphOptimizationLevel = GraphOptimizationLevel.ORT_ENABLE_ALL
    inter_op_num_threads: int = 0
    intra_op_num_threads: int = 0
    log_severity_level: int = -1
    log_verbosity_level: int = 0
    logid: str = ""
    optimized_model_filepath: str = ""
    profile_file_prefix: str = "onnxruntime_profile_"
    use_deterministic_compute: bool = False
    use_per_session_threads: bool = True
    entries: dict[str, str] = field(default_factory=dict, init=False, repr=False)
    sizes: dict[str, int] = field(default_factory=dict, init=False, repr=False)
    libraries: list[str] = field(default_factory=list, init=False, repr=False)
    providers: dict[str, Mapping[str, Any]] = field(default_factory=dict, init=False, repr=False)

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Set an entry by its name; the session tells which it takes."""
        self.entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        """What was set; a `ConfigError` if nothing was."""
        return _entry(self.entries, key, "session")

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Bind a symbolic dimension of the model to a size."""
        self.sizes[name] = size

    def register_custom_ops_library(self, path: str | os.PathLike[str]) -> None:
        """Bring operators of a library's own; they run in ONNX Runtime, and the rest of the model is planned."""
        self.libraries.append(os.fspath(path))

    def add_provider(self, name: str, options: Mapping[str, Any] | None = None) -> None:
        """Add a provider, behind those that are added already."""
        self.providers[name] = options or {}

    def has_providers(self) -> bool:
        """Whether a provider was added."""
        return bool(self.providers)


@dataclass(kw_only=True)
class RunOptions(_Options):
    """The settings of a run.

    ``terminate`` is looked at when a run begins; one under way ends by itself. Logging, entries, and
    ``only_execute_path_to_fetches`` are taken and have no effect: every output is computed.
    """

    log_severity_level: int = -1
    log_verbosity_level: int = 0
    logid: str = ""
    only_execute_path_to_fetches: bool = False
    terminate: bool = False
    entries: dict[str, str] = field(default_factory=dict, init=False, repr=False)

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Set an entry by its name. All of them tell ONNX Runtime how to save time or memory; none has an effect."""
        self.entries[key] = value

    def get_run_config_entry(self, key: str) -> str:
        """What was set; a `ConfigError` if nothing was."""
        return _entry(self.entries, key, "run")


def check_session_options(options: SessionOptions) -> None:
    """Raise an `UnsupportedError` for what would change results or leave files, and cannot be done here."""
    if options.optimized_model_filepath:
        raise UnsupportedError(
            "optimized_model_filepath: no optimised model is written; session.model.save writes the compiled one, and "
            "`intarsia export` an engine's own files"
        )
    if options.use_deterministic_compute:
        raise UnsupportedError(
            "use_deterministic_compute: not every engine promises it; leave it off, and name one that does as target="
        )
    for key in options.entries:
        if not key.startswith(_HINTS):
            raise UnsupportedError(f"the session entry {key!r} has no meaning here; leave it out, or say it by target=")


def _entry(entries: Mapping[str, str], key: str, what: str) -> str:
    if key not in entries:
        raise ConfigError(f"no {what} entry {key!r} was set; there are {', '.join(entries) or 'none'}")
    return entries[key]
