"""What the runtime `cpp` reads of an artifact beside its manifest: how each step is loaded, and files for that.

Python knows what options mean, and turns models into formats that C interfaces read; the library in C++ only loads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from intarsia.backends import registry
from intarsia.backends.contract import EngineArtifact, NativeFiles, NativeRequest
from intarsia.backends.contract.artifact import ALIGNED
from intarsia.config.settings import RunSettings
from intarsia.errors import ArtifactError
from intarsia.runtime.artifact.artifact import Artifact
from intarsia.runtime.artifact.container import Reader
from intarsia.runtime.artifact.container_writing import Writer, appending
from intarsia.runtime.artifact.manifest import entry_of
from intarsia.runtime.artifact.trust import OWN
from intarsia.runtime.executors.parallel_levels import sections, step_settings
from intarsia.runtime.executors.private_weights import as_compiled, own_files, own_weights
from intarsia.runtime.plan import Plan

FORMAT = 1
ENTRY = "native.json"
FOLDER = "native"
LINKED = f"{FOLDER}/linked"
"""The entry, of nothing, by which an artifact asks to be linked into the program."""
DTYPES = frozenset(
    {
        *("float16", "float32", "float64", "bfloat16", "bool"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    }
)
"""Element types that the library in C++ has arrays of."""


def is_prepared(path: Path) -> bool:
    """Whether the runtime `cpp` can load an artifact."""
    return ENTRY in Reader(path).sizes


def is_linked(path: Path) -> bool:
    """Whether a prepared artifact is to be a part of the program that runs it."""
    return LINKED in Reader(path).sizes


def prepare(path: Path, *, linked: bool = False) -> None:
    """Put what the runtime `cpp` needs into an artifact that nobody else reads yet.

    Args:
        path: The artifact.
        linked: Whether the project that is exported of it links it into the program, where it has a name.

    Raises:
        ArtifactError: It is signed; or its plan is none that this runtime drives, with the reason.
        LoadError: An engine cannot be loaded without Python as it was compiled.
    """
    artifact = Artifact(path, OWN)
    fault = plan_fault(artifact)
    if fault is not None:
        raise ArtifactError(f"{path}: the runtime cpp cannot run it: {fault}")
    plan = artifact.plan
    parts = artifact.build().artifacts
    weights = artifact.weights()
    reader = Reader(path)
    start, _ = reader.locate("weights.bin")
    shared = {name: start + weight.offset for name, weight in artifact.manifest.weights.items()}
    offsets = [{**shared, **_own_offsets(artifact, reader, place, part)} for place, part in enumerate(parts)]
    with appending(path) as out:
        steps = [
            _native(plan, place, part, settings, {**weights, **own_weights(part)}, _Entries(out, place, offsets[place]))
            for place, (part, settings) in enumerate(zip(parts, step_settings(plan), strict=True))
        ]
        facts = {"format": FORMAT, "steps": steps, "sections": sections(plan)}
        out.add(ENTRY, json.dumps(facts, indent=1))
        if linked:
            out.add(LINKED, "")


def _own_offsets(artifact: Artifact, reader: Reader, place: int, part: EngineArtifact) -> dict[str, int]:
    """Where the weights start that a step has for itself."""
    entries = {name: entry_of(place, file) for name, file in own_files(part).items()}
    return {name: reader.locate(artifact.manifest.same.get(entry, entry))[0] for name, entry in entries.items()}


def plan_fault(artifact: Artifact) -> str | None:
    """Why the runtime `cpp` does not drive the plan of an artifact; ``None`` if it does."""
    if artifact.is_source:
        return "it is a program of C, which needs no runtime; intarsia export writes its sources"
    if artifact.buckets:
        return "its sizes are open, and this runtime takes fixed ones; compile it with one size"
    for step in artifact.plan.steps:
        engine = registry.engine_of(step.target)
        if registry.AWAY in engine:
            return f"{engine} is in another interpreter"
        lack = registry.get(engine).native_lack
        if lack is not None:
            return f"{engine}: {lack}; compile it with --runtime cpp, which leaves that engine out"
    for value in (*artifact.plan.inputs, *artifact.plan.outputs, *_borders(artifact.plan)):
        fault = value_fault(value.name, value.dtype, value.shape)
        if fault is not None:
            return fault
    return None


def value_fault(name: str, dtype: str | None, shape: tuple[int, ...] | None) -> str | None:
    """Why this runtime has no arrays for a value; ``None`` if it has."""
    if shape is None:
        return f"the shape of {name!r} is only known after it was computed"
    if dtype not in DTYPES:
        return f"{name!r} is of type {dtype or 'unknown'}, of which it has no arrays"
    return None


def _borders(plan: Plan) -> list[Any]:
    return [value for step in plan.steps for value in (*step.inputs, *step.outputs)]


def _native(
    plan: Plan, place: int, part: EngineArtifact, settings: RunSettings, weights: Mapping[str, Any], files: NativeFiles
) -> Mapping[str, Any]:
    step = plan.steps[place]
    if plan.settings.embed and not part.files:
        return {"loader": "inside"}  # of the session that another step of this engine holds
    request = NativeRequest(
        artifact=as_compiled(part), weights=weights, target=step.target, settings=settings, files=files
    )
    return registry.of(step.target).native(request)


class _Entries(NativeFiles):
    """Entries of an artifact that belong to one step."""

    def __init__(self, out: Writer, step: int, weights: Mapping[str, int]) -> None:
        self._out = out
        self._step = step
        self._weights = weights

    def add(self, name: str, content: bytes) -> int:
        return self._out.place(self.entry(name), content)

    def entry(self, name: str) -> str:
        return f"{FOLDER}/{self._step}/{name}"

    def weight(self, name: str) -> int | None:
        offset = self._weights[name]
        return None if offset % ALIGNED else offset
