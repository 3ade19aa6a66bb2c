"""Requests that wait are answered together: each with what is its own, while files change and while the server ends."""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest

from intarsia.config import RunSettings, Spin
from intarsia.graph import load_model
from intarsia.graph.ranges import SizeRange
from intarsia.partitioning import Partition
from intarsia.runtime import Bucket, attach_report, build, load, plan_of, write_buckets
from intarsia.target import Target
from tests.artifacts import REPORT
from tests.serving.load import CUT, OK, asking
from tests.serving.process import PATIENCE_S, Calls, Running, Web, binary_request, serving
from tests.unit.graph.models import two_layers

MOST = 16
X = np.linspace(-1, 1, 64, dtype=np.float32).reshape(2, 32)
ROWS = (1, 2, 3, MOST)


def network(path: Path, seed: int) -> np.ndarray:
    """Write a network of open batches, and tell what it answers to `X`."""
    proto: onnx.ModelProto = two_layers(seed)
    for value in (*proto.graph.input, *proto.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "N"
    ranges = {"N": SizeRange(low=1, high=MOST)}
    graph = load_model(proto, ranges)
    part = Partition(target=Target("reference"), nodes=tuple(node.id for node in graph.nodes))
    built = build(graph, plan_of(graph, [part], RunSettings(threads=1, spin=Spin.NEVER, batch=MOST)))
    write_buckets(path, graph, [(Bucket(ranges=ranges, sizes={"N": 8}, plan=built.plan), built)])
    attach_report(path, REPORT)
    with load(path) as model:
        return model({"x": X})["y"]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Mapping[Path, np.ndarray]:
    """Two networks of one form, by their files, with what each answers."""
    folder = tmp_path_factory.mktemp("batches")
    return {path: network(path, seed) for seed, path in enumerate((folder / "a.intarsia", folder / "b.intarsia"))}


@pytest.fixture
def file(answers: Mapping[Path, np.ndarray], tmp_path: Path) -> Path:
    return Path(shutil.copyfile(next(iter(answers)), tmp_path / "net.intarsia"))


def joined(running: Running) -> tuple[float, float]:
    """How many calls there were, and how many requests they answered."""
    with Web(running.http) as web:
        text = web.get("/metrics").body.decode()
    found = dict(re.findall(r'intarsia_batch_requests_(count|sum)\{model="net"\} ([0-9.e+]+)', text))
    return float(found.get("count", 0)), float(found.get("sum", 0))


def test_every_client_gets_what_is_its_own(file: Path) -> None:
    rng = np.random.default_rng(0)
    feeds = [rng.standard_normal((ROWS[number % len(ROWS)], 32)).astype(np.float32) for number in range(12)]
    with load(file) as model:
        right = [model({"x": feed})["y"] for feed in feeds]
    with serving(str(file), "--queue", "64") as running:
        stop, wrong = threading.Event(), []

        def client(number: int) -> None:
            body, headers = binary_request({"x": ("FP32", feeds[number])}, parameters={"binary_data_output": True})
            with Web(running.http) as web:
                while not stop.is_set():
                    reply = web.infer("net", body, headers)
                    length = int(reply.headers["inference-header-content-length"])
                    found = np.frombuffer(reply.body[length:], "<f4").reshape(right[number].shape)
                    if not np.allclose(found, right[number], rtol=1e-4, atol=1e-4):
                        wrong.append(number)

        clients = [threading.Thread(target=client, args=(number,)) for number in range(len(feeds))]
        for each in clients:
            each.start()
        try:
            for _ in range(int(10 * PATIENCE_S)):
                calls, requests = joined(running)
                if requests >= calls + 100:
                    break
                stop.wait(0.1)
        finally:
            stop.set()
            for each in clients:
                each.join(PATIENCE_S)
        assert requests >= calls + 100, "no requests were joined"
    assert not wrong


def test_over_grpc_too(file: Path, answers: Mapping[Path, np.ndarray]) -> None:
    with serving(str(file)) as running, asking(running, X, list(answers.values())[:1], web=0, calls=8) as load_:
        load_.await_ends(OK, 300)
    assert set(load_.ends) == {OK}


def test_a_file_that_changes_and_sigterm_lose_nothing(file: Path, answers: Mapping[Path, np.ndarray]) -> None:
    files = list(answers)
    with (
        serving(str(file), "--reload-every", "0.02", "--log-requests") as running,
        asking(running, X, list(answers.values())) as load_,
    ):
        for number in range(1, 4):
            draft = file.with_suffix(".new")
            shutil.copyfile(files[number % 2], draft)
            os.replace(draft, file)
            running.await_events("ready", number + 1)
            load_.await_ends(OK, 20)
        code = running.end()
    assert code == 0
    assert set(load_.ends) <= {OK, CUT, "503", "RESOURCE_EXHAUSTED", "UNAVAILABLE"}
    assert load_.ends[OK] == len(running.events("answered"))
    assert [line["unanswered"] for line in running.events("ended")] == [0]


def test_a_bad_request_fails_alone(file: Path, answers: Mapping[Path, np.ndarray]) -> None:
    right = [next(iter(answers.values()))]
    bad, headers = binary_request({"x": ("FP32", np.zeros((1, 31), np.float32))})
    with serving(str(file)) as running, asking(running, X, right, web=3, calls=3) as load_, Web(running.http) as web:
        replies = [web.infer("net", bad, headers) for _ in range(20)]
        load_.await_ends(OK, 20)
    assert {reply.status for reply in replies} == {400}
    assert "x" in replies[0].json["error"]
    assert set(load_.ends) == {OK}


def test_each_request_may_have_a_call_of_its_own(file: Path, answers: Mapping[Path, np.ndarray]) -> None:
    right = [next(iter(answers.values()))]
    with serving(str(file), "--batch", "1") as running:
        with asking(running, X, right) as load_:
            load_.await_ends(OK, 50)
        assert joined(running) == (0.0, 0.0)
        with Calls(running.grpc) as calls:
            assert calls.ask("ServerReady").ready
    assert set(load_.ends) == {OK}


def test_no_more_are_joined_than_was_measured(file: Path) -> None:
    from intarsia.errors import ConfigError
    from intarsia.serving.loaded import Loading

    with pytest.raises(ConfigError, match=r"--batch 32"):
        Loading(batch=2 * MOST)("net", "1", file)
    loaded = Loading(batch=4)("net", "1", file)
    assert loaded.batch == 4
    loaded.close()
