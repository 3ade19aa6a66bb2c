"""`RemoteModel`: a compiled model whose engines are loaded on another machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from intarsia.remote.link import GoneError
from intarsia.remote.reach import Reached
from intarsia.remote.under_way import UnderWay
from intarsia.runtime import Artifact, CompiledModel
from intarsia.runtime.artifact.trust import OWN
from intarsia.runtime.executors.executor import Executor
from intarsia.runtime.executors.stream import Stream, failed, requests_of, taken
from intarsia.runtime.plan import Plan

Load = Callable[[], str]
AT_ONE_TIME: Final = 2
"""Requests that one loaded model has in hand: while one is computed, another one is sent."""


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
        """Run once for each of a stream of requests, and yield the results in their order.

        While the worker computes one, the next one is sent.
        """
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
    """Runs a plan by a worker; it has no buffers and no engines itself.

    Several threads may have a call under way: the worker computes one after the other.
    """

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
        self._loading = threading.Lock()
        self._under_way = UnderWay(partial(_free, worker, self._loaded))
        self._turns.owns(self._under_way.end)

    def run(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """As `Executor.run`; the worker is a `RemoteError` where it fails."""
        return self._checked_run(self._check(feeds))

    def stream(self, feeds: Iterable[Mapping[str, np.ndarray]]) -> Stream:
        """Run once for each request; one is sent while another one is computed."""
        requests = requests_of(feeds)
        pool = ThreadPoolExecutor(AT_ONE_TIME, f"calls of {self._worker}")

        def submit(request: Mapping[str, np.ndarray]) -> Future[dict[str, np.ndarray]]:
            try:
                arrays = taken(request, self._check)
            except Exception as error:
                return failed(error)
            return pool.submit(self._checked_run, arrays)

        return Stream(submit, requests, AT_ONE_TIME, pool.shutdown)

    def _checked_run(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        self._turns.run(self._under_way.begin)
        with self._under_way.until_done():
            return self._there(arrays, is_timed=False)[0]

    def _timed_run(self, arrays: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], list[int]]:
        return self._there(arrays, is_timed=True)

    def _there(self, arrays: Mapping[str, np.ndarray], *, is_timed: bool) -> tuple[dict[str, np.ndarray], list[int]]:
        known = self._loaded[0]
        try:
            return self._worker.run(known, arrays, is_timed=is_timed)
        except GoneError:
            with self._loading:
                if self._loaded[0] == known:
                    self._loaded[0] = self._load()
            return self._worker.run(self._loaded[0], arrays, is_timed=is_timed)


def _free(worker: Reached, loaded: list[str]) -> None:
    worker.close_model(loaded[0])
