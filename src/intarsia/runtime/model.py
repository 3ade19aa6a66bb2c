"""`CompiledModel`: an artifact that can be called."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from intarsia.backends.base import Signature
from intarsia.errors import ConfigError
from intarsia.runtime.artifact import Artifact
from intarsia.runtime.build import build, load_build, load_steps
from intarsia.runtime.container import remove_stale
from intarsia.runtime.executor import Executor
from intarsia.runtime.feeds import check_feeds
from intarsia.runtime.plan import Plan

log = logging.getLogger(__name__)


class CompiledModel:
    """A model compiled for this machine.

    Engines are loaded at the first call, or by ``load``. Calls from several threads take turns.

    Example::

        model = intarsia.load("resnet50.intarsia")
        probabilities = model({"data": image})["softmax"]
    """

    def __init__(self, artifact: Artifact, on_close: Callable[[], None] | None = None) -> None:
        self._artifact = artifact
        self._on_close = on_close
        self._executor: Executor | None = None

    @property
    def plan(self) -> Plan:
        """Which engine runs which nodes, and the threads and spinning all of them obey."""
        return self._artifact.plan

    @property
    def report(self) -> Mapping[str, Any]:
        """What the compile measured: the object that ``intarsia compile --json`` prints."""
        return self._artifact.report()

    @property
    def artifact(self) -> Artifact:
        """The file behind it."""
        return self._artifact

    @property
    def inputs(self) -> tuple[Signature, ...]:
        """Name, dtype and shape of each input."""
        return self.plan.inputs

    @property
    def outputs(self) -> tuple[Signature, ...]:
        """Name, dtype and shape of each output."""
        return self.plan.outputs

    def __call__(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Run once.

        Args:
            feeds: One array per input, of the input's dtype and shape.

        Returns:
            One array per output, owned by the caller.

        Raises:
            FeedError: A feed is missing, unknown, or of another dtype or shape; no engine has seen it.
            ExecutionError: An engine failed.
        """
        return self.load().run(feeds)

    def load(self) -> Executor:
        """Load the engines, once.

        Raises:
            ArtifactError: Built for another machine class.
            BackendUnavailableError: An engine it needs is not installed.
            LoadError: An engine did not load its part.
        """
        if self._executor is None:
            for remark in self._artifact.check_machine():
                log.warning("%s: %s", self._artifact.path, remark)
            changed = self._artifact.changed_engines()
            if changed:
                log.warning("%s: rebuilt in memory, since %s", self._artifact.path, ", ".join(changed))
                graph = self._artifact.graph()
                self._executor = load_build(graph, build(graph, self.plan))
            else:
                built = self._artifact.build()
                self._executor = load_steps(built.plan, built.artifacts, self._artifact.weights())
        return self._executor

    def profile(self, feeds: Mapping[str, np.ndarray], runs: int = 10) -> list[float]:
        """Median milliseconds of each partition over ``runs`` runs."""
        if runs < 1:
            raise ConfigError(f"cannot profile {runs} runs: give at least 1")
        executor = self.load()
        executor.feed(check_feeds(self.inputs, feeds))
        executor.call()
        spent = np.array([executor.timed_call() for _ in range(runs)])
        return [float(ms) for ms in np.median(spent, axis=0) / 1e6]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Copy the artifact to ``path``; it appears whole or not at all."""
        destination = Path(path)
        destination.parent.mkdir(parents=True, exist_ok=True)
        remove_stale(destination)
        temporary = destination.with_name(f".{destination.name}.{os.getpid()}.tmp")
        try:
            try:
                os.link(self._artifact.path, temporary)
            except OSError:  # another file system
                shutil.copyfile(self._artifact.path, temporary)
            os.replace(temporary, destination)
        finally:
            temporary.unlink(missing_ok=True)
        return destination

    def close(self) -> None:
        """Free the engines' memory and any temporary file. Calling it twice is fine."""
        if self._executor is not None:
            self._executor.close()
            self._executor = None
        if self._on_close is not None:
            self._on_close()
            self._on_close = None

    def __enter__(self) -> CompiledModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        parts = ", ".join(f"{len(p.nodes)} nodes on {p.target.kind.name}" for p in self.plan.partitions)
        return f"CompiledModel({parts}; {self.plan.settings.threads} threads)"


def load(path: str | os.PathLike[str]) -> CompiledModel:
    """Load an artifact with its engines, ready to call.

    Raises:
        ArtifactError: Missing, damaged, or built for another machine class.
        BackendUnavailableError: An engine it needs is not installed.
        LoadError: An engine did not load its part.
    """
    model = CompiledModel(Artifact(Path(path)))
    model.load()
    return model
