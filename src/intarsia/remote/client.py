"""A worker on another machine, as its caller uses it."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np

from intarsia.cost.worker.progress import Watcher
from intarsia.errors import IntarsiaError, WorkerDiedError, WorkerVersionError
from intarsia.files import replacing
from intarsia.remote.arrays import packed, unpacked
from intarsia.remote.chunks import (
    BrokenContentError,
    digest_of,
    digest_of_file,
    joined,
    parts_of,
    parts_of_file,
    receive,
)
from intarsia.remote.following import ENDING_S, Compiled, best_so_far, followed, object_of
from intarsia.remote.link import GoneError, Link, LinkDownError, quietly
from intarsia.remote.place import CLOSE_S, LOAD_S, WorkerPlace

log = logging.getLogger(__name__)
_MOST_BYTES: Final = 1 << 46


class Worker:
    """A worker, which is greeted when this is made; as a context manager it closes the link at the end.

    Example::

        with Worker(WorkerPlace.of("board.local:9090", "token")) as worker:
            print(worker.devices()["machine"])

    Raises:
        RemoteError: It cannot be reached, refuses the token, or is of another version.
    """

    def __init__(self, place: WorkerPlace) -> None:
        self.place = place
        self.link = Link(place)
        try:
            greeting = self.link.open()
        except BaseException:
            self.link.close()
            raise
        self.machine: Mapping[str, Any] = object_of(greeting.machine)
        """What it runs on: processor, architecture, cores."""

    def devices(self) -> Mapping[str, Any]:
        """What ``intarsia devices --json`` prints there."""
        from intarsia.remote.messages import Nothing

        return object_of(self.link.ask("Devices", Nothing()).json)

    def doctor(self, target: str | None = None) -> Mapping[str, Any]:
        """What ``intarsia doctor --json`` prints there."""
        from intarsia.remote.messages import Question

        return object_of(self.link.ask("Doctor", Question(target=target or "")).json)

    def upload(self, files: Iterable[Path | bytes]) -> list[str]:
        """Send contents, those that the worker does not have yet, and return their digests."""
        from intarsia.remote.messages import Digests

        found = {digest_of(each) if isinstance(each, bytes) else digest_of_file(each): each for each in files}
        for digest in self.link.ask("Missing", Digests(digest=list(found))).digest:
            if digest in found:
                self._upload(digest, found[digest])
        return list(found)

    def _upload(self, digest: str, content: Path | bytes) -> None:
        def send() -> None:
            parts = parts_of(content) if isinstance(content, bytes) else parts_of_file(content, digest)
            self.link.once("Upload", parts, None)

        self.link.lasting(send)

    def compile(self, files: Mapping[str, Path | bytes], target: str, settings: str, progress: Watcher) -> Compiled:
        """Compile a model there; Ctrl-C here ends it there, with the best so far.

        Args:
            files: The files of the model by name, the model first.
            target: JSON of a configuration; empty for what the model says, else every engine that is usable there.
            settings: As `intarsia.remote.settings_text` writes them.
            progress: Told of every step.

        Raises:
            IntarsiaError: As `intarsia.compile`, or a `RemoteError`.
        """
        from intarsia.remote.messages import CompileRequest, ModelFile

        digests = {name: self.upload([content])[0] for name, content in files.items()}
        request = CompileRequest(
            job=secrets.token_hex(16),
            patience_s=self.place.timeout,
            file=[ModelFile(name=name, digest=digest) for name, digest in digests.items()],
            target=target,
            settings=settings,
        )
        events = self._events(request)
        try:
            return followed(events, progress, str(self.place))
        except KeyboardInterrupt:
            return self._interrupted(request, events)
        finally:
            quietly(lambda: self._forget(request.job))

    def _interrupted(self, request: Any, events: Iterator[Any]) -> Compiled:
        """End the compile there, and wait for what it had; the interruption goes on where there is nothing."""
        from intarsia.remote.messages import Name

        events.close()  # type: ignore[attr-defined] # a generator
        end = time.monotonic() + ENDING_S
        with suppress(IntarsiaError, LinkDownError, GoneError):
            self.link.once("Cancel", Name(name=request.job), ENDING_S / 2)
            request.is_again = True
            found = best_so_far(self.link.stream("Compile", request, ENDING_S / 2), end)
            if found is not None:
                return found
        raise KeyboardInterrupt

    def _events(self, request: Any) -> Iterator[Any]:
        """What a compile tells, over links that come and go."""
        end: float | None = None
        while True:
            try:
                for event in self.link.stream("Compile", request, self.place.timeout):
                    end = None
                    if event.WhichOneof("what") == "remark":
                        request.remarks_seen += 1
                    request.is_again = True
                    yield event
                return
            except GoneError:
                raise WorkerDiedError(
                    f"the worker at {self.place} does not know the compile any more: its process ended, or the link "
                    "was away for too long; the same call goes on from its record store"
                ) from None
            except LinkDownError as down:
                log.info("the link to the worker at %s was lost (%s); connecting anew", self.place, down)
                end = end or time.monotonic() + self.place.timeout
                self.link.reconnect(down, end)

    def fetch(self, digest: str, path: Path) -> None:
        """Bring a content here, into a file that appears whole; a lost link begins it anew.

        Raises:
            GoneError: The worker does not have it.
            RemoteError: The link does not come back.
            OutputError: Nothing can be written there.
        """
        from intarsia.remote.messages import FetchRequest

        def bring() -> None:
            with replacing(path) as draft, draft.open("r+b") as file:
                try:
                    receive(self.link.exchange("Fetch", FetchRequest(digest=digest), None), _MOST_BYTES, file.write)
                except BrokenContentError as error:
                    raise LinkDownError(str(error)) from None

        self.link.lasting(bring)

    def load(self, digest: str) -> str:
        """Load an artifact that the worker has, and return the name of the model; a `GoneError` if it has none such."""
        from intarsia.remote.messages import Name

        name: str = self.link.ask("Load", Name(name=digest), max(self.place.timeout, LOAD_S)).name
        return name

    def run(
        self, model: str, arrays: Mapping[str, np.ndarray], *, is_timed: bool = False
    ) -> tuple[dict[str, np.ndarray], list[int]]:
        """Results of a loaded model, and the nanoseconds of each step if they are asked for.

        Raises:
            FeedError: As a call of the model here.
            GoneError: There is no such model any more.
            BackendError: An engine failed.
        """
        from intarsia.remote.messages import RunPart

        content = packed(arrays)

        def act() -> bytes:
            asked = (RunPart(model=model, is_timed=is_timed, part=part) for part in parts_of(content))
            try:
                return joined(self.link.exchange("Run", asked, self.place.timeout), _MOST_BYTES)
            except BrokenContentError as error:
                raise LinkDownError(str(error)) from None

        answered = self.link.lasting(act)
        try:
            found = unpacked(answered)
        except ValueError as error:
            raise WorkerVersionError(f"the worker at {self.place} answered with what is no result: {error}") from None
        spent = found.facts.get("spent_ns", [])
        return dict(found.arrays), [int(each) for each in spent]

    def echo(self, content: bytes) -> bytes:
        """What the worker sends back, which is what it was sent: for measuring the link."""

        def act() -> bytes:
            try:
                return joined(self.link.exchange("Echo", parts_of(content), self.place.timeout), _MOST_BYTES)
            except BrokenContentError as error:
                raise LinkDownError(str(error)) from None

        return self.link.lasting(act)

    def close_model(self, model: str) -> None:
        """Free a loaded model."""
        quietly(lambda: self._forget(model))

    def shutdown(self) -> None:
        """Tell the worker to end."""
        from intarsia.remote.messages import Nothing

        self.link.ask("Shutdown", Nothing())

    def _forget(self, name: str) -> None:
        from intarsia.remote.messages import Name

        self.link.once("Close", Name(name=name), min(CLOSE_S, self.place.timeout))

    def close(self) -> None:
        """Close the link."""
        self.link.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
