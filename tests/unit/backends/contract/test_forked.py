"""Engines with threads of their own are refused in a fork of a process that had loaded them, and only there."""

from __future__ import annotations

from typing import ClassVar

import pytest

from intarsia.backends.contract import ForkFault
from intarsia.backends.contract.forked import LoadedLibraries
from intarsia.backends.reference import ReferenceBackend
from intarsia.errors import BackendUnavailableError


class Threaded(ReferenceBackend):
    name: ClassVar[str] = "threaded"
    fork_fault: ClassVar[ForkFault | None] = ForkFault(library="pool", evidence="a run waits for ever")


class Cousin(Threaded):
    name: ClassVar[str] = "cousin"


def test_what_was_not_loaded_before_may_be_loaded_in_a_fork() -> None:
    loaded = LoadedLibraries()
    loaded.note(ReferenceBackend())
    loaded.after_fork()
    loaded.note(Threaded())
    loaded.note(Threaded())


def test_what_was_loaded_before_is_refused_in_every_fork_and_every_engine_of_its_library_with_it() -> None:
    loaded = LoadedLibraries()
    loaded.note(Threaded())
    for _ in range(2):
        loaded.after_fork()
        for backend in (Threaded(), Cousin()):
            with pytest.raises(BackendUnavailableError, match="a run waits for ever; load the model after the fork"):
                loaded.note(backend)
        loaded.note(ReferenceBackend())
