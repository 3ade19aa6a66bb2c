"""`RemoteModel`: a compiled model whose engines are loaded on another machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from intarsia.remote.link import GoneError
from intarsia.remote.reach import Reached
from intarsia.runtime import Artifact, CompiledModel
from intarsia.runtime.artifact.trust import OWN
from intarsia.runtime.executors.executor import Executor
from intarsia.runtime.executors.stream import Stream
from intarsia.runtime.plan import Plan

Load = Callable[[], str]


class RemoteModel(CompiledModel):
    """A model that runs on a worker, called from here. Its artifact is here, and belongs to the worker's machine.

    Feeds are checked here, before they are sent. A call whose link is lost is made again; a model that the worker does
    not have any more, since it was started anew, is loaded there again.
    """

    def __init__(self, artifact: Artifact, worker: Reached, digest: str, on_close: Callable[[], None]) -> None:
        super().__init__(Artifact(artifact.path, OWN), on_close)
        self._worker = worker
        self._digest = digest

    @property
    def worker(self) -> Reached:
        """Where it runs."""
        return self._worker

    def stream(self, feeds: Iterable[Mapping[str, np.ndarray]]) -> Stream:
        """Run once for each of a stream of requests, one after the other, and yield the results in their order."""
        return self.load().stream(feeds)

    def close(self) -> None:
        """Free the model there, and what is kept here."""
        super().close()
        self._worker.close()

    def _load(self) -> None:
        if self._executor is None:
            check = self._artifact.input_spec.checked if self.buckets else self.checked
            self._executor = RemoteExecutor(self._worker, self._loaded_there, self.plan, check)

    def _loaded_there(self) -> str:
        try:
            return self._worker.load(self._digest)
        except GoneError:
            self._worker.upload([self._artifact.path])
            return self._worker.load(self._digest)


class RemoteExecutor(Executor):
    """Runs a plan by a worker; it has no buffers and no engines itself."""

    def __init__(
        self,
        worker: Reached,
        load: Load,
        plan: Plan,
        check: Callable[[Mapping[str, np.ndarray]], Mapping[str, np.ndarray]],
    ) -> None:
        super().__init__(replace(plan, steps=(), inputs=(), outputs=()), (), ())
        self.plan = plan
        self._worker = worker
        self._load = load
        self._check = check
        self._loaded = [load()]
        self._turns.owns(partial(_free, worker, self._loaded))

    def run(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """As `Executor.run`; the worker is a `RemoteError` where it fails."""
        arrays = self._check(feeds)
        return self._turns.run(partial(self._there, arrays, is_timed=False))[0]

    def _timed_run(self, arrays: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], list[int]]:
        return self._there(arrays, is_timed=True)

    def _there(self, arrays: Mapping[str, np.ndarray], *, is_timed: bool) -> tuple[dict[str, np.ndarray], list[int]]:
        try:
            return self._worker.run(self._loaded[0], arrays, is_timed=is_timed)
        except GoneError:
            self._loaded[0] = self._load()
            return self._worker.run(self._loaded[0], arrays, is_timed=is_timed)


def _free(worker: Reached, loaded: list[str]) -> None:
    worker.close_model(loaded[0])
