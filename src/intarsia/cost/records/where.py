"""Conditions on records, as ``--where target=…`` states them: what a record is of, and what it was made for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

from intarsia.config import CompilationConfig
from intarsia.cost.records.records_file import CONFIG, MODEL, machine_of
from intarsia.cost.records.store import Record
from intarsia.errors import ConfigError, SpecError
from intarsia.spec.problems import nearest
from intarsia.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One condition; `holds` says of which records it is true."""

    text: str
    holds: Callable[[Record], bool]


def parse_where(text: str) -> Condition:
    """Read ``FIELD=VALUE``.

    ``target``: a target that was measured, or that the record's configuration describes, states all that this one does.
    ``config``: the configuration is this one. ``engine``, ``model``, ``machine``, ``kind``: the name, ``*`` and ``?``
    stand for any; of a model only the file's name counts, and a machine has its fingerprint and its name.

    Raises:
        ConfigError: It is no condition.
        SpecError: The value is no target or configuration.
    """
    field, equals, value = text.partition("=")
    if not equals or not value:
        raise ConfigError(f"--where {text}: write FIELD=VALUE, such as target=aws/c5.4xlarge")
    if field not in _FIELDS:
        hint = nearest(field, _FIELDS, f"there are {', '.join(_FIELDS)}")
        raise ConfigError(f"--where {text}: records have no field {field!r}{hint}")
    return Condition(text=text, holds=_FIELDS[field](value))


def config_of(record: Record) -> CompilationConfig | None:
    """The configuration that a record was made for; ``None`` where it is not known, as of older records."""
    stated = record.provenance.get(CONFIG)
    try:
        return None if stated is None else CompilationConfig.of(stated)
    except SpecError:  # of a kind that a plug-in brought
        return None


def _targets_of(record: Record) -> Iterator[Target]:
    """The targets that were measured, those of its configuration, and what these generate code for."""
    config = config_of(record)
    found = [*_measured(record.facts), *(() if config is None else (*config.flatten(), config.host))]
    for target in found:
        yield target
        if target.base is not None:
            yield target.base


def _measured(facts: Mapping[str, Any]) -> Iterator[Target]:
    rows = facts.get("partitions")
    for row in rows if isinstance(rows, list | tuple) else ():
        try:
            yield Target(row[0])
        except (SpecError, LookupError, TypeError):
            continue


def _of_target(value: str) -> Callable[[Record], bool]:
    wanted = [target for target in CompilationConfig.of(value).targets if isinstance(target, Target)]
    return lambda record: all(any(_states(each, target) for each in _targets_of(record)) for target in wanted)


def _states(target: Target, wanted: Target) -> bool:
    """Whether a target is of the wanted one's kind, and states all that it does."""
    options = wanted.options.items()
    return target.kind is wanted.kind and all(target.options.get(name) == value for name, value in options)


def _of_config(value: str) -> Callable[[Record], bool]:
    wanted = CompilationConfig.of(value)
    return lambda record: config_of(record) == wanted


def _by_name(names: Callable[[Record], Iterable[str]]) -> Callable[[str], Callable[[Record], bool]]:
    def of(pattern: str) -> Callable[[Record], bool]:
        return lambda record: any(fnmatchcase(name, pattern) for name in names(record))

    return of


def _engines(record: Record) -> Iterable[str]:
    found = record.facts.get("engines")
    return found if isinstance(found, Mapping) else ()


_FIELDS: Mapping[str, Callable[[str], Callable[[Record], bool]]] = MappingProxyType(
    {
        "target": _of_target,
        "config": _of_config,
        "engine": _by_name(_engines),
        "model": _by_name(lambda record: [PurePath(str(record.provenance.get(MODEL) or "in memory")).name]),
        "machine": _by_name(machine_of),
        "kind": _by_name(lambda record: [record.kind]),
    }
)
