"""What the server promises while it is busy, while it ends, and while its models change."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import psutil
import pytest

from intarsia.graph import load_model
from intarsia.partitioning import Partition
from intarsia.runtime import attach_report, build, load, plan_of, write_artifact
from intarsia.target import Target
from tests.artifacts import REPORT, SETTINGS
from tests.serving.load import CUT, OK, Load, asking
from tests.serving.process import Running, Web, binary_request, serving
from tests.unit.graph.models import two_layers

X = np.linspace(-1, 1, 128, dtype=np.float32).reshape(4, 32)
REFUSED = {"503", "RESOURCE_EXHAUSTED", "UNAVAILABLE"}


def network(path: Path, seed: int) -> np.ndarray:
    """Write a network, and tell what it answers to `X`."""
    graph = load_model(two_layers(seed))
    part = Partition(target=Target("reference"), nodes=tuple(node.id for node in graph.nodes))
    write_artifact(path, graph, build(graph, plan_of(graph, [part], SETTINGS)))
    attach_report(path, REPORT)
    with load(path) as model:
        return model({"x": X})["y"]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Mapping[Path, np.ndarray]:
    """Two networks of one form, by their files, with what each answers."""
    folder = tmp_path_factory.mktemp("networks")
    return {path: network(path, seed) for seed, path in enumerate((folder / "a.intarsia", folder / "b.intarsia"))}


@pytest.fixture
def file(answers: Mapping[Path, np.ndarray], tmp_path: Path) -> Path:
    return Path(shutil.copyfile(next(iter(answers)), tmp_path / "net.intarsia"))


def test_more_than_it_takes_is_refused_with_a_time_to_come_again(
    file: Path, answers: Mapping[Path, np.ndarray]
) -> None:
    with serving(str(file), "--queue", "1") as running:
        with asking(running, X, list(answers.values()), web=6, calls=6) as load_:
            for end in ("503", "RESOURCE_EXHAUSTED", OK):
                load_.await_ends(end, 20)
        assert set(load_.ends) <= {OK, "503", "RESOURCE_EXHAUSTED"}
        assert not running.events("failed")
        with Web(running.http) as web:
            text = web.get("/metrics").body.decode()
            assert web.get("/v2/health/ready").status == 200
    refused = load_.ends["503"] + load_.ends["RESOURCE_EXHAUSTED"]
    assert f'intarsia_refusals_total{{model="net",why="queue"}} {float(refused)}' in text


@pytest.mark.large
def test_minutes_of_more_than_it_takes_leave_memory_as_it_was(file: Path, answers: Mapping[Path, np.ndarray]) -> None:
    seen_mb = []
    with serving(str(file), "--queue", "4") as running:
        process = psutil.Process(running.process.pid)
        with asking(running, X, list(answers.values()), web=8, calls=8) as load_:
            for _ in range(10):
                load_.await_ends(OK, 5000)
                seen_mb.append(process.memory_info().rss / 2**20)
        assert not running.events("failed")
    assert set(load_.ends) <= {OK, "503", "RESOURCE_EXHAUSTED"}
    assert load_.ends["503"] > 0
    assert load_.ends["RESOURCE_EXHAUSTED"] > 0
    assert seen_mb[-1] < 1.05 * seen_mb[1], seen_mb


def test_sigterm_answers_what_was_admitted_and_refuses_the_rest(file: Path, answers: Mapping[Path, np.ndarray]) -> None:
    with (
        serving(str(file), "--log-requests", "--instances", "2") as running,
        asking(running, X, list(answers.values())) as load_,
    ):
        load_.await_ends(OK, 100)
        code = running.end()
    assert code == 0
    assert set(load_.ends) <= {OK, CUT, *REFUSED}
    assert load_.ends[OK] == len(running.events("answered"))
    assert [line["unanswered"] for line in running.events("ended")] == [0]


def replaced(file: Path, by: Path) -> None:
    draft = file.with_suffix(".new")
    shutil.copyfile(by, draft)
    os.replace(draft, file)


def reload_under_load(file: Path, answers: Mapping[Path, np.ndarray], times: int) -> Load:
    files = list(answers)
    with serving(str(file), "--reload-every", "0.02") as running:
        with asking(running, X, list(answers.values())) as load_:
            for number in range(1, times + 1):
                replaced(file, files[number % 2])
                running.await_events("ready", number + 1)
                load_.await_ends(OK, 5)
        assert [line["version"] for line in running.events("ready")] == [str(n + 1) for n in range(times + 1)]
        with Web(running.http) as web:
            body, headers = binary_request({"x": ("FP32", X)}, parameters={"binary_data_output": True})
            reply = web.infer("net", body, headers)
        length = int(reply.headers["inference-header-content-length"])
        right = answers[files[times % 2]]
        np.testing.assert_allclose(np.frombuffer(reply.body[length:], "<f4"), right.ravel(), rtol=1e-4, atol=1e-4)
    return load_


def test_a_file_that_changes_is_served_without_a_lost_request(file: Path, answers: Mapping[Path, np.ndarray]) -> None:
    assert set(reload_under_load(file, answers, 4).ends) == {OK}


@pytest.mark.large
def test_a_hundred_changes_lose_nothing(file: Path, answers: Mapping[Path, np.ndarray]) -> None:
    assert set(reload_under_load(file, answers, 100).ends) == {OK}


def test_a_broken_file_written_in_place_leaves_the_old_version(file: Path, answers: Mapping[Path, np.ndarray]) -> None:
    good, other = answers
    with serving(str(file), "--reload-every", "0.02") as running:
        with asking(running, X, [answers[good]]) as load_:
            file.write_bytes(good.read_bytes()[: good.stat().st_size // 2])
            (line,) = running.await_events("not reloaded")
            load_.await_ends(OK, 20)
        assert set(load_.ends) == {OK}
        assert line["level"] == "error"
        assert str(file.name) in line["error"]
        file.write_bytes(other.read_bytes())
        assert running.await_events("ready", 2)[-1]["version"] == "2"


def grown_mb(running: Running, requests: int) -> float:
    body, headers = binary_request({"x": ("FP32", X)})
    body += b" " * 2**18  # bytes that nothing names: read whole, then refused
    process = psutil.Process(running.process.pid)
    before = process.memory_info().rss
    with Web(running.http) as web:
        for _ in range(requests):
            assert web.infer("net", body, headers).status == 400
            assert web.infer("net", body[: -(2**18)], headers).status == 200
    return float(process.memory_info().rss - before) / 2**20


def test_memory_does_not_grow_with_the_requests(file: Path) -> None:
    with serving(str(file)) as running:
        grown_mb(running, 30)
        assert grown_mb(running, 300) < 40  # a body kept from each would be 75
