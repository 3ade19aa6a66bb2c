"""The worker processes of one compile: one for each way of running that needs an environment of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from intarsia.config.settings import RunSettings
from intarsia.cost.worker.client import WorkerClient
from intarsia.files import uninterrupted
from intarsia.runtime.environment import worker_environment


class WorkerPool:
    """Workers by settings, each made when it is first asked for.

    Args:
        engines: Names of the engines that a worker may load.
    """

    def __init__(self, folder: Path, engines: Iterable[str]) -> None:
        self._folder = folder
        self._engines = tuple(engines)
        self._workers: dict[RunSettings, WorkerClient] = {}

    def __getitem__(self, settings: RunSettings) -> WorkerClient:
        """The worker that measures with these settings."""
        alike = _alike(settings)
        if alike not in self._workers:
            self._workers[alike] = WorkerClient(self._folder, worker_environment(self._engines, alike))
        return self._workers[alike]

    def __contains__(self, settings: RunSettings) -> bool:
        return _alike(settings) in self._workers

    def __iter__(self) -> Iterator[WorkerClient]:
        return iter(tuple(self._workers.values()))

    def stop(self) -> None:
        """End the processes; each starts again when it is asked, so that only their memory is given back.

        A Ctrl-C meanwhile comes when all have ended, or those behind it would go on.
        """
        with uninterrupted(), ExitStack() as stack:
            for worker in self:
                stack.callback(worker.close)

    def close(self) -> None:
        """End the processes and forget them."""
        self.stop()
        self._workers.clear()


def _alike(settings: RunSettings) -> RunSettings:
    """The settings that a process depends on: how calls follow each other is not one of them."""
    return replace(settings, parallel=False, pipeline=None, max_error=None, verified=True, instances=1)
