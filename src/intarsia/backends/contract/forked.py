"""Refuses to load an engine whose threads stayed in the process that this one was forked from."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from intarsia.backends.contract.backend import Backend
from intarsia.errors import BackendUnavailableError
from intarsia.forks import Forkable

if TYPE_CHECKING:
    from intarsia.target import Target

_CURE = (
    "load the model after the fork and not before it (with gunicorn: without --preload), or start processes by spawn "
    "or forkserver (multiprocessing.set_start_method)"
)


class LoadedLibraries(Forkable):
    """The libraries with threads of their own that were loaded here, and earlier in what this was forked from."""

    _ours: ClassVar[LoadedLibraries | None] = None

    def __init__(self) -> None:
        self.here: frozenset[str] = frozenset()
        self.earlier: frozenset[str] = frozenset()

    @classmethod
    def of_this_process(cls) -> LoadedLibraries:
        """Those of this process."""
        if cls._ours is None:
            cls._ours = cls()
        return cls._ours

    def after_fork(self) -> None:
        """What was loaded here now counts as loaded earlier."""
        self.earlier, self.here = self.earlier | self.here, frozenset()

    def note(self, backend: Backend, target: Target) -> None:
        """Records that an engine is about to be loaded for a target of its.

        Raises:
            BackendUnavailableError: It would hang, since its threads stayed in the process that this was forked from.
        """
        fault = backend.fork_fault_on(target)
        if fault is None:
            return
        if fault.library in self.earlier:
            raise BackendUnavailableError(
                f"{backend.name} cannot be used here: this process was forked from one that had loaded it, and "
                f"{fault.evidence}; {_CURE}"
            )
        self.here |= {fault.library}
