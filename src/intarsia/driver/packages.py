"""Writes a whole model as the files of an engine that runs elsewhere: nothing is measured, and nothing is checked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from intarsia.backends import registry
from intarsia.config import RunSettings
from intarsia.errors import BackendUnavailableError, ConfigError, ModelError
from intarsia.files import disk_errors, place_tree, scratch
from intarsia.graph import extract, load_model
from intarsia.graph.bind import Shapes
from intarsia.partitioning.capability import refusal_text
from intarsia.runtime.environment import applied, load_environment
from intarsia.target import Target
from intarsia.wording import counted


def write_package(
    model: Any, target: Any, folder: str | os.PathLike[str], *, shapes: Shapes | None = None
) -> tuple[tuple[Path, ...], str]:
    """Write a model as an engine's own files, and return these with the reason why they were not run.

    Args:
        model: Path of an ONNX file, its bytes, or a loaded model.
        target: An engine that runs on other machines alone, in any form of a target.
        folder: Where; it is made if it is not there.
        shapes: What binds the model's symbolic dimensions.

    Raises:
        ConfigError: The engine runs here, so that it is compiled for, measured and checked.
        BackendUnavailableError: The package that writes the files is not installed; or no backend drives the engine.
        ModelError: The engine does not take every node.
        CompileError: The engine's own package refuses the model.
        OutputError: The folder cannot be written into.
    """
    wanted = Target(target)
    backend = registry.of(wanted)
    if backend.runs_elsewhere is None:
        raise ConfigError(
            f"{wanted.kind.name} runs here, so its files are exported from what was measured: intarsia compile MODEL "
            f"--partition single --target {wanted.kind.name}, then intarsia export ARTIFACT"
        )
    found = backend.probe()
    if found.version is None:
        raise BackendUnavailableError(
            f"the files of {wanted.kind.name} are written by a package that is not installed; "
            f"pip install 'intarsia[{backend.extra}]'"
        )
    graph = load_model(model, shapes)
    refused = backend.capability(graph, wanted).refusals
    if refused:
        count = len(graph.nodes)
        reason = f"{wanted.kind.name} takes {count - len(refused)} of {counted(count, 'node')}, and a package needs all"
        raise ModelError(f"{reason}: {refusal_text(refused, count)}")
    settings = RunSettings(threads=1)
    with scratch() as draft:
        with disk_errors(draft), applied(load_environment([registry.engine_of(wanted)], settings)):
            part = extract(graph, (node.id for node in graph.nodes))
            written = backend.export(part, wanted, settings, draft)
        return place_tree(written, draft, Path(folder)), backend.runs_elsewhere
