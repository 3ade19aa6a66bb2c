"""What a worker does for each call, once its token and its versions are right."""

from __future__ import annotations

import hmac
import json
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from intarsia.errors import ConfigError, IntarsiaError, ModelError
from intarsia.files import Scratch, sweep_temporary
from intarsia.planning.inventory import devices_report, doctor_report
from intarsia.remote import failures
from intarsia.remote import messages as m
from intarsia.remote.arrays import packed, unpacked
from intarsia.remote.chunks import BrokenContentError, joined, parts_of, parts_of_file
from intarsia.remote.file_store import FileStore
from intarsia.remote.processes.job_process import model_path, write_request
from intarsia.remote.processes.jobs import Job
from intarsia.remote.processes.model_process import TIMED
from intarsia.remote.processes.models import LoadedModel, ToldError
from intarsia.remote.protocol import (
    CALLS,
    FAILURE,
    PROTOCOL,
    PROTOCOL_KEY,
    SERVICE,
    TOKEN,
    VERSION_KEY,
    Call,
)
from intarsia.remote.settings_text import settings_of_text
from intarsia.runtime import this_machine
from intarsia.version import __version__
from intarsia.wording import counted

_JOB: Final = re.compile(r"[0-9a-f]{32}")
_LONGEST_PATIENCE_S: Final = 86400.0
_LARGEST_ECHO: Final = 64 << 20
_BESIDES_S: Final = 5.0
"""A compile goes on for so much longer than its caller waits, so that it is there when the caller still asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a worker does at most.

    Attributes:
        content_bytes: Of what is sent to it, and of all that it keeps for its callers together.
        budget_s: Of one compile.
        idle_s: Until a model, or a finished compile, that nobody asks for is dropped.
        compiles: At one time.
        models: Loaded at one time.
    """

    content_bytes: int = 16 << 30
    budget_s: float = 3600.0
    idle_s: float = 600.0
    compiles: int = 4
    models: int = 16


class Service:
    """The calls of one worker."""

    def __init__(self, token: str, store: str | None, limits: Limits, version: str = __version__) -> None:
        self._token = token.encode()
        self._store = store
        self._limits = limits
        self._version = version
        self._instance = secrets.token_hex(16)
        sweep_temporary()  # what a worker that was killed left
        self._scratch = Scratch()
        self._files = FileStore(self._scratch.path / "files", limits.content_bytes)
        self._jobs: dict[str, Job] = {}
        self._models: dict[str, LoadedModel] = {}
        self._lock = threading.Lock()
        self._is_ending = threading.Event()
        self._reaper = threading.Thread(target=self._reap, daemon=True)
        self._reaper.start()

    @property
    def is_ending(self) -> threading.Event:
        """Set once it is told to end."""
        return self._is_ending

    def handler(self) -> Any:
        """What a server of gRPC is given."""
        import grpc

        made = {name: self._handler(call, getattr(self, f"_{name.lower()}")) for name, call in CALLS.items()}
        return grpc.method_handlers_generic_handler(SERVICE, made)

    def end(self) -> None:
        """Take no call any more, and have those that follow a compile told so."""
        self._is_ending.set()
        for job in list(self._jobs.values()):
            job.wake()

    def close(self) -> None:
        """End what runs, and remove all files."""
        self.end()
        self._reaper.join()
        with self._lock:
            ending: list[Job | LoadedModel] = [*self._jobs.values(), *self._models.values()]
            self._jobs, self._models = {}, {}
        for each in ending:
            each.close()
        self._scratch.close()

    def _handler(self, call: Call, act: Callable[[Any, Any], Any]) -> Any:
        def answer(request: Any, context: Any) -> Any:
            self._admit(context)
            with _Told(context):
                return act(request, context)

        def answers(request: Any, context: Any) -> Iterator[Any]:
            self._admit(context)
            with _Told(context):
                yield from act(request, context)

        kind = f"{'stream' if call.many_asked else 'unary'}_{'stream' if call.many_answered else 'unary'}"
        import grpc

        make = getattr(grpc, f"{kind}_rpc_method_handler")
        behaviour = answers if call.many_answered else answer
        return make(
            behaviour, request_deserializer=call.asks.FromString, response_serializer=call.answers.SerializeToString
        )

    def _admit(self, context: Any) -> None:
        """Let nobody in without the token, and none of another version."""
        head = {key: value for key, value in context.invocation_metadata() if isinstance(value, str)}
        if not hmac.compare_digest(head.get(TOKEN, "").encode(), self._token):
            _abort(context, "UNAUTHENTICATED", "the token is another one")
        theirs = head.get(PROTOCOL_KEY), head.get(VERSION_KEY)
        if theirs != (str(PROTOCOL), self._version):
            _refuse(
                context,
                "FAILED_PRECONDITION",
                failures.VERSION,
                f"has Intarsia {self._version} (protocol {PROTOCOL}), and the caller has {theirs[1]} (protocol "
                f"{theirs[0]}): install the same version on both",
            )
        if self._is_ending.is_set():
            _refuse(context, "UNAVAILABLE", failures.SHUTDOWN, "it is about to end")

    def _hello(self, _: Any, __: Any) -> Any:
        machine = this_machine()
        facts = asdict(machine) | {"fingerprint": machine.fingerprint}
        return m.Greeting(protocol=PROTOCOL, version=self._version, instance=self._instance, machine=json.dumps(facts))

    def _devices(self, _: Any, __: Any) -> Any:
        return m.Answer(json=json.dumps(devices_report()))

    def _doctor(self, request: Any, _: Any) -> Any:
        return m.Answer(json=json.dumps(doctor_report(request.target or None)))

    def _missing(self, request: Any, _: Any) -> Any:
        return m.Digests(digest=[each for each in request.digest if self._files.path(each) is None])

    def _upload(self, request: Iterable[Any], _: Any) -> Any:
        self._files.put(request)
        return m.Nothing()

    def _compile(self, request: Any, context: Any) -> Iterator[Any]:
        job = self._job(request, context)
        is_over = lambda: self._is_ending.is_set() or not context.is_active()  # noqa: E731
        yield from job.events(request.remarks_seen, is_over)
        if self._is_ending.is_set():
            _refuse(context, "UNAVAILABLE", failures.SHUTDOWN, "in the middle of the compile")

    def _job(self, request: Any, context: Any) -> Job:
        """The job of a request, begun unless it was before."""
        if not _JOB.fullmatch(request.job):
            raise ConfigError("the name of the job is none")
        with self._lock:
            found = self._jobs.get(request.job)
            if found is not None:
                return found
            if request.is_again:
                raise _GoneError("no such compile")
            if sum(not job.is_done for job in self._jobs.values()) >= self._limits.compiles:
                _abort(context, "RESOURCE_EXHAUSTED", f"{self._limits.compiles} compiles run there already")
            job = self._jobs[request.job] = Job(self._folder(request), self._files, self._patience(request))
            return job

    def _patience(self, request: Any) -> float:
        stated = float(request.patience_s) + _BESIDES_S
        return max(_BESIDES_S, min(stated, _LONGEST_PATIENCE_S))

    def _folder(self, request: Any) -> Path:
        """A folder with the model's files and what is to be done."""
        budget = settings_of_text(request.settings, None).budget
        if budget > self._limits.budget_s:
            raise ConfigError(
                f"a budget of {budget:.0f} s is more than the worker takes, which is {self._limits.budget_s:.0f} s: "
                "state less, or start it with a larger --max-budget"
            )
        if not request.file:
            raise ModelError("no file of a model was sent")
        folder = self._scratch.path / str(request.job)
        inside = folder / "model"
        inside.mkdir(parents=True)
        for file in request.file:
            path = inside / model_path(file.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            if not self._files.lend(file.digest, path):
                raise _GoneError("the files of the model")
        write_request(
            folder,
            model=request.file[0].name,
            target=request.target,
            settings=request.settings,
            store=self._store,
        )
        return folder

    def _cancel(self, request: Any, _: Any) -> Any:
        job = self._jobs.get(request.name)
        if job is not None:
            job.cancel()
        return m.Nothing()

    def _fetch(self, request: Any, _: Any) -> Iterator[Any]:
        path = self._files.path(request.digest)
        if path is None:
            raise _GoneError("no such content")
        yield from parts_of_file(path, request.digest, request.offset)

    def _load(self, request: Any, context: Any) -> Any:
        path = self._files.path(request.name)
        if path is None:
            raise _GoneError("no such artifact")
        if len(self._models) >= self._limits.models:
            most = counted(self._limits.models, "model")
            _abort(context, "RESOURCE_EXHAUSTED", f"no more than {most} may be loaded there at one time")
        name = secrets.token_hex(16)
        model = LoadedModel(path)
        with self._lock:
            self._models[name] = model
        return m.Name(name=name)

    def _run(self, request: Iterator[Any], _: Any) -> Iterator[Any]:
        first = next(request, m.RunPart())
        model = self._models.get(first.model)
        if model is None:
            raise _GoneError("no such model")
        content = joined(_parts(first, request), self._limits.content_bytes)
        if first.is_timed:
            content = packed(unpacked(content).arrays, {TIMED: True})
        try:
            yield from parts_of(model.run(content))
        finally:
            if model.is_ended:
                self._drop(first.model)

    def _echo(self, request: Iterator[Any], _: Any) -> Iterator[Any]:
        yield from parts_of(joined(request, min(_LARGEST_ECHO, self._limits.content_bytes)))

    def _close(self, request: Any, _: Any) -> Any:
        self._drop(request.name)
        return m.Nothing()

    def _shutdown(self, _: Any, __: Any) -> Any:
        threading.Thread(target=self.end, daemon=True).start()
        return m.Nothing()

    def _drop(self, name: str) -> None:
        with self._lock:
            dropped = (self._jobs.pop(name, None), self._models.pop(name, None))
        for each in dropped:
            if each is not None:
                each.close()

    def _reap(self) -> None:
        """End compiles whose caller went away, and drop what nobody asks for any more."""
        while not self._is_ending.wait(1.0):
            now = time.monotonic()
            left = [name for name, job in list(self._jobs.items()) if self._is_dropped(job)]
            left += [name for name, model in list(self._models.items()) if now - model.used_at > self._limits.idle_s]
            for name in left:
                with suppress(OSError):
                    self._drop(name)

    def _is_dropped(self, job: Job) -> bool:
        return job.alone_s > self._limits.idle_s if job.is_done else job.is_left


class _GoneError(Exception):
    """The caller names what is not here."""


class _Told:
    """Tells the caller what went wrong inside."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        match error:
            case _GoneError():
                _refuse(self._context, "NOT_FOUND", failures.GONE, str(error))
            case ToldError():
                self._end("ABORTED", error.text)
            case BrokenContentError():
                _refuse(self._context, "DATA_LOSS", failures.BROKEN, str(error))
            case IntarsiaError():
                self._end("ABORTED", failures.failure_of(error))
            case OSError() | ValueError():
                self._end("INTERNAL", failures.failure_of(error))

    def _end(self, code: str, text: str) -> NoReturn:
        self._context.set_trailing_metadata(((FAILURE, text.encode()),))
        _abort(self._context, code, "see the metadata")


def _refuse(context: Any, code: str, why: str, message: str) -> NoReturn:
    context.set_trailing_metadata(((FAILURE, failures.told(why, message).encode()),))
    _abort(context, code, message)


def _abort(context: Any, code: str, message: str) -> NoReturn:
    """End the call with one of gRPC's codes."""
    from grpc import StatusCode

    context.abort(StatusCode[code], message)
    raise AssertionError("abort raises")


def _parts(first: Any, others: Iterable[Any]) -> Iterator[Any]:
    yield first.part
    for each in others:
        yield each.part
