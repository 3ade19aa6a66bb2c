"""Stages run in order, a stream keeps the order of its requests, and an error stands in the place of its result."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pytest

from intarsia.backends.contract import Signature
from intarsia.deploy.stages import LoadedStage, StageRunner
from intarsia.errors import ExecutionError, FeedError
from intarsia.runtime import CompiledModel

X, H, Y = (Signature(name=name, dtype="float32", shape=(2,)) for name in "xhy")


class Adding:
    """A model that adds to what it is given; it fails where that is 13."""

    def __init__(self, given: Signature, made: Signature, what: float) -> None:
        self.inputs = (given,)
        self._names = given.name, made.name
        self._what = what
        self.threads: set[int] = set()
        self.calls = 0
        self.is_closed = False

    def __call__(self, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        given, made = self._names
        self.calls += 1
        self.threads.add(threading.get_ident())
        assert list(feeds) == [given]
        if feeds[given][0] == 13:
            raise ExecutionError("an engine", "it is superstitious")
        return {made: feeds[given] + np.float32(self._what)}

    def close(self) -> None:
        self.is_closed = True


def feeds(value: float) -> dict[str, np.ndarray]:
    return {"x": np.full(2, value, np.float32)}


@pytest.fixture
def models() -> tuple[Adding, Adding]:
    return Adding(X, H, 1), Adding(H, Y, 100)


@pytest.fixture
def runner(models: tuple[Adding, Adding]) -> Iterator[StageRunner]:
    drops = (frozenset({"x"}), frozenset({"h"}))
    stages = [
        LoadedStage(machine=name, model=cast("CompiledModel", model), drops=dropped)
        for name, model, dropped in zip("ab", models, drops, strict=True)
    ]
    made = StageRunner(stages, [X], [Y])
    yield made
    made.close()
    assert all(model.is_closed for model in models)


def test_a_call_goes_through_all_stages(runner: StageRunner) -> None:
    assert {name: array.tolist() for name, array in runner.run(feeds(1)).items()} == {"y": [102, 102]}


@pytest.mark.parametrize("wrong", [{}, {"z": 1}, {"x": np.zeros(3, np.float32)}])
def test_wrong_feeds_reach_no_machine(
    runner: StageRunner, models: tuple[Adding, Adding], wrong: dict[str, Any]
) -> None:
    with pytest.raises(FeedError):
        runner.run(wrong)
    assert [model.calls for model in models] == [0, 0]


def test_a_stream_keeps_its_order_and_each_request_runs_once(
    runner: StageRunner, models: tuple[Adding, Adding]
) -> None:
    count = 200
    with runner.stream(feeds(1000 + number) for number in range(count)) as results:
        assert [float(each["y"][0]) for each in results] == [1101 + number for number in range(count)]
    assert [model.calls for model in models] == [count, count]
    assert models[0].threads.isdisjoint(models[1].threads)


def test_an_error_stands_in_the_place_of_its_result(runner: StageRunner) -> None:
    requests: list[Any] = [feeds(1), feeds(13), {"z": 1}, feeds(12), feeds(2), 5]
    found: list[Any] = []
    with runner.stream(requests) as results:
        for _ in requests:
            try:
                found.append(float(next(results)["y"][0]))
            except (ExecutionError, FeedError) as error:
                found.append(type(error))
    assert found == [102, ExecutionError, FeedError, ExecutionError, 103, FeedError]


def test_closing_a_stream_ends_it_and_leaves_the_stages(runner: StageRunner) -> None:
    results = runner.stream(feeds(number) for number in range(1000))
    next(results)
    results.close()
    assert runner.run(feeds(1))["y"][0] == 102
