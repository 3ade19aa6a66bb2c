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
