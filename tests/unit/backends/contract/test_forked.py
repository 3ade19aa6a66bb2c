"""Engines with threads of their own are refused in a fork of a process that had loaded them, and only there."""

from __future__ import annotations

from typing import ClassVar

import pytest

from intarsia.backends.contract import ForkFault
from intarsia.backends.contract.forked import LoadedLibraries
from intarsia.backends.reference import ReferenceBackend
from intarsia.errors import BackendUnavailableError
from intarsia.target import Target

HERE = Target("reference")


class Threaded(ReferenceBackend):
    name: ClassVar[str] = "threaded"
    fork_fault: ClassVar[ForkFault | None] = ForkFault(library="pool", evidence="a run waits for ever")


class OnOneDevice(ReferenceBackend):
    name: ClassVar[str] = "on-one-device"

    def fork_fault_on(self, target: Target) -> ForkFault | None:
        return ForkFault.of_threads("driver", "the driver's") if target.device_type == "opencl" else None


class Cousin(Threaded):
    name: ClassVar[str] = "cousin"


def test_what_was_not_loaded_before_may_be_loaded_in_a_fork() -> None:
    loaded = LoadedLibraries()
    loaded.note(ReferenceBackend(), HERE)
    loaded.after_fork()
    loaded.note(Threaded(), HERE)
    loaded.note(Threaded(), HERE)


def test_what_was_loaded_before_is_refused_in_every_fork_and_every_engine_of_its_library_with_it() -> None:
    loaded = LoadedLibraries()
    loaded.note(Threaded(), HERE)
    for _ in range(2):
        loaded.after_fork()
        for backend in (Threaded(), Cousin()):
            with pytest.raises(BackendUnavailableError, match="a run waits for ever; load the model after the fork"):
                loaded.note(backend, HERE)
        loaded.note(ReferenceBackend(), HERE)


def test_an_engine_may_have_the_fault_on_one_device_alone() -> None:
    loaded, there = LoadedLibraries(), Target("tinygrad -base=opencl")
    loaded.note(OnOneDevice(), there)
    loaded.after_fork()
    loaded.note(OnOneDevice(), HERE)
    with pytest.raises(BackendUnavailableError, match="waits for ever for the driver's threads"):
        loaded.note(OnOneDevice(), there)
