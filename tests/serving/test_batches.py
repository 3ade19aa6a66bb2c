"""Requests that one call answers together: each gets its own answer, and none is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from intarsia.serving.grpc.messages import messages
from tests.artifacts import written
from tests.serving.load import CUT, OK, asking
from tests.serving.models import batched
from tests.serving.process import PATIENCE_S, Calls, Running, Web, binary_request, serving

X = np.linspace(-1, 1, 64, dtype=np.float32).reshape(2, 32)
REFUSED = {"503", "RESOURCE_EXHAUSTED", "UNAVAILABLE"}
Right = Callable[[np.ndarray], np.ndarray]


@pytest.fixture
def right(tmp_path: Path) -> Right:
    """What ``net.intarsia`` in the folder answers."""
    return batched(tmp_path / "net.intarsia")


def figure(web: Web, name: str) -> float:
    """The sum of a figure's samples of one name."""
    lines = web.get("/metrics").body.decode().splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(f"{name}{{"))


@contextmanager
def over_http(running: Running) -> Iterator[Right]:
    """What the server answers, over HTTP."""
    with Web(running.http) as web:

        def ask(x: np.ndarray) -> np.ndarray:
            body, headers = binary_request({"x": ("FP32", x)}, parameters={"binary_data_output": True})
            reply = web.infer("net", body, headers)
            assert reply.status == 200, reply.body
            length = int(reply.headers["inference-header-content-length"])
            return np.frombuffer(reply.body[length:], "<f4").reshape(x.shape)

        yield ask


@contextmanager
def over_grpc(running: Running) -> Iterator[Right]:
    """What the server answers, over gRPC."""
    with Calls(running.grpc) as calls:

        def ask(x: np.ndarray) -> np.ndarray:
            request = messages().ModelInferRequest(model_name="net", raw_input_contents=[x.tobytes()])
            request.inputs.add(name="x", datatype="FP32", shape=x.shape)
            return np.frombuffer(calls.ask("ModelInfer", request).raw_output_contents[0], "<f4").reshape(x.shape)

        yield ask


def test_each_of_many_clients_gets_its_own_answer(tmp_path: Path, right: Right) -> None:
    enough = threading.Event()
    with serving(str(tmp_path / "net.intarsia")) as running, Web(running.http) as web:

        def client(number: int) -> int:
            """Ask with other numbers, and other numbers of them, each time; how often."""
            rng = np.random.default_rng(number)
            asked = 0
            with (over_http, over_grpc)[number % 2](running) as ask:
                while not enough.is_set() or asked < 50:
                    x = rng.standard_normal((rng.integers(1, 5), 32)).astype(np.float32)
                    np.testing.assert_allclose(ask(x), right(x), rtol=1e-4, atol=1e-3)
                    asked += 1
            return asked

        with ThreadPoolExecutor(12) as threads:
            clients = [threads.submit(client, number) for number in range(12)]
            try:
                while figure(web, "intarsia_batch_requests_sum") <= figure(web, "intarsia_batch_requests_count") + 100:
                    if failed := [each for each in clients if each.done()]:
                        failed[0].result()
            finally:
                enough.set()
            asked = sum(each.result(PATIENCE_S) for each in clients)
        assert figure(web, "intarsia_requests_total") == asked
        assert not running.events("failed")
    assert running.events("ready")[0]["batch"] == 16


def test_a_batch_of_one_switches_batches_off(tmp_path: Path, right: Right) -> None:
    with serving(str(tmp_path / "net.intarsia"), "--batch", "1") as running:
        with over_http(running) as ask:
            np.testing.assert_allclose(ask(X), right(X), rtol=1e-4, atol=1e-3)
        with Web(running.http) as web:
            assert b"intarsia_batch_requests_bucket" not in web.get("/metrics").body
    assert "batch" not in running.events("ready")[0]


def test_a_request_of_more_rows_than_the_model_takes_is_refused_and_no_other(tmp_path: Path, right: Right) -> None:
    with serving(str(tmp_path / "net.intarsia")) as running:
        with asking(running, X, [right(X)]) as load, Web(running.http) as web:
            for _ in range(20):
                body, headers = binary_request({"x": ("FP32", np.zeros((17, 32), np.float32))})
                reply = web.infer("net", body, headers)
                assert (reply.status, "N may be 1..16" in reply.json["error"]) == (400, True)
            load.await_ends(OK, 50)
        assert set(load.ends) == {OK}


def test_a_file_that_changes_is_served_without_a_lost_request(tmp_path: Path, right: Right) -> None:
    file = tmp_path / "net.intarsia"
    files = [shutil.copyfile(file, tmp_path / "a"), tmp_path / "b"]
    other = batched(files[1], seed=1)
    with serving(str(file), "--reload-every", "0.02") as running:
        with asking(running, X, [right(X), other(X)]) as load:
            for number in range(1, 5):
                draft = shutil.copyfile(files[number % 2], tmp_path / "draft")
                os.replace(draft, file)
                running.await_events("ready", number + 1)
                load.await_ends(OK, 20)
        assert set(load.ends) == {OK}
    assert not running.events("failed")


def test_sigterm_answers_what_was_admitted_and_refuses_the_rest(tmp_path: Path, right: Right) -> None:
    line = [str(tmp_path / "net.intarsia"), "--log-requests", "--instances", "2"]
    with serving(*line) as running, asking(running, X, [right(X)]) as load:
        load.await_ends(OK, 100)
        code = running.end()
    assert code == 0
    assert set(load.ends) <= {OK, CUT, *REFUSED}
    assert load.ends[OK] == len(running.events("answered"))
    assert [each["unanswered"] for each in running.events("ended")] == [0]


def test_more_than_the_artifact_was_measured_with_is_an_error(tmp_path: Path, right: Right) -> None:
    del right
    plain = written(tmp_path / "plain.intarsia")
    for file, told in ((plain, "--objective throughput"), (tmp_path / "net.intarsia", "for 16 at most")):
        line = [sys.executable, "-m", "intarsia", "serve", str(file), "--batch", "17", "--http", "127.0.0.1:0"]
        ended = subprocess.run([*line, "--grpc", "off"], capture_output=True, text=True, timeout=PATIENCE_S)
        assert ended.returncode != 0
        assert "--batch 17" in ended.stderr
        assert told in ended.stderr
