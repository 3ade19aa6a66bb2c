"""Reads ``manifest.json``: each field is of its type, and there is no other. What the fields say is for `checks`."""

from __future__ import annotations

from typing import Any

from intarsia.backends.contract import Signature
from intarsia.config.emulated import Emulated, InstructionSet
from intarsia.config.settings import Pipeline, RunSettings, Spin
from intarsia.errors import ArtifactError, SpecError
from intarsia.json_types import (
    Fault,
    Field,
    Fields,
    JsonType,
    anything,
    either,
    flag,
    integer,
    number,
    optional,
    parsed,
    record,
    row,
    several,
    table,
    text,
    word,
)
from intarsia.runtime.artifact.machine import Machine
from intarsia.runtime.artifact.manifest import VERSION, EngineRecord, Manifest, StoredBucket, StoredStep, StoredWeight
from intarsia.runtime.plan import Plan, Step, StepBody
from intarsia.target.stored import stored_target

_TOLD = 3
MOST_LEVELS = 8
"""Of plans inside of each other: as deep as specs nest."""


def read_manifest(content: bytes) -> Manifest:
    """The manifest of this text.

    Raises:
        ArtifactError: It is of another version of the format, or a field is missing, unknown or of another type.
    """
    try:
        document = parsed(content)
    except ValueError as error:
        raise ArtifactError(f"its manifest is not understood: {error}") from error
    version = _read(record(dict, {"version": integer}, is_open=True), document)["version"]
    if version != VERSION:
        raise ArtifactError(f"artifact format {version}, this Intarsia reads {VERSION}")
    manifest: Manifest = _read(_MANIFEST, document)
    return manifest


def fault_text(faults: list[Fault], root: str = "$") -> str:
    """What values of the wrong type or form are, and where: the first three such places."""
    found = [f"{root}{'.' if where and where[0] != '[' else ''}{where}: {what}" for where, what in faults[:_TOLD]]
    more = f"; and {len(faults) - _TOLD} more" if len(faults) > _TOLD else ""
    return "; ".join(found) + more


def _read(type_: JsonType, document: Any) -> Any:
    faults: list[Fault] = []
    found = type_(document, "", faults)
    if faults:
        raise ArtifactError(f"its manifest is not understood: {fault_text(faults)}")
    return found


def _target(value: Any, at: str, faults: list[Fault]) -> Any:
    """A target, which is text in the file."""
    written = text(value, at, faults)
    if written is None:
        return None
    try:
        return stored_target(written)
    except SpecError as error:
        faults.append((at, str(error)))
        return None


def _precision(value: Any, at: str, faults: list[Fault]) -> Any:
    from intarsia.config.precision import Precision, Scheme

    fields: Fields = {
        "schemes": several(row(text, word(Scheme))),
        "ranges": Field(several(row(text, row(number, number))), ()),
        "means": Field(several(row(text, text)), ()),
    }
    return record(Precision, fields)(value, at, faults)


def _inside(value: Any, at: str, faults: list[Fault]) -> Any:
    """The plan inside of a step, whose steps may have plans inside in turn."""
    if at.count(".inside") + at.count(".plan") > MOST_LEVELS:
        faults.append((at, f"there are more than {MOST_LEVELS} plans inside of each other"))
        return None
    step = record(Step, {**_STEP_FIELDS, "inside": Field(optional(_inside), None), "bodies": Field(_bodies, ())})
    fields: Fields = {
        "steps": several(step),
        "settings": _SETTINGS,
        "inputs": SIGNATURES,
        "outputs": SIGNATURES,
    }
    return record(Plan, fields)(value, at, faults)


def _bodies(value: Any, at: str, faults: list[Fault]) -> Any:
    """The bodies of control flow, each with its plan."""
    return several(record(StepBody, {"node": text, "name": text, "plan": _inside}))(value, at, faults)


_SHAPE = several(integer)
SIGNATURES = several(record(Signature, {"name": text, "dtype": text, "shape": optional(_SHAPE)}))
_PIPELINE = record(
    Pipeline,
    {
        "stages": several(integer),
        "threads": several(integer),
        "lanes": Field(integer, 1),
        "depth": integer,
        "processors": Field(several(integer), ()),
    },
)
_EMULATED = record(
    Emulated,
    {"cores": Field(optional(integer), None), "instruction_set": Field(optional(word(InstructionSet)), None)},
)
_SETTINGS = record(
    RunSettings,
    {
        "threads": integer,
        "spin": Field(word(Spin), Spin.CALL),
        "embed": Field(flag, False),
        "parallel": Field(flag, False),
        "pipeline": Field(optional(_PIPELINE), None),
        "max_error": Field(optional(number), None),
        "ahead_of_time": Field(flag, False),
        "verified": Field(flag, True),
        "emulated": Field(optional(_EMULATED), None),
        "instances": Field(integer, 1),
        "batch": Field(integer, 1),
    },
)
_STEP_FIELDS: Fields = {
    "target": _target,
    "nodes": several(text),
    "inputs": SIGNATURES,
    "outputs": SIGNATURES,
    "precision": Field(optional(_precision), None),
}
_STEP = record(
    StoredStep,
    {
        **_STEP_FIELDS,
        "files": several(text),
        "weights": several(text),
        "meta": table(anything),
        "inside": Field(optional(_inside), None),
        "bodies": Field(_bodies, ()),
    },
)
_BUCKET = record(
    StoredBucket,
    {
        "ranges": table(row(integer, integer)),
        "sizes": table(integer),
        "settings": _SETTINGS,
        "steps": several(integer),
    },
)
_MANIFEST = record(
    Manifest,
    {
        "version": integer,
        "machine": record(
            Machine, {"architecture": text, "isa": several(text), "cpu": text, "cores": integer, "system": text}
        ),
        "engines": table(record(EngineRecord, {"version": text, "licence": text})),
        "settings": _SETTINGS,
        "inputs": SIGNATURES,
        "outputs": SIGNATURES,
        "steps": several(_STEP),
        "weights": table(record(StoredWeight, {"offset": integer, "nbytes": integer, "dtype": text, "shape": _SHAPE})),
        "dims": Field(table(several(either(integer, text))), {}),
        "buckets": Field(several(_BUCKET), ()),
        "same": Field(table(text), {}),
    },
)
