"""The stages of a deployed model as its file describes them: data, checked when they are read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from intarsia import json_types
from intarsia.backends.contract import Signature
from intarsia.errors import ArtifactError
from intarsia.json_types import Fault
from intarsia.runtime.artifact.manifest_reading import SIGNATURES, fault_text
from intarsia.version import __version__

FORM: Final = 1
"""Of the description; another one is refused."""
MOST_STAGES: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRow:
    """One stage.

    Attributes:
        machine: The name of its machine in the deployment.
        file: The entry of the artifact that holds its own.
        nodes: Ids of the nodes that it runs.
        inputs: Names of the values that it is given.
        outputs: Names of the values that it makes.
    """

    machine: str
    file: str
    nodes: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What the file of a deployed model says of itself.

    Attributes:
        form: See `FORM`.
        version: Of Intarsia.
        machines: The configuration of each machine as JSON, without where its worker listens.
        inputs: Of the model: name, element type and shape of each.
        outputs: The same of its outputs.
        stages: In the order in which they run.
    """

    form: int
    version: str
    machines: Mapping[str, Any]
    inputs: tuple[Signature, ...]
    outputs: tuple[Signature, ...]
    stages: tuple[StageRow, ...]

    @classmethod
    def of(
        cls,
        machines: Mapping[str, Any],
        inputs: Sequence[Signature],
        outputs: Sequence[Signature],
        stages: Sequence[StageRow],
    ) -> Description:
        """The description of stages, by this version."""
        return cls(
            form=FORM,
            version=__version__,
            machines=dict(machines),
            inputs=tuple(inputs),
            outputs=tuple(outputs),
            stages=tuple(stages),
        )

    def json(self) -> str:
        """The text that `read_description` reads."""
        facts = {
            "form": self.form,
            "version": self.version,
            "machines": dict(self.machines),
            "inputs": [_signature_row(value) for value in self.inputs],
            "outputs": [_signature_row(value) for value in self.outputs],
            "stages": [
                {
                    "machine": stage.machine,
                    "file": stage.file,
                    "nodes": stage.nodes,
                    "inputs": stage.inputs,
                    "outputs": stage.outputs,
                }
                for stage in self.stages
            ],
        }
        return json.dumps(facts, indent=1)

    def drops(self) -> list[frozenset[str]]:
        """For each stage the values that nobody needs behind it."""
        wanted = {value.name for value in self.outputs}
        found = []
        for number in reversed(range(len(self.stages))):
            known = {value.name for value in self.inputs}.union(*(stage.outputs for stage in self.stages[: number + 1]))
            found.append(frozenset(known - wanted))
            wanted.update(self.stages[number].inputs)
        return found[::-1]


def read_description(content: bytes, path: Path, entries: Mapping[str, int]) -> Description:
    """The description in an artifact.

    Args:
        content: Its text.
        path: Of the artifact, for errors.
        entries: What the artifact holds.

    Raises:
        ArtifactError: It is damaged, or contradicts itself or the artifact.
    """
    faults: list[Fault] = []
    try:
        found = _DESCRIPTION(json_types.parsed(content), "", faults)
    except ValueError as error:
        raise ArtifactError(f"{path}: its description of stages is no JSON: {error}") from error
    faults = faults or list(_contradictions(found, entries))
    if faults:
        raise ArtifactError(f"{path}: its description of stages is damaged: {fault_text(faults)}")
    description: Description = found
    return description


def _contradictions(found: Description, entries: Mapping[str, int]) -> list[Fault]:
    if found.form != FORM:
        return [("form", f"is {found.form}, and this version of Intarsia reads {FORM}; compile the model anew")]
    if not 0 < len(found.stages) <= MOST_STAGES:
        return [("stages", f"are {len(found.stages)}, and may be 1 to {MOST_STAGES}")]
    faults = [
        (f"{value.name!r}", "has a size below 0")
        for value in (*found.inputs, *found.outputs)
        if any(size < 0 for size in value.shape or ())
    ]
    known = {value.name for value in found.inputs}
    for number, stage in enumerate(found.stages):
        at = f"stages[{number}]"
        if stage.machine not in found.machines:
            faults.append((at, f"is on {stage.machine!r}, which is no machine of it"))
        if stage.file not in entries:
            faults.append((at, f"names {stage.file!r}, which it does not hold"))
        if unknown := [name for name in stage.inputs if name not in known]:
            faults.append((at, f"is given {unknown[0]!r}, which no stage before it makes"))
        known.update(stage.outputs)
    faults += [("outputs", f"hold {v.name!r}, which no stage makes") for v in found.outputs if v.name not in known]
    return faults


def _signature_row(value: Signature) -> dict[str, Any]:
    return {"name": value.name, "dtype": value.dtype, "shape": value.shape}


_NAMES = json_types.several(json_types.text)
_STAGE = json_types.record(
    StageRow,
    {
        "machine": json_types.text,
        "file": json_types.text,
        "nodes": _NAMES,
        "inputs": _NAMES,
        "outputs": _NAMES,
    },
)
_DESCRIPTION = json_types.record(
    Description,
    {
        "form": json_types.integer,
        "version": json_types.text,
        "machines": json_types.table(json_types.anything),
        "inputs": SIGNATURES,
        "outputs": SIGNATURES,
        "stages": json_types.several(_STAGE),
    },
)
