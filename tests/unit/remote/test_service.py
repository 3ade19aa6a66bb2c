"""A worker lets nobody in without the token, takes nothing that it should not, and says why."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from intarsia.driver import CompileSettings
from intarsia.errors import ConfigError, ModelError, WorkerDiedError
from intarsia.remote import messages as m
from intarsia.remote.chunks import digest_of, parts_of
from intarsia.remote.client import Worker
from intarsia.remote.link import GoneError, LinkDownError
from intarsia.remote.listening import Listener
from intarsia.remote.place import WorkerPlace
from intarsia.remote.protocol import CALLS, FAILURE, PROTOCOL, PROTOCOL_KEY, SERVICE, TOKEN, VERSION_KEY
from intarsia.remote.settings_text import settings_text
from intarsia.version import __version__
from tests import remote_workers

RIGHT = {TOKEN: remote_workers.TOKEN, PROTOCOL_KEY: str(PROTOCOL), VERSION_KEY: __version__}
SETTINGS = settings_text(CompileSettings())
JOB = "0" * 32


@pytest.fixture
def worker(place: WorkerPlace) -> Iterator[Worker]:
    with Worker(place) as made:
        yield made


@contextmanager
def channel(listener: Listener) -> Iterator[Any]:
    with grpc.insecure_channel(str(listener.address)) as made:
        yield made


def called(listener: Listener, name: str, head: dict[str, str], request: Any = None) -> Any:
    """The answers to a raw call, with exactly this head."""
    call = CALLS[name]
    kind = f"{'stream' if call.many_asked else 'unary'}_{'stream' if call.many_answered else 'unary'}"
    with channel(listener) as link:
        act = getattr(link, kind)(
            f"/{SERVICE}/{name}",
            request_serializer=lambda each: each.SerializeToString(),
            response_deserializer=call.answers.FromString,
        )
        asked = call.asks() if request is None else request
        answer = act(iter([asked]) if call.many_asked else asked, metadata=tuple(head.items()), timeout=20)
        return list(answer) if call.many_answered else answer


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "head",
    [
        {},
        {TOKEN: ""},
        {TOKEN: "another"},
        {TOKEN: remote_workers.TOKEN + "x"},
        {"authorization": remote_workers.TOKEN},
        RIGHT | {TOKEN: "another"},
    ],
)
def test_no_call_is_answered_without_the_token(listener: Listener, name: str, head: dict[str, str]) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        called(listener, name, head)
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("other", [{PROTOCOL_KEY: "0"}, {VERSION_KEY: "0.0.0"}, {VERSION_KEY: ""}])
def test_no_call_is_answered_to_another_version(listener: Listener, name: str, other: dict[str, str]) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        called(listener, name, RIGHT | other)
    assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    told = dict(caught.value.trailing_metadata())[FAILURE]
    assert b"install the same version on both" in told


def test_a_call_that_it_does_not_have_is_refused(listener: Listener) -> None:
    with channel(listener) as link, pytest.raises(grpc.RpcError) as caught:
        link.unary_unary(f"/{SERVICE}/Run2")(b"", metadata=tuple(RIGHT.items()), timeout=20)
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def compiling(worker: Worker, *, name: str = JOB, **fields: Any) -> Any:
    request = m.CompileRequest(**{"job": name, "patience_s": 1.0, "settings": SETTINGS} | fields)
    return list(worker.link.stream("Compile", request, 20.0))


def test_a_job_has_a_name_that_is_no_path(worker: Worker) -> None:
    for name in ("", "../" + JOB[3:], "x" * 32, JOB + "0"):
        with pytest.raises(ConfigError, match="the name of the job is none"):
            compiling(worker, name=name)


@pytest.mark.parametrize("name", ["", "/etc/x", "../x", "a/../../x", "a\0b"])
def test_a_file_of_a_model_stays_in_its_folder(worker: Worker, name: str) -> None:
    (digest,) = worker.upload([b"content"])
    with pytest.raises(ModelError, match="is no file in a model's folder"):
        compiling(worker, name=digest_of(name.encode())[:32], file=[m.ModelFile(name=name, digest=digest)])


def test_files_that_were_not_sent_are_asked_for(worker: Worker) -> None:
    with pytest.raises(GoneError, match="the files of the model"):
        compiling(worker, name="1" * 32, file=[m.ModelFile(name="x", digest="0" * 64)])
    with pytest.raises(GoneError, match="no such compile"):
        compiling(worker, name="2" * 32, is_again=True)
    with pytest.raises(ModelError, match="no file of a model was sent"):
        compiling(worker, name="3" * 32)


def test_a_longer_budget_than_it_takes_is_refused(worker: Worker) -> None:
    with pytest.raises(ConfigError, match=r"more than the worker takes, which is 100 s"):
        compiling(worker, settings=settings_text(CompileSettings(budget=101)))
    with pytest.raises(ConfigError, match="are not those of a compile"):
        compiling(worker, settings='{"store": "/x"}')


def test_a_content_is_kept_once_and_comes_back(worker: Worker, tmp_path: Path) -> None:
    content = bytes(range(256)) * 100
    (digest,) = worker.upload([content])
    assert list(worker.link.ask("Missing", m.Digests(digest=[digest, "f" * 64])).digest) == ["f" * 64]
    worker.fetch(digest, tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == content


def test_a_content_that_is_too_large_or_damaged_is_not_kept(worker: Worker) -> None:
    with pytest.raises(LinkDownError, match="are the most"):
        worker.link.once("Upload", parts_of(bytes((1 << 20) + 1)), 20.0)
    parts = list(parts_of(b"content"))
    parts[0].content = b"cONTENT"
    with pytest.raises(LinkDownError, match="its digest is another one"):
        worker.link.once("Upload", iter(parts), 20.0)


@pytest.mark.parametrize("digest", ["", "../../etc/passwd", "0" * 64, "arriving-1"])
def test_no_other_file_is_fetched_or_loaded(worker: Worker, tmp_path: Path, digest: str) -> None:
    with pytest.raises(GoneError):
        worker.fetch(digest, tmp_path / "x")
    assert not (tmp_path / "x").exists()
    with pytest.raises(GoneError):
        worker.load(digest)


def test_a_model_that_is_not_loaded_does_not_run(worker: Worker) -> None:
    with pytest.raises(GoneError, match="no such model"):
        worker.run("x", {})
    worker.close_model("x")


def test_what_is_no_artifact_is_not_loaded(worker: Worker) -> None:
    (digest,) = worker.upload([b"no artifact"])
    with pytest.raises(Exception, match="the artifact") as caught:
        worker.load(digest)
    assert not isinstance(caught.value, WorkerDiedError)


def test_what_is_no_model_ends_its_compile_alone(worker: Worker) -> None:
    (digest,) = worker.upload([b"no model"])
    events = compiling(worker, name="4" * 32, file=[m.ModelFile(name="it.onnx", digest=digest)])
    assert events[-1].WhichOneof("what") == "failure"
    assert '"ModelError"' in events[-1].failure
    assert "it.onnx is not an ONNX model" in events[-1].failure
    again = compiling(worker, name="4" * 32, is_again=True)
    assert again[-1] == events[-1]
    assert worker.devices()["machine"]["cpu"]


def test_it_tells_what_the_verbs_print(worker: Worker) -> None:
    assert worker.machine["architecture"]
    assert {"machine", "cores", "memory_bytes", "devices", "absent"} <= worker.devices().keys()
    assert [each["name"] for each in worker.doctor("reference")["engines"]] == ["reference"]
    with pytest.raises(Exception, match="is not defined"):
        worker.doctor("nonsense-of-a-target")
