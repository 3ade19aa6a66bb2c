"""A single-engine plan as that engine's own files: usable without Intarsia."""

from __future__ import annotations

import os
from pathlib import Path

from intarsia.backends import registry
from intarsia.errors import PlanError
from intarsia.runtime.model import CompiledModel


def export(model: CompiledModel, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Write the engine's native files and the options it ran with.

    Raises:
        PlanError: The plan mixes engines, so no engine alone can run it, or is another one for other sizes.
    """
    if len({bucket.plan.fingerprint for bucket in model.buckets}) > 1:
        raise PlanError(
            f"{model.artifact.path}: its plan depends on the sizes it is given; only one plan can be exported "
            "(compile with one size, or with one bucket of sizes)"
        )
    if len(model.plan.steps) != 1:
        raise PlanError(
            f"{model.artifact.path}: the plan has {len(model.plan.steps)} partitions on "
            f"{', '.join(model.plan.engines)}; only a plan of one partition can be exported "
            "(compile with --partition single to get one)"
        )
    destination = Path(folder)
    destination.mkdir(parents=True, exist_ok=True)
    step = model.plan.steps[0]
    piece = model.artifact.graph().extract(step.nodes)
    return registry.of(step.target).export(piece, step.target, model.plan.settings, destination)
