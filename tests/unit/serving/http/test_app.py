from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from intarsia.serving.access import Access
from intarsia.serving.figures import Figures
from intarsia.serving.http.app import HttpEndpoint
from intarsia.serving.limits import Limits
from intarsia.serving.repository import Repository
from tests.unit.serving.fakes import Gated, loaded

BODY = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [2], "data": [1, 2]}]}).encode()
INFER = "/v2/models/m/infer"
WHOLE = ({"type": "http.request", "body": BODY, "more_body": False},)


_MADE: list[App] = []


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    """Every model that a test had loaded is closed, so that its threads end."""
    yield
    while _MADE:
        _MADE.pop().repository.close()


class App:
    """An endpoint that is asked without a network, for models that stand still or answer at once."""

    def __init__(self, limits: Limits, *models: Gated, cores: int = 2, batch: int = 1) -> None:
        self.figures = Figures()
        self.repository = Repository({"m": Path("m")}, lambda *_: loaded(*models, batch=batch), limits, self.figures)
        self.repository._has_one_core = cores == 1
        self.endpoint = HttpEndpoint(self.repository, self.figures, limits, Access())
        _MADE.append(self)

    def ask(
        self, path: str, *messages: dict[str, Any], method: str = "POST", headers: tuple[tuple[bytes, bytes], ...] = ()
    ) -> tuple[int | None, Any]:
        """The status and body of the answer; the messages come one after the other, and then nothing any more."""
        coming, sent = iter(messages), list[dict[str, Any]]()

        async def receive() -> dict[str, Any]:
            message = next(coming, None)
            if message is None:
                await asyncio.Event().wait()
            assert message is not None
            return message

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(), "root_path": "",
            "query_string": b"", "headers": list(headers),
        }  # fmt: skip
        asyncio.run(self.endpoint.app(scope, receive, send))
        if not sent:
            return None, None
        self.headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return sent[0]["status"], json.loads(b"".join(each.get("body", b"") for each in sent[1:]))


@pytest.fixture
def app() -> App:
    made = App(Limits(), Gated())
    made.repository.load_all()
    return made


def test_a_request_is_answered(app: App) -> None:
    status, answer = app.ask(INFER, *WHOLE)
    assert status == 200
    assert answer["outputs"] == [{"name": "y", "datatype": "FP32", "shape": [2], "data": [2.0, 3.0]}]


def test_a_body_in_parts_is_put_together(app: App) -> None:
    parts = [{"type": "http.request", "body": BODY[i : i + 7], "more_body": True} for i in range(0, len(BODY), 7)]
    assert app.ask(INFER, *parts, {"type": "http.request", "body": b"", "more_body": False})[0] == 200


@pytest.mark.parametrize("path", ["/v2/models/m", "/v2/models/m/versions/1", "/v2/models/m/ready"])
def test_a_path_may_name_a_version(app: App, path: str) -> None:
    assert app.ask(path, method="GET")[0] == 200


@pytest.mark.parametrize("rest", ["/infer", "m/", "m/x", "m/versions", "m/versions//infer", "m/infer/", "m/infer\n"])
def test_a_path_that_is_nearly_one_leads_nowhere(app: App, rest: str) -> None:
    path = f"/v2/models/{rest}"
    assert app.ask(path, *WHOLE) == (404, {"error": f"there is nothing at {path}"})


def test_nothing_is_ready_before_it_is_loaded() -> None:
    app = App(Limits(), Gated())
    for path in ("/v2/health/ready", "/v2/models/m/ready"):
        assert app.ask(path, method="GET")[0] == 400
    assert app.ask("/v2/health/live", method="GET")[0] == 200
    status, answer = app.ask(INFER, *WHOLE)
    assert (status, app.headers["retry-after"]) == (503, "1")
    assert "being loaded" in answer["error"]


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    app = App(Limits(timeout_s=0.05), Gated())
    app.repository.load_all()
    status, answer = app.ask(INFER, {"type": "http.request", "body": b"{", "more_body": True})
    assert status == 408
    assert "did not come within" in answer["error"]
    assert app.repository.wait_drained(0.0) == 0


def test_who_hung_up_is_not_answered_and_leaves_room(app: App) -> None:
    assert app.ask(INFER, {"type": "http.disconnect"}) == (None, None)
    assert app.repository.wait_drained(0.0) == 0


def test_a_call_that_takes_too_long_is_not_waited_for() -> None:
    held = Gated(is_open=False)
    app = App(Limits(timeout_s=0.05), held)
    app.repository.load_all()
    status, answer = app.ask(INFER, *WHOLE)
    assert (status, app.headers["retry-after"]) == (503, "1")
    assert "not answered within" in answer["error"]
    app.repository.drain()
    held.gate.set()
    assert app.repository.wait_drained(60.0) == 0


class Told(Gated):
    """Tells the threads that it was called on, and may be held there."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: list[int] = []

    def __call__(self, feeds: Any, /) -> Any:
        self.threads.append(threading.get_ident())
        return super().__call__(feeds)


def await_idle(app: App) -> None:
    """An instance is idle a little after it has answered."""
    model = app.repository.model("m")
    ticket = model.admit()
    while not model.reserve(ticket):
        threading.Event().wait(0.001)
    model.release(ticket)


async def answered(app: App, size: int = 0) -> int:
    """The status of one answer more, to a request that is filled up to so many bytes."""
    sent = list[Any]()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": BODY.ljust(size)}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": INFER, "headers": []}
    await app.endpoint.app(scope, receive, send)
    return int(sent[0]["status"])


def test_where_other_cores_are_threads_answer_what_comes_at_one_time() -> None:
    told = [Told(), Told()]
    app = App(Limits(), *told)
    app.repository.load_all()
    asyncio.run(answered(app))

    async def all_of_them() -> list[int]:
        return await asyncio.gather(*(answered(app) for _ in range(20)))

    assert asyncio.run(all_of_them()) == [200] * 20
    elsewhere = [each for each in (*told[0].threads, *told[1].threads) if each != threading.get_ident()]
    assert len(elsewhere) > 15  # the first ones come while there is no other


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("batch", [1, 64])
def test_what_comes_in_one_round_of_the_loop_is_answered_together_by_another_thread(cores: int, batch: int) -> None:
    told = Told()
    app = App(Limits(), told, cores=cores, batch=batch)
    app.repository.load_all()

    async def all_of_them() -> list[int]:
        return await asyncio.gather(*(answered(app) for _ in range(20)))

    for calls in (1, 2, 3):
        assert asyncio.run(all_of_them()) == [200] * 20
        assert told.calls == calls * (20 if batch == 1 else 1)
    assert threading.get_ident() not in told.threads
    assert app.repository.wait_drained(0.0) == 0


@pytest.mark.parametrize("batch", [1, 64])
def test_the_loop_answers_what_comes_alone_again_and_again_until_others_come_with_it(batch: int) -> None:
    told = Told()
    app = App(Limits(), told, cores=1, batch=batch)
    app.repository.load_all()

    async def until_here() -> None:
        while threading.get_ident() not in told.threads:
            assert await answered(app) == 200

    asyncio.run(until_here())
    assert len(told.threads) > 16

    async def three() -> list[int]:
        return await asyncio.gather(*(answered(app) for _ in range(3)))

    told.threads.clear()
    version = app.repository.model("m")._current
    assert version is not None
    version.quick_bytes = len(BODY)  # however busy the machine was
    assert asyncio.run(answered(app, size=4 * len(BODY))) == 200
    assert told.threads.pop() != threading.get_ident()
    await_idle(app)
    assert asyncio.run(three()) == [200] * 3
    assert told.threads[0] == threading.get_ident()
    assert told.threads[1] != threading.get_ident()
    assert len(told.threads) == (3 if batch == 1 else 2)
    counted = app.figures.registry.get_sample_value("intarsia_batch_requests_count", {"model": "m"})
    assert counted == (None if batch == 1 else told.calls)


def test_a_large_body_is_decoded_beside_the_instance_and_answered_by_it() -> None:
    told = Told()
    app = App(Limits(), told)
    app.repository.load_all()
    assert asyncio.run(answered(app, size=2**19)) == 200
    assert threading.get_ident() not in told.threads


def test_a_batch_that_takes_too_long_is_not_waited_for() -> None:
    held = Gated(is_open=False)
    app = App(Limits(timeout_s=0.05), held, batch=4)
    app.repository.load_all()
    status, answer = app.ask(INFER, *WHOLE)
    assert (status, app.headers["retry-after"]) == (503, "1")
    assert "not answered within" in answer["error"]
    app.repository.drain()
    held.gate.set()
    assert app.repository.wait_drained(60.0) == 0


def test_who_waits_too_long_for_a_turn_is_refused() -> None:
    told = Told()
    app = App(Limits(timeout_s=0.2), told, cores=1)
    app.repository.load_all()
    asyncio.run(answered(app))

    async def stuck() -> list[int]:
        told.gate.clear()
        slow = asyncio.create_task(answered(app, size=4 * len(BODY)))
        await asyncio.to_thread(told.entered.acquire)
        await asyncio.to_thread(told.entered.acquire)
        found = await asyncio.gather(*(answered(app) for _ in range(3)))
        told.gate.set()
        return [*found, await slow]

    assert asyncio.run(stuck()) == [503] * 4
    app.repository.drain()
    assert app.repository.wait_drained(60.0) == 0


def test_while_it_drains_each_answer_ends_its_connection(app: App) -> None:
    app.endpoint.is_draining = True
    app.repository.drain()
    status, answer = app.ask(INFER, *WHOLE)
    assert (status, app.headers["connection"]) == (503, "close")
    assert "about to end" in answer["error"]


def test_a_model_that_fails_is_an_error_of_the_server(app: App) -> None:
    class Broken(Gated):
        def __call__(self, feeds: Any, /) -> Any:
            raise ZeroDivisionError("by zero")

    broken = App(Limits(), Broken())
    broken.repository.load_all()
    status, answer = broken.ask(INFER, *WHOLE)
    assert status == 500
    assert answer == {"error": "unexpected ZeroDivisionError: by zero"}
