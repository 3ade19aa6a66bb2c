"""Engines that a running program registered, by name: where a process finds their classes, and their kinds.

They stand in the environment, since processes that measure start anew: these inherit it, and import what it names.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from operator import attrgetter
from typing import Any

from intarsia.light_dataclass import dataclass

VARIABLE = "INTARSIA_ENGINES"
"""The variable of the environment: a list as JSON, an object for each engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """One engine.

    Attributes:
        name: Of the engine and of its kind.
        engine: Its class, as ``module:name``.
        kind: Its `TargetKind`, likewise.
        folder: Where the module is found, if nowhere else.
    """

    name: str
    engine: str
    kind: str
    folder: str


def registered() -> Iterator[Registered]:
    """The engines that this program, or the one that started it, registered."""
    with suppress(ValueError, TypeError):  # a variable that somebody else set names no engine
        for row in json.loads(os.environ.get(VARIABLE, "[]")):
            yield Registered(**row)


def add(engine: Registered) -> None:
    """Register an engine from now on, here and in processes that are started later; another of its name gives way."""
    rest = [each for each in registered() if each.name != engine.name]
    os.environ[VARIABLE] = json.dumps([asdict(each) for each in (*rest, engine)])


def remove(name: str) -> None:
    """Take an engine out again."""
    os.environ[VARIABLE] = json.dumps([asdict(each) for each in registered() if each.name != name])


def named(name: str) -> Registered | None:
    """The registered engine of that name, if there is one."""
    return next((each for each in registered() if each.name == name), None)


def found(reference: str, folder: str) -> Any:
    """What ``module:name`` refers to; whatever the import of the module raises goes through."""
    module, _, name = reference.partition(":")
    try:
        loaded = import_module(module)
    except ModuleNotFoundError:
        if folder in sys.path:
            raise
        sys.path.append(folder)
        loaded = import_module(module)
    return attrgetter(name)(loaded)
