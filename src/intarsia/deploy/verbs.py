"""What a user calls: `compile_deployment`, and `load_deployment` for what it wrote."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Unpack

from intarsia.config.deployment import Deployment
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.progress import Counting, Progress, Watcher, unwatched
from intarsia.deploy.artifact import DeployedArtifact
from intarsia.deploy.candidates import StageCompiler
from intarsia.deploy.decide import Search
from intarsia.deploy.machines import machines_of
from intarsia.deploy.model import DeployedModel
from intarsia.deploy.report import report_of
from intarsia.devices import model_constraints
from intarsia.driver.interruption import as_interrupted
from intarsia.driver.settings import CompileOptions, CompileSettings, settings_of
from intarsia.errors import ConfigError
from intarsia.files import AnyPath, Scratch
from intarsia.graph import load_model
from intarsia.graph.bind import ranges_of
from intarsia.runtime.artifact.trust import OWN, Trust

REFUSED: Final = {
    "plan": "a plan file is of one machine",
    "constraints": "they name devices of one machine",
    "custom_ops": "a library of this machine does not run on another; name a machine's own in its targets, as "
    "'onnxruntime -custom-ops=/path/there.so'",
    "store": "each machine keeps its own; a worker's is stated when that is started",
    "footprints": "they are of one machine",
    "max_latency": "only instances on one machine are measured under load like that",
}
"""Settings that are of one machine, each with the reason."""


def compile_deployment(
    model: Any,
    deployment: Any,
    *,
    settings: CompileSettings | None = None,
    progress: Watcher = unwatched,
    began: float | None = None,
    **options: Unpack[CompileOptions],
) -> DeployedModel:
    """Find, by measuring, which machine should run which part of the model, and build it for these machines.

    The whole model is compiled on each machine. Where measured costs and links promise that stages on several machines
    are faster, these are compiled too, and timed against the best machine alone, from here. What is not shown to be
    faster does not ship.

    Args:
        model: Path of an ONNX file, its bytes, or a loaded model, of known sizes.
        deployment: Anything `intarsia.config.Deployment` takes, or the path of its file. A machine whose runtime is
            ``rpc -address=HOST:PORT`` is that of the worker there, and at most one machine has none: this one.
        settings: How it is compiled; the budget is for all of it. With the objective ``throughput`` it is a stream of
            requests that is to be fast, on which the machines work at one time; else each request by itself.
        progress: Told of every step.
        began: When the budget began, by ``time.monotonic``; with the call if left out.
        **options: Settings as keywords, as for `intarsia.compile`.

    Returns:
        The model, loaded on its machines; ``.report`` holds what was measured.

    Raises:
        InputError: The model, the deployment or a setting is wrong.
        BackendUnavailableError: More than one machine has no worker.
        BackendError: No machine runs the whole model.
        RemoteError: A worker cannot be reached, or ended.
        Interrupted: By Ctrl-C; it holds nothing.
    """
    stated = settings_of("compile_deployment()", settings, options, refused=REFUSED)
    if ranges_of(stated.shapes or {}):
        raise ConfigError("sizes of a model over several machines stay as they are: state one size for each dimension")
    described = deployment_of(deployment)
    machines = machines_of(described)
    deadline = Deadline(stated.budget, began)
    watch = Counting(progress, deadline)
    start = time.monotonic()
    with ExitStack() as undo, as_interrupted():
        watch(Progress(stage="load"))
        graph = load_model(model, stated.shapes)
        if model_constraints(graph):
            raise ConfigError("the model says on which devices of one machine its nodes run; remove that")
        graph = replace(graph, metadata=MappingProxyType({}))
        scratch = Scratch()
        undo.callback(scratch.close)
        compiler = StageCompiler(graph, machines, stated, scratch.path, watch)
        streams = stated.objective == "throughput"
        search = Search(graph, machines, compiler, scratch.path, deadline, watch, streams=streams, seed=stated.seed)
        outcome = search.run()
        report = report_of(
            outcome,
            described,
            machines,
            model=str(model) if isinstance(model, str | os.PathLike) else "a model in memory",
            streams=streams,
            budget_s=stated.budget,
            seconds=time.monotonic() - start,
        )
        artifact = compiler.write(outcome.plan, scratch.path / "deployed.intarsia", report)
        loaded = DeployedModel(artifact, machines, OWN, scratch.close)
        undo.pop_all()
        return loaded


def load_deployment(path: AnyPath, deployment: Any, *, trust: Trust | None = None) -> DeployedModel:
    """Load the artifact of a deployed model on its machines, ready to call.

    The artifact does not say where the workers listen: the deployment does. This trusts whoever made the file, as
    `intarsia.load` does; a worker runs what it is sent as its own user.

    Args:
        path: The artifact.
        deployment: Anything `intarsia.config.Deployment` takes, or the path of its file. It has the machines that the
            artifact names, and may say of them what it likes beside: what they run is in the artifact.
        trust: What the stages of this machine may do; what `intarsia.load` allows if left out.

    Raises:
        ArtifactError: Missing, damaged, of one machine only, or built for another machine class.
        ConfigError: The deployment lacks a machine of it.
        RemoteError: A worker cannot be reached, or refuses.
    """
    machines = machines_of(deployment_of(deployment))
    return DeployedModel(DeployedArtifact(Path(path)), machines, trust or Trust.of())


def deployment_of(form: Any) -> Deployment:
    """A deployment of any form; a text that names a file is that file."""
    if isinstance(form, os.PathLike):
        return Deployment(Path(form))
    if isinstance(form, str) and "\n" not in form and Path(form).suffix in (".yaml", ".yml", ".json"):
        return Deployment(Path(form))
    return Deployment.of(form)
