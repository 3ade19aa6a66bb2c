"""Machines elsewhere, in whichever way they are reached: by a worker that listens, or as a node of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

import numpy as np

from intarsia.config.drives import REMOTE, Runtime
from intarsia.cost.worker.progress import Watcher
from intarsia.remote.actors.node_place import NodePlace
from intarsia.remote.following import Compiled
from intarsia.remote.place import WorkerPlace

Place = WorkerPlace | NodePlace


class Reached(Protocol):
    """A machine elsewhere as its caller uses it. What each method does is said by `intarsia.remote.client.Worker`."""

    def upload(self, files: Iterable[Path | bytes]) -> list[str]:
        """Send contents, and return their digests."""

    def compile(self, files: Mapping[str, Path | bytes], target: str, settings: str, progress: Watcher) -> Compiled:
        """Compile a model there."""

    def fetch(self, digest: str, path: Path) -> None:
        """Bring a content here, into a file."""

    def load(self, digest: str) -> str:
        """Load an artifact that is there, and return the name of the model."""

    def run(
        self, model: str, arrays: Mapping[str, np.ndarray], *, is_timed: bool = False
    ) -> tuple[dict[str, np.ndarray], list[int]]:
        """Results of a loaded model, and the nanoseconds of each step if they are asked for."""

    def echo(self, content: bytes) -> bytes:
        """What comes back, which is what was sent."""

    def close_model(self, model: str) -> None:
        """Free a loaded model."""

    def close(self) -> None:
        """Let go of the machine."""


def place_of(runtime: Runtime, machine: str = "") -> Place:
    """The place that a runtime names, which is elsewhere.

    Args:
        runtime: Of the kind ``rpc``, with an address, or ``ray``.
        machine: What a deployment calls it.

    Raises:
        ConfigError: It names what cannot be read.
    """
    if runtime.kind.name == REMOTE:
        return WorkerPlace.of_runtime(runtime)
    return NodePlace.of_runtime(runtime, machine)


def connect(place: Place) -> None:
    """Connect this process to the cluster that a place is a node of; nothing for a worker, which is called by itself.

    Raises:
        RemoteError: There is no such cluster.
        ConfigError: This process is connected to another one.
        BackendUnavailableError: Ray is not installed.
    """
    if isinstance(place, NodePlace):
        from intarsia.remote.actors.cluster import connected

        connected(place.address)


def reached(place: Place) -> Reached:
    """The machine at a place, which was greeted; whoever asks for it closes it.

    Raises:
        RemoteError: It cannot be reached, refuses, or is of another version.
        BackendUnavailableError: What it is called with is not installed.
    """
    if isinstance(place, WorkerPlace):
        from intarsia.remote.client import Worker

        return Worker(place)
    from intarsia.remote.actors.actor_worker import ActorWorker

    return ActorWorker(place)
