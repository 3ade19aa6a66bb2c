"""Calls of one remote model overlap; its end waits for them, and each is answered or fails by itself."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import cast

import numpy as np
import pytest

from intarsia.config.settings import RunSettings
from intarsia.errors import ClosedError, FeedError
from intarsia.remote.link import GoneError
from intarsia.remote.model import AT_ONE_TIME, RemoteExecutor
from intarsia.remote.reach import Reached
from intarsia.runtime.plan import Plan

PLAN = Plan(steps=(), settings=RunSettings(threads=1), inputs=(), outputs=())
PATIENCE_S = 30.0


class Worker:
    """Answers with twice what it gets, once as many calls as ``together`` wait for it at one time."""

    def __init__(self, together: int = 1) -> None:
        self._meeting = threading.Barrier(together)
        self.begun = threading.Event()
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.lost: set[str] = set()
        self.loaded = 0
        self.closed: list[str] = []

    def load(self) -> str:
        self.loaded += 1
        return f"model-{self.loaded}"

    def run(
        self, model: str, arrays: Mapping[str, np.ndarray], *, is_timed: bool = False
    ) -> tuple[dict[str, np.ndarray], list[int]]:
        self.begun.set()
        self._meeting.wait(PATIENCE_S)
        assert self.may_go_on.wait(PATIENCE_S)
        if model in self.lost:
            raise GoneError("no such model")
        return {"y": arrays["x"] * 2}, []

    def close_model(self, model: str) -> None:
        self.closed.append(model)


def checked(feeds: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
    if "x" not in feeds:
        raise FeedError("x is missing")
    return feeds


def executor(worker: Worker) -> RemoteExecutor:
    return RemoteExecutor(cast("Reached", worker), worker.load, PLAN, checked)


def x(value: float) -> dict[str, np.ndarray]:
    return {"x": np.array([value])}


def test_while_one_request_of_a_stream_is_computed_the_next_one_is_sent() -> None:
    worker = Worker(together=AT_ONE_TIME)
    with executor(worker).stream(x(value) for value in range(2 * AT_ONE_TIME)) as results:
        assert [float(each["y"][0]) for each in results] == [0.0, 2.0, 4.0, 6.0]


def test_a_wrong_request_of_a_stream_is_an_error_in_its_place() -> None:
    with executor(Worker()).stream([x(1), {}, x(2)]) as results:
        assert next(results)["y"] == [2.0]
        with pytest.raises(FeedError, match="x is missing"):
            next(results)
        assert next(results)["y"] == [4.0]


def test_what_a_request_holds_is_copied_when_it_is_taken() -> None:
    same = np.zeros(1)

    def requests() -> object:
        for value in (1.0, 2.0, 3.0):
            same[0] = value
            yield {"x": same}

    with executor(Worker()).stream(requests()) as results:  # type: ignore[arg-type]
        assert [float(each["y"][0]) for each in results] == [2.0, 4.0, 6.0]


def test_a_model_that_the_worker_lost_is_loaded_once_for_all_calls() -> None:
    worker = Worker(together=AT_ONE_TIME)
    loaded = executor(worker)
    worker.lost.add("model-1")
    with loaded.stream(x(value) for value in range(AT_ONE_TIME)) as results:
        assert [float(each["y"][0]) for each in results] == [0.0, 2.0]
    assert worker.loaded == 2


def test_the_end_waits_for_the_call_of_another_thread() -> None:
    worker = Worker()
    worker.may_go_on.clear()
    loaded = executor(worker)
    answers: list[float] = []
    caller = threading.Thread(target=lambda: answers.append(float(loaded.run(x(1))["y"][0])))
    caller.start()
    assert worker.begun.wait(PATIENCE_S)
    ending = threading.Thread(target=loaded.close)
    ending.start()
    assert not worker.closed
    worker.may_go_on.set()
    ending.join(PATIENCE_S)
    caller.join(PATIENCE_S)
    assert (answers, worker.closed) == ([2.0], ["model-1"])
    with pytest.raises(ClosedError):
        loaded.run(x(1))


def test_closed_from_inside_of_its_own_call_that_call_frees_it() -> None:
    worker = Worker()
    loaded = executor(worker)

    class Closing(dict[str, np.ndarray]):
        def __getitem__(self, name: str) -> np.ndarray:
            loaded.close()
            assert not worker.closed
            return super().__getitem__(name)

    assert loaded.run(Closing(x(3)))["y"] == [6.0]
    assert worker.closed == ["model-1"]
