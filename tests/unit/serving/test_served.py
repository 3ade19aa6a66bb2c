from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from intarsia.errors import ExecutionError, FeedError
from intarsia.serving.batching.batches import Batches
from intarsia.serving.figures import Figures
from intarsia.serving.limits import Limits
from intarsia.serving.metadata import ModelMetadata
from intarsia.serving.served import ServedModel
from intarsia.serving.statuses import RequestError, Status, bad
from intarsia.serving.versions import put
from tests.unit.serving.batching.questions import Question
from tests.unit.serving.fakes import Gated, loaded

LONG_S = 120.0
FEEDS = {"x": np.zeros(2, np.float32)}


_MADE: list[ServedModel] = []


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    """Every model that a test made is closed, so that its threads end."""
    yield
    while _MADE:
        _MADE.pop().close()


def served(limits: Limits | None = None) -> tuple[ServedModel, Figures]:
    figures = Figures()
    _MADE.append(ServedModel("m", limits or Limits(), figures.of("m")))
    return _MADE[-1], figures


def ask(model: ServedModel) -> tuple[str, list[float]]:
    """The version that answered, and what."""
    question = Question(model, FEEDS["x"])
    put([question])
    return question.answer()


def count(figures: Figures, name: str, **labels: str) -> float:
    return figures.registry.get_sample_value(name, {"model": "m", **labels}) or 0.0


def test_a_request_is_answered_and_its_stages_are_timed() -> None:
    model, figures = served()
    model.swap(loaded(Gated()))
    assert ask(model) == ("1", [1.0, 1.0])
    assert count(figures, "intarsia_requests_total", status="OK") == 1
    for stage in ("queue", "decode", "compute", "encode"):
        assert count(figures, "intarsia_stage_seconds_count", stage=stage) == 1


def test_nothing_is_answered_before_it_is_loaded() -> None:
    model, _ = served()
    assert not model.is_ready
    with pytest.raises(RequestError, match="being loaded") as caught:
        model.admit()
    assert caught.value.status is Status.NOT_READY


def test_only_the_version_that_is_there_is_served() -> None:
    model, _ = served()
    model.swap(loaded(Gated()))
    model.release(model.admit("1"))
    with pytest.raises(RequestError, match=r"no version '7'; version 1 is served") as caught:
        model.admit("7")
    assert caught.value.status is Status.NOT_FOUND


def test_one_more_than_may_wait_is_refused_until_one_has_ended() -> None:
    model, figures = served(Limits(waiting=2))
    model.swap(loaded(Gated()))
    tickets = [model.admit() for _ in range(3)]
    with pytest.raises(RequestError, match=r"the queue of model m is full \(2 requests\)") as caught:
        model.admit()
    assert caught.value.status is Status.OVERLOADED
    assert caught.value.retry_s >= 1
    assert count(figures, "intarsia_refusals_total", why="queue") == 1
    model.release(tickets[0])
    model.admit()


def test_who_waits_too_long_is_refused() -> None:
    model, figures = served(Limits(timeout_s=0.01))
    gated = Gated(is_open=False)
    model.swap(loaded(gated))
    first = Question(model, FEEDS["x"])
    first.ticket.deadline += LONG_S
    put([first])
    assert gated.entered.acquire(timeout=LONG_S)
    with pytest.raises(RequestError, match=r"no instance of model m was free within 0\.01 s") as caught:
        ask(model)
    gated.gate.set()
    first.answer()
    assert caught.value.status is Status.OVERLOADED
    assert count(figures, "intarsia_refusals_total", why="timeout") == 1


@pytest.mark.parametrize(
    ("raised", "status"),
    [
        (FeedError("input x is bad"), Status.BAD_REQUEST),
        (ExecutionError("mnn", "it broke"), Status.FAILED),
        (ZeroDivisionError("by zero"), Status.FAILED),
    ],
)
def test_what_a_model_raises_is_told_and_the_instance_goes_on(raised: Exception, status: Status) -> None:
    def fail(_: Mapping[str, np.ndarray], /) -> dict[str, np.ndarray]:
        raise raised

    model, figures = served()
    model.swap(loaded(fail))
    for _ in range(2):
        with pytest.raises(RequestError, match=str(raised)) as caught:
            ask(model)
        assert caught.value.status is status
    assert count(figures, "intarsia_requests_total", status=status.name) == 2
    model.drain()
    assert model.wait_drained(0.0) == 0


def test_a_request_that_is_refused_while_it_is_decoded_takes_no_instance() -> None:
    gated = Gated()
    model, _ = served()
    model.swap(loaded(gated))
    refused = Question(model, refusal=bad("no"))
    put([refused])
    assert str(refused.refused()) == "no"
    assert gated.calls == 0
    assert ask(model) == ("1", [1.0, 1.0])


def test_as_many_run_at_one_time_as_there_are_instances() -> None:
    gated = [Gated(is_open=False) for _ in range(2)]
    model, _ = served()
    model.swap(loaded(*gated))
    with ThreadPoolExecutor(6) as threads:
        asked = [threads.submit(ask, model) for _ in range(6)]
        for each in gated:
            assert each.entered.acquire(timeout=LONG_S)
            assert not each.entered.acquire(blocking=False)
        for each in gated:
            each.gate.set()
        assert [each.result(LONG_S) for each in asked] == [("1", [1.0, 1.0])] * 6
    assert sum(each.calls for each in gated) == 6


def test_a_swap_answers_what_was_admitted_by_the_version_that_admitted_it_and_then_closes_that() -> None:
    old, closed = Gated(is_open=False), list[str]()
    model, _ = served()
    model.swap(loaded(old, closed=closed))
    with ThreadPoolExecutor() as threads:
        asked = [threads.submit(ask, model) for _ in range(3)]
        assert old.entered.acquire(timeout=LONG_S)
        await_admitted(model, 3)
        swapped = threads.submit(model.swap, loaded(Gated(), version="2"))
        await_version(model, "2")
        assert ask(model) == ("2", [1.0, 1.0])
        assert not swapped.done()
        assert closed == []
        old.gate.set()
        assert {each.result(LONG_S) for each in map(_first, asked)} == {"1"}
        swapped.result(LONG_S)
    assert closed == ["1"]
    assert ask(model)[0] == "2"


def _first(asked: Future[tuple[str, list[float]]]) -> Future[str]:
    made: Future[str] = Future()
    made.set_result(asked.result(LONG_S)[0])
    return made


def await_admitted(model: ServedModel, number: int) -> None:
    pause = threading.Event()
    for _ in range(int(LONG_S / 0.005)):
        if model._admitted == number:
            return
        pause.wait(0.005)
    raise AssertionError(f"{model._admitted} are admitted, not {number}")


def await_version(model: ServedModel, version: str) -> None:
    pause = threading.Event()
    for _ in range(int(LONG_S / 0.005)):
        if model.metadata is not None and model.metadata.version == version:
            return
        pause.wait(0.005)
    raise AssertionError(version)


def test_a_drain_waits_for_what_was_admitted_and_admits_no_more() -> None:
    gated = Gated(is_open=False)
    model, _ = served()
    model.swap(loaded(gated))
    with ThreadPoolExecutor() as threads:
        asked = threads.submit(ask, model)
        assert gated.entered.acquire(timeout=LONG_S)
        model.drain()
        assert not model.is_ready
        with pytest.raises(RequestError, match="about to end") as caught:
            model.admit()
        assert caught.value.status is Status.NOT_READY
        assert model.wait_drained(0.01) == 1
        drained = threads.submit(model.wait_drained, LONG_S)
        gated.gate.set()
        assert drained.result(LONG_S) == 0
        assert asked.result(LONG_S) == ("1", [1.0, 1.0])


def timed(model: ServedModel, clock: Clock, size: int, seconds: float) -> None:
    ticket = model.admit()
    ticket.size = size
    clock.step_s = seconds
    assert model.reserve(ticket)
    model.answer(ticket, lambda _: (FEEDS, None), lambda *_: None)


class Clock:
    """Goes on by so many seconds whenever the model computes."""

    def __init__(self) -> None:
        self.now_s, self.step_s = 0.0, 0.0

    def monotonic(self) -> float:
        return self.now_s

    def __call__(self, feeds: Mapping[str, np.ndarray], /) -> dict[str, np.ndarray]:
        self.now_s += self.step_s
        return {"y": feeds["x"]}


def is_quick(model: ServedModel, size: int) -> bool:
    ticket = model.admit()
    ticket.size = size
    try:
        return model.is_quick(ticket)
    finally:
        model.release(ticket)


def test_what_is_quick_is_learnt_by_size_and_forgotten_once_it_is_slow_again_and_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    monkeypatch.setattr(Batches, "come_alone", True)
    monkeypatch.setattr("intarsia.serving.served.time", clock)
    model, _ = served()
    model.swap(loaded(clock))
    await_idle(model)
    assert not is_quick(model, 0)
    timed(model, clock, 100, 0.001)
    assert is_quick(model, 100)
    assert not is_quick(model, 101)
    for _ in range(20):  # now and then it had to wait for a core
        timed(model, clock, 50, 0.02)
        timed(model, clock, 50, 0.001)
    assert is_quick(model, 100)
    timed(model, clock, 60, 0.02)
    timed(model, clock, 60, 0.02)
    assert is_quick(model, 59)
    assert not is_quick(model, 60)
    model.swap(loaded(clock, version="2"))
    assert not is_quick(model, 0)


def await_idle(model: ServedModel) -> None:
    """The thread of an instance lends it once it has begun."""
    ticket = model.admit()
    while not model.reserve(ticket):
        threading.Event().wait(0.001)
    model.release(ticket)


def test_an_instance_that_is_reserved_is_given_back_however_the_request_ends() -> None:
    def refuse(_: ModelMetadata) -> Any:
        raise bad("no")

    model, _ = served()
    model.swap(loaded(Gated()))
    await_idle(model)
    released = model.admit()
    assert model.reserve(released)
    other = model.admit()
    assert not model.reserve(other)
    model.release(released)
    assert model.reserve(other)
    with pytest.raises(RequestError, match="no"):
        model.answer(other, refuse, lambda *_: None)
    answered = model.admit()
    assert model.reserve(answered)
    model.answer(answered, lambda _: (FEEDS, None), lambda *_: None)
    assert ask(model) == ("1", [1.0, 1.0])


def test_figures_are_counted_by_the_time_that_they_are_asked_for() -> None:
    model, figures = served()
    model.swap(loaded(Gated()))
    for _ in range(70):
        ask(model)
    assert b'intarsia_requests_total{model="m",status="OK"} 70.0' in figures.text()
    assert b'intarsia_stage_seconds_count{model="m",stage="encode"} 70.0' in figures.text()


def test_those_that_wait_are_told() -> None:
    gated = Gated(is_open=False)
    model, figures = served()
    assert count(figures, "intarsia_queue_length") == 0
    model.swap(loaded(gated))
    with ThreadPoolExecutor() as threads:
        asked = [threads.submit(ask, model) for _ in range(3)]
        pause = threading.Event()
        while count(figures, "intarsia_queue_length") < 2:
            pause.wait(0.005)
        gated.gate.set()
        for each in asked:
            each.result(LONG_S)
    assert count(figures, "intarsia_queue_length") == 0
