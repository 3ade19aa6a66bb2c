"""What the engines of a nested configuration compiled, as the one artifact that its step has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from intarsia.backends.contract import EngineArtifact
from intarsia.backends.contract.artifact import MappedFiles
from intarsia.runtime.plan import Plan, Step

STEPS = "steps"
"""What the ``meta`` of such an artifact has: files, weights and ``meta`` of each step inside."""


def joined(artifacts: Sequence[EngineArtifact]) -> EngineArtifact:
    """The artifacts of the steps inside as one, their files named after the place of their step: ``1/model.onnx``."""
    return EngineArtifact(
        files={_place(number, name): each.files[name] for number, each in enumerate(artifacts) for name in each.files},
        weights=tuple(dict.fromkeys(name for each in artifacts for name in each.weights)),
        meta={STEPS: [_facts(each) for each in artifacts]},
    )


def parted(artifact: EngineArtifact) -> tuple[EngineArtifact, ...]:
    """The artifacts that `joined` made one of."""
    return tuple(
        EngineArtifact(
            files=_files(artifact.files, {name: _place(number, name) for name in facts["files"]}),
            weights=tuple(facts["weights"]),
            meta=facts["meta"],
        )
        for number, facts in enumerate(artifact.meta[STEPS])
    )


def maker_of(step: Step, file: str) -> tuple[str, str]:
    """The kind of the engine that made a file of a step, and what it calls it; the step's own kind if none is known."""
    found = None if step.inside is None else _inner_step(step.inside, file)
    if step.bodies:
        number, name = _split(file)
        found = _inner_step(step.bodies[number].plan, name) if 0 <= number < len(step.bodies) else None
    return (step.target.kind_name, file) if found is None else maker_of(*found)


def _inner_step(plan: Plan, file: str) -> tuple[Step, str] | None:
    number, name = _split(file)
    return (plan.steps[number], name) if 0 <= number < len(plan.steps) else None


def _split(file: str) -> tuple[int, str]:
    """The place that a file's name begins with, and the rest; -1 if it begins with none."""
    number, _, name = file.partition("/")
    return (int(number) if number.isascii() and number.isdecimal() else -1), name


def _place(number: int, name: str) -> str:
    return f"{number}/{name}"


def _facts(artifact: EngineArtifact) -> Mapping[str, Any]:
    return {"files": list(artifact.files), "weights": list(artifact.weights), "meta": dict(artifact.meta)}


def _files(files: Mapping[str, bytes], places: Mapping[str, str]) -> Mapping[str, bytes]:
    if isinstance(files, MappedFiles):
        return files.some(places)
    return {name: files[place] for name, place in places.items()}
