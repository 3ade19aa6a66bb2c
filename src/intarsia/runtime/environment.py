"""Variables that engines read while their libraries load.

OpenMP reads its policy once, when the library is mapped: set later, the variable has no effect.
So they are set around the first import and put back afterwards; measuring workers are started with them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from intarsia.backends import registry
from intarsia.config.settings import RunSettings
from intarsia.errors import ConfigError

CORES = "INTARSIA_MEASURED_CORES"
"""Tells a process that measures how many cores the described machine has."""


def load_environment(engines: Iterable[str], settings: RunSettings) -> dict[str, str | None]:
    """What the engines' libraries must find, ``None`` for absent; a `ConfigError` where two want one to differ."""
    wanted: dict[str, str | None] = {}
    owner: dict[str, str] = {}
    for engine in sorted(set(engines)):
        for name, value in registry.get(engine, loading=True).environment(settings).items():
            if wanted.setdefault(name, value) != value:
                raise ConfigError(
                    f"{owner[name]} needs {name}={wanted[name]!r} and {engine} needs {name}={value!r}: "
                    "they cannot share one process"
                )
            owner.setdefault(name, engine)
    return wanted


def worker_environment(engines: Iterable[str], settings: RunSettings) -> dict[str, str | None]:
    """As `load_environment`, for a process that only measures: it passes itself off as the described machine."""
    wanted = load_environment(engines, settings)
    if settings.emulated is None:
        return wanted
    if settings.emulated.cores is not None:
        wanted[CORES] = str(settings.emulated.cores)
    most = settings.emulated.instruction_set
    if most is None:
        return wanted
    for engine in sorted(set(engines)):
        wanted |= registry.get(engine, loading=True).masking(most)
    return wanted


def bind_to_cores() -> None:
    """Bind this process to as many of its cores as `worker_environment` says, where it says so (Linux)."""
    count = os.environ.pop(CORES, "")
    if count.isdigit() and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(count)])


def merged(base: Mapping[str, str], wanted: Mapping[str, str | None]) -> dict[str, str]:
    """A process environment: ``base`` with the wanted variables set or removed."""
    kept = {name: value for name, value in base.items() if name not in wanted}
    return kept | {name: value for name, value in wanted.items() if value is not None}


@contextmanager
def applied(wanted: Mapping[str, str | None]) -> Iterator[None]:
    """Have the variables in place while engines are loaded, then put the process's own values back."""
    before = {name: os.environ.get(name) for name in wanted}
    _put(wanted)
    try:
        yield
    finally:
        _put(before)


def _put(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
