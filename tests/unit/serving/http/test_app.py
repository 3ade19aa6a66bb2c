from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
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


class App:
    """An endpoint that is asked without a network, for a model that stands still or answers at once."""

    def __init__(self, limits: Limits, model: Gated) -> None:
        self.figures = Figures()
        self.repository = Repository({"m": Path("m")}, lambda *_: loaded(model), limits, self.figures)
        self.threads = ThreadPoolExecutor()
        self.endpoint = HttpEndpoint(self.repository, self.figures, limits, Access(), self.threads)

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
def app() -> Iterator[App]:
    made = App(Limits(), Gated())
    made.repository.load_all()
    yield made
    made.threads.shutdown()


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
    held.gate.set()
    app.threads.shutdown()
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
