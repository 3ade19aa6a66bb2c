"""An actor on a node of a Ray cluster, as its caller uses it: in the place of a worker that listens."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np

from intarsia.cost.worker.progress import Watcher
from intarsia.errors import (
    ClosedError,
    IntarsiaError,
    MachineDiedError,
    ModelError,
    RemoteError,
    WorkerTimeoutError,
    WorkerUnreachableError,
    WorkerVersionError,
)
from intarsia.files import replacing
from intarsia.forks import Forkable, left_behind
from intarsia.remote.actors.cluster import connected, nodes_of, started
from intarsia.remote.actors.machine_actor import FAILURE, GONE
from intarsia.remote.actors.node_place import NodePlace
from intarsia.remote.chunks import digest_of
from intarsia.remote.failures import error_of
from intarsia.remote.following import ENDING_S, Compiled, best_so_far, followed
from intarsia.remote.link import GoneError
from intarsia.remote.place import CLOSE_S, LOAD_S
from intarsia.version import __version__

_LOOK_S: Final = 1.0
"""How often the cluster is asked, while an answer is waited for, whether the node is still there."""


class ActorWorker(Forkable):
    """An actor of one caller, which is started when this is made, and ends when this is closed.

    A call that the actor had in hand when its process died is not made again: nobody knows how far it came. The next
    one waits until Ray has started the process again.

    Raises:
        RemoteError: There is no such node, or nothing starts on it.
        ConfigError: Several nodes are meant.
        BackendUnavailableError: Ray is not installed.
    """

    def __init__(self, place: NodePlace) -> None:
        self.place = place
        self._ray: Any = connected(place.address)
        self._actor: Any = started(self._ray, place)
        self._has_died = False
        self._is_lost = False
        try:
            self.greeting: Mapping[str, Any] = self._greet()
            """Which version answers there, in which process."""
        except BaseException:
            self._kill()
            raise

    def upload(self, files: Iterable[Path | bytes]) -> list[str]:
        """Send contents, and return their digests."""
        found = {}
        for each in files:
            content = _content(each)
            found[digest_of(content)] = content
        for digest, content in found.items():
            self._ask("upload", digest, np.frombuffer(content, np.uint8), within_s=self._long_s)
        return list(found)

    def compile(self, files: Mapping[str, Path | bytes], target: str, settings: str, progress: Watcher) -> Compiled:
        """As `intarsia.remote.client.Worker.compile`."""
        job = secrets.token_hex(16)
        contents = {name: np.frombuffer(_content(each), np.uint8) for name, each in files.items()}
        self._ask("compile", job, contents, target, settings, within_s=self._long_s)
        try:
            return followed(self._events(job), progress, str(self.place))
        except KeyboardInterrupt:
            return self._interrupted(job)

    def _interrupted(self, job: str) -> Compiled:
        """End the compile there, and wait for what it had; the interruption goes on where there is nothing."""
        end = time.monotonic() + ENDING_S
        with suppress(IntarsiaError, GoneError):
            self._ask("cancel", job, within_s=ENDING_S / 2)
            found = best_so_far(self._events(job), end)
            if found is not None:
                return found
        raise KeyboardInterrupt

    def _events(self, job: str) -> Iterator[Any]:
        from intarsia.remote.messages import Event

        try:
            while (content := self._ask("next_event", job)) is not None:
                yield Event.FromString(content)
        except GoneError:
            raise self._death("in the middle of the compile") from None

    def fetch(self, digest: str, path: Path) -> None:
        """Bring a content here, into a file that appears whole."""
        content = self._ask("fetch", digest, within_s=self._long_s).tobytes()
        if digest_of(content) != digest:
            raise WorkerUnreachableError(f"{self.place} sent what is not the content that was asked for; ask again")
        with replacing(path) as draft:
            draft.write_bytes(content)

    def load(self, digest: str) -> str:
        """Load an artifact that the actor has, and return the name of the model; a `GoneError` if it has none such."""
        self._await_restart()
        return str(self._ask("load", digest, within_s=self._long_s))

    def run(
        self, model: str, arrays: Mapping[str, np.ndarray], *, is_timed: bool = False
    ) -> tuple[dict[str, np.ndarray], list[int]]:
        """As `intarsia.remote.client.Worker.run`.

        Raises:
            MachineDiedError: The process ended with this call in hand.
        """
        self._await_restart()
        results, spent = self._ask("run", model, dict(arrays), is_timed)
        # What Ray hands over is in its own memory, read-only, and kept there as long as it is used.
        return {name: np.array(array) for name, array in results.items()}, spent

    def echo(self, content: bytes) -> bytes:
        """What the actor sends back, which is what it was sent: for measuring the link."""
        return bytes(self._ask("echo", np.frombuffer(content, np.uint8)).tobytes())

    def close_model(self, model: str) -> None:
        """Free a loaded model."""
        self._quietly("close_model", model)

    def close(self) -> None:
        """End the actor. Calling it twice is fine."""
        if self._actor is not None and not self._is_lost:
            self._quietly("end")
            self._kill()
        self._actor = None

    def after_fork(self) -> None:
        """The connection and its threads are the parent's."""
        left_behind(self._actor)
        self._is_lost = True

    @property
    def _long_s(self) -> float:
        """Seconds for what takes longer than an answer: a process that is started there, a model that is loaded."""
        return max(self.place.timeout, LOAD_S)

    def _greet(self) -> Mapping[str, Any]:
        try:
            found: Mapping[str, Any] = self._ask("hello", within_s=self._long_s)
        except MachineDiedError as error:
            raise WorkerVersionError(
                f"{self.place} cannot start what runs there: install Intarsia {__version__} for its Ray's Python "
                f"({_last_line(error.__cause__)})"
            ) from error
        if found["version"] != __version__:
            raise WorkerVersionError(
                f"{self.place} has Intarsia {found['version']}, and the caller has {__version__}: install the same "
                "version on both"
            )
        return found

    def _await_restart(self) -> None:
        """Wait, where the process died, until Ray has started it again."""
        if not self._has_died:
            return
        try:
            self._ask("hello", again=True)
        except MachineDiedError as error:
            raise MachineDiedError(f"{self.place}: its process is not started again; load the model again") from error
        self._has_died = False

    def _quietly(self, name: str, *args: Any) -> None:
        """Do something at the end that is only a courtesy."""
        if not self._has_died:
            with suppress(IntarsiaError, GoneError):
                self._ask(name, *args, within_s=min(CLOSE_S, self.place.timeout))

    def _kill(self) -> None:
        with suppress(Exception):  # it is gone already
            self._ray.kill(self._actor)

    def _ask(self, name: str, *args: Any, within_s: float | None = None, again: bool = False) -> Any:
        """The value of an answer.

        Args:
            name: Of a method of the actor.
            *args: What it is given.
            within_s: Seconds that the answer may take; those of the place if left out.
            again: Whether Ray makes the call again where the process dies.

        Raises:
            IntarsiaError: The actor told of one.
            GoneError: It does not know what it was asked for.
            MachineDiedError: Its process ended before it answered.
            WorkerTimeoutError: It does not answer in time.
            WorkerUnreachableError: Its node is gone.
        """
        if self._is_lost or self._actor is None:
            why = "belongs to the process that this one was forked from" if self._is_lost else "was closed"
            raise ClosedError(f"the link to {self.place} {why}; compile or load again")
        errors = self._ray.exceptions
        try:
            method = getattr(self._actor, name).options(max_task_retries=-1 if again else 0)
            word, value = self._awaited(method.remote(*args), within_s or self.place.timeout)
        except errors.RayActorError as error:
            self._has_died = True
            raise self._death("before it answered, with the request in hand") from error
        except errors.RayError as error:
            raise WorkerUnreachableError(f"Ray does not bring values to {self.place} and back: {error}") from error
        if word == GONE:
            raise GoneError(value)
        if word == FAILURE:
            raise error_of(value, str(self.place))
        return value

    def _awaited(self, answer: Any, within_s: float) -> Any:
        end = time.monotonic() + within_s
        while True:
            left = end - time.monotonic()
            try:
                return self._ray.get(answer, timeout=max(0.0, min(_LOOK_S, left)))
            except self._ray.exceptions.GetTimeoutError:
                pass
            if not nodes_of(self._ray, self.place):
                self._has_died = True
                raise self._gone()
            if left <= 0:
                raise WorkerTimeoutError(
                    f"{self.place} does not answer within {within_s:.0f} s; see what it does, or state a longer timeout"
                )

    def _death(self, when: str) -> RemoteError:
        return MachineDiedError(
            f"{self.place}: its process ended {when}; the next request waits until Ray has started it again"
        )

    def _gone(self) -> RemoteError:
        return WorkerUnreachableError(
            f"{self.place} is gone: no node that is alive has {self.place.mark} any more; start one with it, and ask "
            "again"
        )


def _last_line(error: object) -> str:
    return str(error).strip().splitlines()[-1].strip()


def _content(file: Path | bytes) -> bytes:
    if isinstance(file, bytes):
        return file
    try:
        return file.read_bytes()
    except OSError as error:
        raise ModelError(f"{file} cannot be read: {error.strerror}") from error
