"""Records in a file that a team shares: one JSON object a line. What each machine measured stays apart by its key.

A record's key is made anew from its facts when it is read, and these hold the machine's fingerprint and the versions of
the engines; so a record of another machine, or of another version, is never taken for one of here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from intarsia.cost.record import from_json
from intarsia.cost.store import Kind, Record, Store
from intarsia.errors import ConfigError
from intarsia.files import replace_file
from intarsia.runtime.machine import this_machine

MODEL, MACHINE = "model", "machine"
"""Entries of a record's provenance: the path of the model, and in words the machine, if it is another one."""


class _Header(BaseModel):
    """The first line."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["intarsia records"] = "intarsia records"
    version: Literal[1] = 1
    machines: dict[str, str]


class _Line(BaseModel):
    """Every other line."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind
    facts: Annotated[dict[str, Any], Field(min_length=1)]
    outcome: dict[str, Any]
    model: str | None
    made_at: float


def machine_name() -> str:
    """This machine, in words."""
    here = this_machine()
    return f"{here.cpu}, {here.cores} {'thread' if here.cores == 1 else 'threads'}"


def machine_of(record: Record) -> tuple[str, str]:
    """Fingerprint and name of the machine that a record was measured on."""
    fingerprint = str(record.facts.get("machine", ""))
    here = this_machine()
    return fingerprint, machine_name() if fingerprint == here.fingerprint else str(record.provenance.get(MACHINE, ""))


def export_records(store: Store, path: Path) -> int:
    """Write every record of a store; how many there are. The file appears whole or not at all.

    Of a model only the file's name is told, and of a failure no script: paths are of no use to others.

    Raises:
        OutputError: It cannot be written there.
        DiskError: The disk is full.
    """
    records = [replace(record, outcome=_without_paths(record.outcome)) for record in store.records()]
    machines = dict(sorted(map(machine_of, records)))
    text = "".join(f"{line.model_dump_json()}\n" for line in _lines(machines, records))
    replace_file(path, text.encode())
    return len(records)


def import_records(store: Store, path: Path) -> int:
    """Add the records of a file, all or none of them; how many the store did not have yet.

    Raises:
        ConfigError: It is no such file, naming the line that is wrong.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as records ({error})") from error
    return store.add(_read(path, lines))


def _lines(machines: Mapping[str, str], records: Iterable[Record]) -> Iterator[BaseModel]:
    yield _Header(machines=dict(machines))
    for record in records:
        model = record.provenance.get(MODEL)
        yield _Line(
            kind=record.kind,
            facts=dict(record.facts),
            outcome=dict(record.outcome),
            model=None if model is None else Path(model).name,
            made_at=record.made_at,
        )


def _read(path: Path, lines: Iterable[str]) -> list[Record]:
    machines: Mapping[str, str] | None = None
    records = []
    for number, text in enumerate(lines, start=1):
        try:
            if machines is None:
                machines = _Header.model_validate_json(text).machines
                continue
            line = _Line.model_validate_json(text)
            if line.kind == "piece":
                from_json(line.outcome)
        except (ValidationError, ValueError, TypeError, KeyError) as error:
            raise ConfigError(f"{path}: line {number} is not what `tune --export` writes ({_what(error)})") from error
        name = machines.get(str(line.facts.get("machine", "")), "")
        records.append(
            Record(
                kind=line.kind,
                facts=line.facts,
                outcome=line.outcome,
                provenance={MODEL: line.model, MACHINE: name},
                made_at=line.made_at,
            )
        )
    if machines is None:
        raise ConfigError(f"{path}: holds no records")
    return records


def _without_paths(outcome: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**outcome, "repro": None} if "repro" in outcome else outcome


def _what(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
