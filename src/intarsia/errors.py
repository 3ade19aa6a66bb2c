"""The whole tree of errors.

Leaves are raised, branches are caught. Each class carries the exit code that the command line gives for it::

    IntarsiaError
    ├── InputError                  2   something the user handed us
    │   ├── SpecError                   a target or configuration text
    │   ├── ConfigError                 settings that contradict each other
    │   ├── ModelError                  missing, truncated, not ONNX, unbound dimension
    │   ├── FeedError                   wrong name, shape or dtype of a model input
    │   ├── OutputError                 a file that cannot be written
    │   ├── PlanError                   a partitioning that does not cover the graph once, in order
    │   ├── ArtifactError               damaged, or built for another machine or engine version
    │   ├── ClosedError                 a call of a model that was closed
    │   └── UnsupportedError            a part of another library's interface that is not offered here
    ├── BackendUnavailableError     3   an engine that is not installed or does not start
    │   └── MissingStageError           planned, but a stage that would compile or run the plan is missing here
    ├── BackendError                4   an engine that failed, with its name and stage
    │   ├── CompileError
    │   ├── LoadError
    │   ├── ExecutionError
    │   ├── BackendTimeoutError
    │   └── BackendCrashError
    ├── NoCoverError                4   no engine takes some node of the model
    ├── MemoryLimitError            4   no plan gets by with the memory that it may have
    ├── LatencyLimitError           4   no plan answers within the latency that it may have under load
    ├── DiskError                   4   a disk that is full, or fails
    ├── RemoteError                 4   a worker on another machine
    │   ├── WorkerTokenError        2       it refuses the token
    │   ├── WorkerVersionError      3       it is of another version
    │   ├── WorkerUnreachableError          no way leads to it, or the way was lost
    │   ├── WorkerDiedError                 its process ended in the middle of the work
    │   ├── WorkerTimeoutError              it is there, and does not answer in time
    │   ├── WorkerShutdownError             it was told to end
    │   └── MachineDiedError                a node of a cluster ended with a request in hand
    └── MismatchError               5   a result that differs from the reference

Beside it stands `Interrupted` (130), a ``KeyboardInterrupt``: whoever catches errors does not mean to catch it.
"""

from __future__ import annotations

from typing import Any, ClassVar


class IntarsiaError(Exception):
    """Root of every error that Intarsia raises on purpose."""

    exit_code: ClassVar[int] = 1


class InputError(IntarsiaError):
    """Something the user handed us is wrong; the message says what, where and what to do."""

    exit_code = 2


class SpecError(InputError, ValueError):
    """A target or configuration text that does not parse or validate."""


class ConfigError(InputError, ValueError):
    """Settings that are well formed but contradict each other."""


class ModelError(InputError, ValueError):
    """A model that cannot be read, or whose shapes are not bound."""


class FeedError(InputError, ValueError):
    """An input array whose name, shape or dtype the model does not have."""


class OutputError(InputError, OSError):
    """A file that cannot be written, for instance because its path is a folder."""


class PlanError(InputError, ValueError):
    """A partitioning that does not cover each node exactly once in a runnable order."""


class ArtifactError(InputError, ValueError):
    """An artifact that is damaged, or was built for another machine or engine version."""


class ClosedError(InputError, ValueError):
    """A call of a model that was closed, or a call from inside the model's own run."""


class UnsupportedError(InputError, AttributeError):
    """A part of another library's interface that Intarsia does not offer; the message says what to do instead."""


class BackendUnavailableError(IntarsiaError, ImportError):
    """An engine that is not installed or does not start here."""

    exit_code = 3


class MissingStageError(BackendUnavailableError):
    """The plan was made, but nothing on this machine can compile it.

    Attributes:
        plan: The text of the plan file.
        missing: What is missing, one sentence each.
        remarks: What else is to be known of the description, one sentence each.
    """

    def __init__(self, plan: str, missing: tuple[str, ...], remarks: tuple[str, ...] = ()) -> None:
        lines = ["planned, but this cannot be compiled here:", *(f"  {each}" for each in missing), *remarks]
        super().__init__("\n".join(lines))
        self.plan = plan
        self.missing = missing
        self.remarks = remarks


class BackendError(IntarsiaError, RuntimeError):
    """An engine failed. The first words of the message name the engine and the stage."""

    exit_code = 4
    stage: ClassVar[str] = "unknown"

    def __init__(self, backend: str, detail: str) -> None:
        super().__init__(f"{backend} failed at {self.stage}: {detail}")
        self.backend = backend
        self.detail = detail


class CompileError(BackendError):
    """An engine accepted a sub-graph and then failed to compile it."""

    stage = "compile"


class LoadError(BackendError):
    """An engine failed to load what it had compiled."""

    stage = "load"


class ExecutionError(BackendError):
    """An engine failed while it ran."""

    stage = "run"


class BackendTimeoutError(BackendError):
    """An engine did not answer within its time limit, and its process was ended."""

    stage = "timeout"


class BackendCrashError(BackendError):
    """An engine crashed, which ended its process."""

    stage = "crash"


class NoCoverError(IntarsiaError, RuntimeError):
    """No engine in the target list takes some node of the model."""

    exit_code = 4


class MemoryLimitError(IntarsiaError, MemoryError):
    """Every plan needs more memory than it may have."""

    exit_code = 4


class LatencyLimitError(IntarsiaError, TimeoutError):
    """No plan answers as soon as the user asks for, while all its instances are at work."""

    exit_code = 4


class DiskError(IntarsiaError, OSError):
    """A disk is full, or fails. The files that were there before are unchanged."""

    exit_code = 4


class RemoteError(IntarsiaError):
    """A worker on another machine cannot do what it is asked, for a reason that is not the model's or an engine's."""

    exit_code = 4


class WorkerTokenError(RemoteError, PermissionError):
    """A worker refuses the token that it was called with."""

    exit_code = 2


class WorkerVersionError(RemoteError, RuntimeError):
    """A worker is of another version than the caller, or what listens there is none."""

    exit_code = 3


class WorkerUnreachableError(RemoteError, ConnectionError):
    """No way leads to a worker, or the way was lost and did not come back in time."""


class WorkerDiedError(RemoteError, ChildProcessError):
    """The process of a worker, or the one that it compiled in, ended in the middle of the work."""


class WorkerTimeoutError(RemoteError, TimeoutError):
    """A worker can be reached, and does not answer in time."""


class WorkerShutdownError(RemoteError, BrokenPipeError):
    """A worker was told to end, and says so."""


class MachineDiedError(RemoteError, ChildProcessError):
    """A machine that is a node of a Ray cluster ended before it answered; nobody knows how far the request came."""


class MismatchError(IntarsiaError, ArithmeticError):
    """A result differs from the reference by more than its dtype allows."""

    exit_code = 5


class Interrupted(KeyboardInterrupt):
    """A compile was interrupted. What it had measured is in the record store, and the same call goes on from there.

    Attributes:
        best: The best plan so far, checked against the reference: a `CompiledModel`, which the one who catches this
            closes. ``None`` if no engine had been measured on the whole model yet, or a plan was asked for.
    """

    exit_code: ClassVar[int] = 130

    def __init__(self, best: Any = None) -> None:
        super().__init__("interrupted; what was measured is kept, and the same call goes on where this stopped")
        self.best = best
