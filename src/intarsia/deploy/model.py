"""`DeployedModel`: a model whose stages run on several machines, called from here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from intarsia.backends.contract import Signature
from intarsia.deploy.artifact import DeployedArtifact
from intarsia.deploy.machines import Machine
from intarsia.deploy.stage_rows import StageRow
from intarsia.deploy.stages import LoadedStage, StageRunner
from intarsia.errors import ConfigError, FeedError
from intarsia.files import Scratch, make_folder, place_file
from intarsia.runtime.artifact.trust import OWN, Trust
from intarsia.runtime.executors.feeds import named_feeds
from intarsia.runtime.executors.stream import Stream
from intarsia.spec.problems import nearest


class DeployedModel:
    """A model over several machines. Its stages are loaded when this is made; several threads may call it.

    Example::

        with intarsia.load_deployment("two.intarsia", "two.yaml") as model:
            scores = model({"data": image})["scores"]

    Raises:
        ConfigError: The deployment lacks a machine of the artifact.
        ArtifactError: A stage was built for another machine.
        RemoteError: A worker cannot be reached, or refuses.
    """

    def __init__(
        self,
        artifact: DeployedArtifact,
        machines: Mapping[str, Machine],
        trust: Trust = OWN,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        """Load the stages.

        Args:
            artifact: What is loaded.
            machines: Where the machines that it names are.
            trust: What the stages of this machine may do. A worker runs what it is sent as its own user.
            on_close: Called at the end.
        """
        self._artifact = artifact
        self._on_close = on_close
        description = artifact.description
        for name in dict.fromkeys(stage.machine for stage in description.stages):
            if name not in machines:
                hint = nearest(name, machines, f"there are {', '.join(machines)}")
                raise ConfigError(f"{artifact.path}: a stage runs on {name!r}, and the deployment has no such{hint}")
        self._scratch = Scratch()
        try:
            self._runner = self._loaded(machines, trust)
        except BaseException:
            self._scratch.close()
            raise

    def _loaded(self, machines: Mapping[str, Machine], trust: Trust) -> StageRunner:
        description = self._artifact.description
        loaded: list[LoadedStage] = []
        try:
            paths = self._artifact.extract(self._scratch.path)
            for stage, path, drops in zip(description.stages, paths, description.drops(), strict=True):
                model = machines[stage.machine].load(path, trust)
                loaded.append(LoadedStage(machine=stage.machine, model=model, drops=drops))
        except BaseException:
            for each in loaded:
                each.model.close()
            raise
        return StageRunner(loaded, description.inputs, description.outputs)

    @property
    def stages(self) -> tuple[StageRow, ...]:
        """Which machine runs which nodes, in order."""
        return self._artifact.description.stages

    @property
    def inputs(self) -> tuple[Signature, ...]:
        """Name, dtype and shape of each input."""
        return self._artifact.description.inputs

    @property
    def sample_inputs(self) -> tuple[Signature, ...]:
        """The inputs with a shape that each may have, which is their own."""
        return self.inputs

    @property
    def outputs(self) -> tuple[Signature, ...]:
        """Name, dtype and shape of each output."""
        return self._artifact.description.outputs

    @property
    def report(self) -> Mapping[str, Any]:
        """What the compile measured: the object that ``intarsia compile --deployment … --json`` prints."""
        return self._artifact.report()

    def __call__(self, /, *feeds: Any, **named: Any) -> dict[str, np.ndarray]:
        """Run once, with arrays as a `CompiledModel` takes them: one mapping, by place, or by name.

        Raises:
            FeedError: A feed is missing, unknown, or of another dtype or shape; nothing was sent.
            ExecutionError: An engine failed.
            RemoteError: A worker cannot be reached any more; nothing came of the call.
        """
        if len(feeds) == 1 and isinstance(feeds[0], Mapping):
            if named:
                raise FeedError("a mapping of all arrays is given, and more beside it; put those into the mapping")
            return self._runner.run(feeds[0])
        return self._runner.run(named_feeds(self.inputs, feeds, named))

    def stream(self, feeds: Iterable[Mapping[str, np.ndarray]]) -> Stream:
        """Run once for each of a stream of requests, and yield the results in their order.

        The machines work on different requests at one time. What goes wrong in a request is raised in the place of its
        result; each request is run once, or, where a link was lost while a worker computed it, by that worker again.
        """
        return self._runner.stream(feeds)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Copy the artifact to a path; it appears whole or not at all. Errors are those of `CompiledModel.save`."""
        destination = Path(path)
        make_folder(destination.parent)
        place_file(self._artifact.path, destination, is_spare=False)
        return destination

    def close(self) -> None:
        """Free the engines on all machines, and any temporary file. Calling it twice is fine."""
        self._runner.close()
        self._scratch.close()
        on_close, self._on_close = self._on_close, None
        if on_close is not None:
            on_close()

    def __enter__(self) -> DeployedModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
