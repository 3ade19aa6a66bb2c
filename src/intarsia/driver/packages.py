"""Writes a whole model for an engine or a device that is elsewhere: nothing is measured, and nothing is checked."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from intarsia.backends import registry
from intarsia.backends.contract.source import WritesDeviceCode
from intarsia.config import RunSettings
from intarsia.errors import BackendUnavailableError, ConfigError, ModelError
from intarsia.files import disk_errors, place_tree, scratch
from intarsia.graph import SubModel, extract, load_model
from intarsia.graph.bind import Shapes
from intarsia.partitioning.capability import refusal_text
from intarsia.planning.engine_set import device_writers
from intarsia.runtime.environment import applied, load_environment
from intarsia.target import Target
from intarsia.wording import counted

_NOT_RUN = "nothing of ours drives that device, so its answers were not checked; IREE's own runtime runs model.vmfb"


def write_package(
    model: Any, target: Any, folder: str | os.PathLike[str], *, shapes: Shapes | None = None
) -> tuple[tuple[Path, ...], str]:
    """Write a model as files for an engine or a device elsewhere; return these, and the reason why they were not run.

    Args:
        model: Path of an ONNX file, its bytes, or a loaded model.
        target: An engine that runs on other machines alone, or a device that an engine writes code for without having
            it, in any form of a target.
        folder: Where; it is made if it is not there.
        shapes: What binds the model's symbolic dimensions.

    Raises:
        ConfigError: The engine runs here, so that it is compiled for, measured and checked.
        BackendUnavailableError: The package that writes the files is not installed; or no backend drives the engine, or
            none writes code for the device.
        ModelError: The engine does not take every node.
        CompileError: The engine's own package refuses the model.
        OutputError: The folder cannot be written into.
    """
    wanted = Target(target)
    if wanted.kind.engines:
        name, writer = _writer(wanted)
        engine = Target(name)

        def write(part: SubModel, draft: Path) -> tuple[Path, ...]:
            return writer.write_device_code(part, engine, wanted, draft)

        return _written(model, engine, Path(folder), shapes, write), _remark(wanted, writer.device_options)
    backend = registry.of(wanted)
    if backend.runs_elsewhere is None:
        raise ConfigError(
            f"{wanted.kind.name} runs here, so its files are exported from what was measured: intarsia compile MODEL "
            f"--partition single --target {wanted.kind.name}, then intarsia export ARTIFACT"
        )
    return _written(model, wanted, Path(folder), shapes, partial(_export, wanted)), backend.runs_elsewhere


def _writer(device: Target) -> tuple[str, WritesDeviceCode]:
    """The engine that writes code for a device of that kind."""
    writers = device_writers()
    for name, writer in writers.items():
        if device.kind_name in writer.device_options:
            return name, writer
    kinds = sorted({kind for writer in writers.values() for kind in writer.device_options})
    raise BackendUnavailableError(
        f"no engine here writes code for {device.kind.name} without the device or its SDK; they write it for "
        f"{', '.join(kinds)}, and a processor's is written by intarsia compile MODEL --executor aot --runtime crt"
    )


def _remark(device: Target, options: Mapping[str, tuple[str, ...]]) -> str:
    stated = [f"-{name}" for name in device.options if name not in options[device.kind_name]]
    unread = f"; {', '.join(stated)}: no effect on it" if stated else ""
    return f"{_NOT_RUN}{unread}"


def _export(target: Target, part: SubModel, draft: Path) -> tuple[Path, ...]:
    return registry.of(target).export(part, target, RunSettings(threads=1), draft)


def _written(
    model: Any,
    engine: Target,
    folder: Path,
    shapes: Shapes | None,
    write: Callable[[SubModel, Path], tuple[Path, ...]],
) -> tuple[Path, ...]:
    """What ``write`` makes of the whole model, which appears in the folder whole or not at all."""
    backend = registry.of(engine)
    if backend.probe().version is None:
        raise BackendUnavailableError(
            f"the files of {engine.kind.name} are written by a package that is not installed; "
            f"pip install 'intarsia[{backend.extra}]'"
        )
    graph = load_model(model, shapes)
    refused = backend.capability(graph, engine).refusals
    if refused:
        count = len(graph.nodes)
        reason = f"{engine.kind.name} takes {count - len(refused)} of {counted(count, 'node')}, and a package needs all"
        raise ModelError(f"{reason}: {refusal_text(refused, count)}")
    with scratch() as draft:
        with disk_errors(draft), applied(load_environment([registry.engine_of(engine)], RunSettings(threads=1))):
            part = extract(graph, (node.id for node in graph.nodes))
            files = write(part, draft)
        return place_tree(files, draft, folder)
