"""Batches of a served model: who is answered together, and what one request does to the others."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from intarsia.errors import ExecutionError, FeedError
from intarsia.serving.batching import batches, line
from intarsia.serving.batching.batches import Batches
from intarsia.serving.figures import Figures
from intarsia.serving.limits import QUICK_S, Limits
from intarsia.serving.served import ServedModel
from intarsia.serving.statuses import RequestError, Status, bad
from intarsia.serving.versions import put
from tests.unit.serving.batching.questions import PATIENCE_S, Question, rows
from tests.unit.serving.fakes import Gated, loaded


class Adding(Gated):
    """Gives its input and one, notes the shape of each, and does not take numbers below zero."""

    def __init__(self, *, is_open: bool = True, fault: Exception | None = None) -> None:
        super().__init__(is_open=is_open)
        self.shapes: list[tuple[int, ...]] = []
        self.fault = fault or FeedError("x is below zero")

    def __call__(self, feeds: Mapping[str, np.ndarray], /) -> dict[str, np.ndarray]:
        self.shapes.append(feeds["x"].shape)
        found = super().__call__(feeds)
        if (feeds["x"] < 0).any():
            raise self.fault
        return found


class Bench:
    """A served model whose batches have eight rows, and which is closed at the end."""

    def __init__(self) -> None:
        self.figures = Figures()
        self.model = ServedModel("m", Limits(), self.figures.of("m"))

    def begin(self, *instances: Gated, limits: Limits | None = None) -> ServedModel:
        if limits is not None:
            self.model = ServedModel("m", limits, self.figures.of("m"))
        self.model.swap(loaded(*instances, batch=8))
        return self.model

    def count(self, name: str, **labels: str) -> float:
        return self.figures.registry.get_sample_value(name, {"model": "m", **labels}) or 0.0


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.model.close()


def ask_behind_one(held: Gated, model: ServedModel, *questions: Question) -> Question:
    """Have these wait while the only instance answers another, which is given back; it goes on then."""
    first = Question(model, rows(100.0))
    put([first])
    assert held.entered.acquire(timeout=PATIENCE_S)
    put(questions)
    held.gate.set()
    return first


def test_what_waits_together_is_answered_by_one_call_and_each_gets_its_own(bench: Bench) -> None:
    held = Adding(is_open=False)
    model = bench.begin(held)
    questions = [Question(model, rows(*range(place, 2 * place))) for place in (1, 2, 3)]
    first = ask_behind_one(held, model, *questions)
    assert first.answer() == ("1", [[101.0, 101.0]])
    for place, question in zip((1, 2, 3), questions, strict=True):
        assert question.answer() == ("1", (rows(*range(place, 2 * place)) + 1).tolist())
    assert held.shapes == [(1, 2), (6, 2)]
    assert bench.count("intarsia_batch_requests_count") == 2
    assert bench.count("intarsia_batch_requests_sum") == 4
    assert bench.count("intarsia_requests_total", status="OK") == 4
    for stage in ("queue", "decode", "compute", "encode"):
        assert bench.count("intarsia_stage_seconds_count", stage=stage) == 4
    assert model.admitted == 0


class Slow(Adding):
    """Takes so long in each call."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def __call__(self, feeds: Mapping[str, np.ndarray], /) -> dict[str, np.ndarray]:
        threading.Event().wait(self.seconds)
        return super().__call__(feeds)


def sent_together(bench: Bench, model: Gated, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many of 40 requests were settled at each time, behind one that tells how long a call takes."""
    found: list[int] = []
    settle = ServedModel.settle

    def count(self: ServedModel, asked: Sequence[Question]) -> None:
        found.append(len(asked))
        settle(self, asked)

    monkeypatch.setattr(ServedModel, "settle", count)
    bench.model.swap(loaded(model))
    first = Question(bench.model, rows(0))
    put([first])
    first.answer()
    found.clear()
    questions = [Question(bench.model, rows(number)) for number in range(40)]
    put(questions)
    for number, question in enumerate(questions):
        assert question.answer() == ("1", [[number + 1.0] * 2])
    return found


def test_answers_of_quick_calls_are_sent_together_and_others_one_by_one(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert max(sent_together(bench, Adding(), monkeypatch)) > 1
    slow = sent_together(bench, Slow(2 * QUICK_S), monkeypatch)
    assert slow == [1] * 40


def test_a_round_ends_once_it_takes_too_long(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_ROUND_S", 0.0)
    monkeypatch.setattr(Batches, "_fit_round", lambda *_: None)
    bench.model.swap(loaded(Adding()))
    version = bench.model._current
    assert version is not None
    version.batches._most_rows = 8
    questions = [Question(bench.model, rows(number)) for number in range(20)]
    put(questions)
    assert [question.answer()[1] for question in questions] == [[[number + 1.0] * 2] for number in range(20)]


def test_of_those_in_a_round_one_that_fails_or_is_late_fails_alone(bench: Bench) -> None:
    held = Adding(is_open=False)
    bench.model.swap(loaded(held))
    version = bench.model._current
    assert version is not None
    version.batches._most_rows = 8
    questions = [Question(bench.model, rows(number)) for number in (1, -1, 2, 3)]
    questions[3].ticket.deadline = 0.0
    refused = Question(bench.model, refusal=bad("no"))
    ask_behind_one(held, bench.model, *questions, refused)
    assert [questions[place].answer()[1] for place in (0, 2)] == [[[2.0, 2.0]], [[3.0, 3.0]]]
    assert questions[1].refused().status is Status.BAD_REQUEST
    assert questions[3].refused().status is Status.OVERLOADED
    assert refused.refused().status is Status.BAD_REQUEST
    assert bench.model.wait_drained(0.0) == 0


def test_large_requests_and_answers_are_decoded_and_encoded_beside_the_instance(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []
    for act in ("decode", "encode"):
        monkeypatch.setattr(Question, act, noting(getattr(Question, act), names))
    bench.model.swap(loaded(Adding()))
    large = Question(bench.model, np.zeros((2**16, 2), np.float32))
    large.ticket.size = 2**19
    put([large])
    assert len(large.answer()[1]) == 2**16
    refused = Question(bench.model, refusal=bad("no"))
    refused.ticket.size = 2**19
    put([refused])
    assert refused.refused().status is Status.BAD_REQUEST
    assert {name.rpartition("_")[0] for name in names} == {"intarsia-large-m"}
    assert bench.model.wait_drained(PATIENCE_S) == 0


def noting(act: Any, names: list[str]) -> Any:
    """The same, with the name of its thread noted."""

    def noted(*arguments: Any) -> Any:
        names.append(threading.current_thread().name)
        return act(*arguments)

    return noted


def test_a_model_that_is_asked_one_by_one_has_no_figure_of_batches(bench: Bench) -> None:
    bench.model.swap(loaded(Gated()))
    question = Question(bench.model, rows(1))
    put([question])
    question.answer()
    assert b"intarsia_batch_requests_bucket" not in bench.figures.text()


def test_no_call_has_more_rows_than_a_batch_unless_one_request_has(bench: Bench) -> None:
    held = Adding(is_open=False)
    model = bench.begin(held)
    questions = [Question(model, rows(*range(size))) for size in (3, 5, 1, 7, 2, 9, 8)]
    ask_behind_one(held, model, *questions)
    for question, size in zip(questions, (3, 5, 1, 7, 2, 9, 8), strict=True):
        assert len(question.answer()[1]) == size
    assert [shape[0] for shape in held.shapes] == [1, 8, 8, 2, 9, 8]


def test_only_what_fits_together_is_joined(bench: Bench) -> None:
    held = Adding(is_open=False)
    model = bench.begin(held)
    wide = np.zeros((1, 3), np.float32)
    questions = [
        Question(model, rows(1)),
        Question(model, wide),
        Question(model, rows(1, 2), wide),  # its inputs have not the same rows
        Question(model, np.array(3, np.float32)),
        Question(model, rows(2)),
        Question(model, wide),
    ]
    ask_behind_one(held, model, *questions)
    assert [question.answer()[1] for question in questions] == [
        [[2.0, 2.0]], [[1.0, 1.0, 1.0]], [[2.0, 2.0], [3.0, 3.0]], 4.0, [[3.0, 3.0]], [[1.0, 1.0, 1.0]],
    ]  # fmt: skip
    assert held.shapes == [(1, 2), (2, 2), (2, 3), (2, 2), ()]


@pytest.mark.parametrize(
    ("fault", "status", "told"),
    [
        (FeedError("x is below zero"), Status.BAD_REQUEST, 0),
        (ExecutionError("mnn", "it broke"), Status.FAILED, 2),
        (ZeroDivisionError("by zero"), Status.FAILED, 2),
    ],
)
def test_a_request_that_makes_the_call_fail_fails_alone(
    bench: Bench, fault: Exception, status: Status, told: int, caplog: pytest.LogCaptureFixture
) -> None:
    held = Adding(is_open=False, fault=fault)
    model = bench.begin(held)
    questions = [Question(model, rows(value)) for value in (1, -1, 2)]
    ask_behind_one(held, model, *questions)
    assert questions[0].answer()[1] == [[2.0, 2.0]]
    assert questions[2].answer()[1] == [[3.0, 3.0]]
    assert questions[1].refused().status is status
    assert str(fault) in str(questions[1].refused())
    assert held.shapes == [(1, 2), (3, 2), (1, 2), (1, 2), (1, 2)]
    assert bench.count("intarsia_requests_total", status=status.name) == 1
    assert [record.getMessage() for record in caplog.records] == ["not joined", "failed"][:told]


def test_a_request_that_cannot_be_decoded_disturbs_nobody(bench: Bench) -> None:
    held = Adding(is_open=False)
    model = bench.begin(held)
    questions = [
        Question(model, rows(1)),
        Question(model, refusal=bad("no")),
        Question(model, refusal=ZeroDivisionError("by zero")),
        Question(model, rows(2)),
    ]
    ask_behind_one(held, model, *questions)
    assert questions[0].answer()[1] == [[2.0, 2.0]]
    assert questions[3].answer()[1] == [[3.0, 3.0]]
    assert (questions[1].refused().status, str(questions[1].refused())) == (Status.BAD_REQUEST, "no")
    assert questions[2].refused().status is Status.FAILED
    assert held.shapes == [(1, 2), (2, 2)]


def test_an_answer_that_cannot_be_written_disturbs_nobody(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Adding(is_open=False)
    model = bench.begin(held)
    encode = Question.encode

    def refuse_two(self: Question, metadata: Any, results: Mapping[str, np.ndarray]) -> Any:
        if results["y"][0, 0] == 2:
            raise bad("no such number")
        return encode(self, metadata, results)

    monkeypatch.setattr(Question, "encode", refuse_two)
    questions = [Question(model, rows(value)) for value in (1, 2)]
    ask_behind_one(held, model, *questions)
    assert str(questions[0].refused()) == "no such number"
    assert questions[1].answer()[1] == [[3.0, 3.0]]


def test_outputs_that_do_not_divide_are_asked_for_one_by_one(bench: Bench) -> None:
    class Summing(Adding):
        def __call__(self, feeds: Mapping[str, np.ndarray], /) -> dict[str, np.ndarray]:
            return {"y": super().__call__(feeds)["y"].sum(0)}

    held = Summing(is_open=False)
    model = bench.begin(held)
    questions = [Question(model, rows(value)) for value in (1, 2, 3)]
    ask_behind_one(held, model, *questions)
    assert [question.answer()[1] for question in questions] == [[2.0, 2.0], [3.0, 3.0], [4.0, 4.0]]


def test_who_waits_too_long_is_refused_while_a_call_takes_long(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "_SWEEP_S", 0.001)
    held = Adding(is_open=False)
    model = bench.begin(held, limits=Limits(timeout_s=0.01))
    first = Question(model, rows(1))
    first.ticket.deadline += PATIENCE_S
    put([first])
    assert held.entered.acquire(timeout=PATIENCE_S)
    late = Question(model, rows(2))
    put([late])
    refused = late.refused()
    assert "no instance of model m was free within 0.01 s" in str(refused)
    assert refused.status is Status.OVERLOADED
    assert refused.retry_s >= 1
    assert bench.count("intarsia_refusals_total", why="timeout") == 1
    held.gate.set()
    assert first.answer()[1] == [[2.0, 2.0]]
    assert held.shapes == [(1, 2)]


def test_who_is_late_as_a_call_begins_is_refused(bench: Bench) -> None:
    held = Adding(is_open=False)
    model = bench.begin(held)
    questions = [Question(model, rows(value)) for value in (1, 2)]
    questions[0].ticket.deadline = 0.0
    ask_behind_one(held, model, *questions)
    assert questions[0].refused().status is Status.OVERLOADED
    assert questions[1].answer()[1] == [[3.0, 3.0]]
    assert held.shapes == [(1, 2)] * 2


def test_as_many_are_admitted_as_may_wait_and_as_all_calls_together_answer(bench: Bench) -> None:
    model = bench.begin(Adding(), Adding(), limits=Limits(waiting=3))
    tickets = [model.admit() for _ in range(3 + 2 * 8)]
    assert model.beside_in_batches == 2 * 8 - 2
    with pytest.raises(RequestError, match="queue of model m is full"):
        model.admit()
    for ticket in tickets:
        model.release(ticket)


def test_those_that_wait_are_told(bench: Bench) -> None:
    held = Adding(is_open=False)
    model = bench.begin(held)
    put([Question(model, rows(1))])
    assert held.entered.acquire(timeout=PATIENCE_S)
    questions = [Question(model, rows(1)) for _ in range(3)]
    put(questions)
    assert bench.count("intarsia_queue_length") == 3
    held.gate.set()
    for question in questions:
        question.answer()
    assert bench.count("intarsia_queue_length") == 0


def test_a_swap_answers_what_was_admitted_by_the_version_that_admitted_it_and_ends_its_threads(bench: Bench) -> None:
    before = threading.active_count()
    held, closed = Adding(is_open=False), list[str]()
    bench.model.swap(loaded(held, closed=closed, batch=8))
    started = threading.active_count() - before
    questions = [Question(bench.model, rows(value)) for value in range(5)]
    put(questions[:1])
    assert held.entered.acquire(timeout=PATIENCE_S)
    put(questions[1:])
    swapping = threading.Thread(target=bench.model.swap, args=[loaded(Adding(), version="2", batch=8)])
    swapping.start()
    while bench.model.metadata is None or bench.model.metadata.version == "1":
        threading.Event().wait(0.001)
    newer = Question(bench.model, rows(7))
    put([newer])
    assert newer.answer() == ("2", [[8.0, 8.0]])
    assert closed == []
    held.gate.set()
    assert [question.answer() for question in questions] == [("1", [[v + 1.0] * 2]) for v in range(5)]
    swapping.join(PATIENCE_S)
    assert closed == ["1"]
    assert threading.active_count() - before == started


def test_what_still_waits_at_the_end_is_answered(bench: Bench) -> None:
    held = Adding(is_open=False)
    model = bench.begin(held)
    questions = [Question(model, rows(1)) for _ in range(20)]
    put(questions)
    closing = threading.Thread(target=model.close)
    closing.start()
    held.gate.set()
    closing.join(PATIENCE_S)
    assert not closing.is_alive()
    assert [question.answer()[1] for question in questions] == [[[2.0, 2.0]]] * 20


def test_only_behind_many_that_came_alone_may_one_be_answered_where_it_is_read(bench: Bench) -> None:
    held = Adding()
    model = bench.begin(held)

    def may() -> bool:
        ticket = model.admit()
        try:
            return model.is_quick(ticket) and model.reserve(ticket)
        finally:
            model.release(ticket)

    def ask(number: int) -> None:
        questions = [Question(model, rows(1)) for _ in range(number)]
        put(questions)
        for question in questions:
            question.answer()

    for _ in range(15):
        ask(1)
        assert not may()
    ask(1)
    model._current.quick_bytes = 0  # type: ignore[union-attr]  # however long these took here
    await_may(may)
    ask(2)
    assert not may()


def await_may(may: Any) -> None:
    """An instance is idle a little after it has answered."""
    while not may():
        threading.Event().wait(0.001)


def test_a_protocol_that_fails_to_send_does_not_end_the_thread(bench: Bench) -> None:
    def fail(_: list[Any]) -> None:
        raise OSError("nobody is there")

    model = bench.begin(Adding())
    lost, other = Question(model, rows(1)), Question(model, rows(2))
    lost.send = fail
    put([lost])
    put([other])
    assert other.answer()[1] == [[3.0, 3.0]]
    assert model.wait_drained(PATIENCE_S) == 0
