"""What runs on a node: it answers with a word and a value, takes artifacts by its own checks, and compiles apart."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from intarsia.errors import ArtifactError, FeedError, ModelError
from intarsia.remote.actors.machine_actor import FAILURE, GONE, OK, MachineActor
from intarsia.remote.chunks import digest_of
from intarsia.remote.failures import error_of
from tests.artifacts import written


@pytest.fixture
def actor() -> Iterator[MachineActor]:
    made = MachineActor()
    yield made
    made.end()


def value(answer: tuple[str, Any]) -> Any:
    word, found = answer
    assert word == OK, found
    return found


def failure(answer: tuple[str, Any]) -> Exception:
    word, text = answer
    assert word == FAILURE
    return error_of(text, "here")


def sent(actor: MachineActor, content: bytes) -> str:
    digest = digest_of(content)
    value(actor.upload(digest, np.frombuffer(content, np.uint8)))
    return digest


def test_an_artifact_arrives_is_loaded_and_runs(actor: MachineActor, tmp_path: Path) -> None:
    content = written(tmp_path / "net.intarsia").read_bytes()
    digest = sent(actor, content)
    assert value(actor.fetch(digest)).tobytes() == content
    name = value(actor.load(digest))
    feeds = {"x": np.zeros((4, 32), np.float32)}
    feeds["x"].flags.writeable = False  # as what Ray hands over
    results, spent = value(actor.run(name, feeds, False))
    timed, each = value(actor.run(name, feeds, True))
    assert np.array_equal(results["y"], timed["y"])
    assert (spent, len(each)) == ([], 2)
    error = failure(actor.run(name, {"x": np.zeros(3, np.float32)}, False))
    assert isinstance(error, FeedError)
    value(actor.close_model(name))
    assert actor.run(name, feeds, False)[0] == GONE


def test_what_is_no_artifact_is_refused_as_anywhere(actor: MachineActor) -> None:
    error = failure(actor.load(sent(actor, b"cbuiltins\neval\n(S'1'\ntR.")))
    assert isinstance(error, ArtifactError)
    assert str(actor.folder) not in str(error)


def test_a_content_that_is_not_what_was_sent_is_refused(actor: MachineActor) -> None:
    assert isinstance(failure(actor.upload(digest_of(b"one"), np.frombuffer(b"two", np.uint8))), ModelError)
    assert actor.load(digest_of(b"one"))[0] == GONE
    assert actor.fetch("../../etc/passwd")[0] == GONE


def test_a_model_stays_in_its_folder(actor: MachineActor) -> None:
    files = {"../../outside.onnx": np.frombuffer(b"x", np.uint8)}
    assert isinstance(failure(actor.compile("1" * 32, files, "", "{}")), ModelError)
    assert isinstance(failure(actor.compile("2" * 32, {"/outside.onnx": files.popitem()[1]}, "", "{}")), ModelError)
    assert actor.next_event("1" * 32)[0] == GONE


def test_how_many_threads_run_is_not_for_ray_to_say(actor: MachineActor, monkeypatch: pytest.MonkeyPatch) -> None:
    if b"OMP_NUM_THREADS=" in Path("/proc/self/environ").read_bytes():
        pytest.skip("OMP_NUM_THREADS is stated where the tests are started, and then it stays")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert value(actor.hello())["pid"] == os.getpid()
    assert "OMP_NUM_THREADS" not in os.environ


def test_at_its_end_no_file_is_left(actor: MachineActor) -> None:
    sent(actor, b"something")
    assert actor.folder.is_dir()
    value(actor.end())
    assert not actor.folder.exists()
