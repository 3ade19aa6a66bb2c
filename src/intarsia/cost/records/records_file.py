"""Records in a file that a team shares: one JSON object a line. What each machine measured stays apart by its key.

A record's key is made anew from its facts when it is read, and these hold the machine's fingerprint and the versions of
the engines; so a record of another machine, or of another version, is never taken for one of here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from intarsia.cost.records.outcomes import Kind, Name, checked_facts, checked_moment, checked_outcome, what_is_wrong
from intarsia.cost.records.store import Record, Store
from intarsia.errors import ConfigError
from intarsia.files import replace_file
from intarsia.runtime.artifact.machine import this_machine

MODEL, MACHINE, CONFIG = "model", "machine", "config"
"""Entries of a record's provenance: the path of the model, in words the machine if it is another one, and the
configuration that it was first measured for, in its canonical form; older records have none."""


class _Header(BaseModel):
    """The first line."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["intarsia records"] = "intarsia records"
    version: Literal[1, 2] = 2
    machines: dict[str, Name]


class _Line(BaseModel):
    """Every other line."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind
    facts: Annotated[dict[str, Any], Field(min_length=1)]
    outcome: dict[str, Any]
    model: Name | None
    config: dict[str, Any] | None = None
    made_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What came of writing records to a file.

    Attributes:
        damaged: How many rows of the store are no records.
    """

    written: int
    damaged: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What came of reading records from a file.

    Attributes:
        added: How many the store did not have yet.
        left_out: How many lines are no records.
        first: Which is the first of those, and what is wrong with it; empty if there is none.
    """

    added: int
    left_out: int
    first: str


def machine_name() -> str:
    """This machine, in words."""
    here = this_machine()
    return f"{here.cpu}, {here.cores} {'thread' if here.cores == 1 else 'threads'}"


def machine_of(record: Record) -> tuple[str, str]:
    """Fingerprint and name of the machine that a record was measured on."""
    fingerprint = str(record.facts.get("machine", ""))
    here = this_machine()
    return fingerprint, machine_name() if fingerprint == here.fingerprint else str(record.provenance.get(MACHINE, ""))


def export_records(store: Store, path: Path, wanted: Callable[[Record], bool] = lambda _: True) -> Exported:
    """Write every record of a store that is wanted. The file appears whole or not at all.

    Of a model only the file's name is told, and of a failure no script: paths are of no use to others.

    Raises:
        OutputError: It cannot be written there.
        DiskError: The disk is full.
    """
    found = store.records()
    records = [each for each in found.records if wanted(each)]
    header = _Header(machines=dict(sorted(map(machine_of, records))))
    text = "".join(f"{line.model_dump_json()}\n" for line in (header, *map(_line, records)))
    replace_file(path, text.encode())
    return Exported(written=len(records), damaged=found.damaged)


def import_records(store: Store, path: Path) -> Imported:
    """Add the records of a file. Lines that are none are left out: one damaged line spoils no night's measuring.

    Raises:
        ConfigError: It is no such file, or none of its lines is a record.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read as records ({error})") from error
    records, wrong = _read(path, [line for line in lines if line.strip()])
    first = next((f"line {number} {what}" for number, what in wrong.items()), "")
    if wrong and not records:
        raise ConfigError(f"{path}: holds no record that can be used: {first}")
    return Imported(added=store.add(records), left_out=len(wrong), first=first)


def _line(record: Record) -> _Line:
    model, outcome = record.provenance.get(MODEL), record.outcome
    return _Line(
        kind=record.kind,
        facts=dict(record.facts),
        outcome={**outcome, "repro": None} if "repro" in outcome else dict(outcome),
        model=None if model is None else Path(model).name,
        config=record.provenance.get(CONFIG),
        made_at=record.made_at,
    )


def _read(path: Path, lines: Iterable[bytes]) -> tuple[list[Record], Mapping[int, str]]:
    """The records of the lines, and by its number what is wrong with each line that is none."""
    machines: Mapping[str, str] | None = None
    records, wrong = [], {}
    for number, text in enumerate(lines, start=1):
        try:
            if machines is None:
                machines = _Header.model_validate_json(text).machines
            else:
                records.append(_record(text, machines))
        except ValueError as error:
            told = f"is not what `tune --export` writes ({what_is_wrong(error)})"
            if machines is None:
                raise ConfigError(f"{path}: line {number} {told}") from error
            wrong[number] = told
    if machines is None:
        raise ConfigError(f"{path}: holds no records")
    return records, wrong


def _record(text: bytes, machines: Mapping[str, str]) -> Record:
    line = _Line.model_validate_json(text)
    configured = {} if line.config is None else {CONFIG: line.config}
    facts = checked_facts(json.dumps(line.facts))
    return Record(
        kind=line.kind,
        facts=facts,
        outcome=checked_outcome(line.kind, json.dumps(line.outcome)),
        provenance={**configured, MODEL: line.model, MACHINE: machines.get(str(facts.get("machine", "")), "")},
        made_at=checked_moment(line.made_at),
    )
