"""The part of Ray that is called, in this process: actors are plain objects, which die when they are told to."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


class RayError(Exception):
    """As Ray's: the root."""


class RayActorError(RayError):
    """As Ray's: an actor does not answer any more."""


class GetTimeoutError(RayError, TimeoutError):
    """As Ray's: no answer in time."""


class ObjectStoreFullError(RayError):
    """As Ray's: no room for values."""


class FakeRay:
    """Stands for the module. ``nodes_alive`` maps the label ``machine`` of each node to whether it is alive."""

    exceptions = SimpleNamespace(
        RayError=RayError,
        RayActorError=RayActorError,
        GetTimeoutError=GetTimeoutError,
    )

    def __init__(self, *labels: str) -> None:
        self.printed: list[Any] = []
        dispatcher = SimpleNamespace(add_handler=lambda _, handler: self.printed.append(handler))
        self._private = SimpleNamespace(
            worker=SimpleNamespace(), ray_logging=SimpleNamespace(global_worker_stdstream_dispatcher=dispatcher)
        )
        self.began_with: dict[str, Any] = {}
        self.alive = list(labels)
        self.options: list[dict[str, Any]] = []
        self.actors: list[FakeActor] = []
        self.killed: list[FakeActor] = []
        self.connected_to: str | None = None
        self.refuses: Exception | None = None

    def is_initialized(self) -> bool:
        return self.connected_to is not None

    def init(self, *, address: str, **others: Any) -> None:
        self.began_with = {"address": address, **others}
        if self.refuses is not None:
            raise self.refuses
        self.connected_to = "10.0.0.1:6379" if address == "auto" else address

    def get_runtime_context(self) -> Any:
        return SimpleNamespace(gcs_address=self.connected_to)

    def nodes(self) -> list[dict[str, Any]]:
        return [
            {
                "NodeID": f"{number:x}",
                "Alive": True,
                "Labels": {"machine": label},
                "Resources": {f"machine-{label}": 1.0},
            }
            for number, label in enumerate(self.alive)
        ]

    def remote(self, made: type) -> Any:
        def options(**options: Any) -> Any:
            self.options.append(options)

            def start() -> FakeActor:
                self.actors.append(FakeActor(made))
                return self.actors[-1]

            return SimpleNamespace(remote=start)

        return SimpleNamespace(options=options)

    def get(self, answer: Callable[[], Any], timeout: float) -> Any:
        return answer()

    def kill(self, actor: FakeActor) -> None:
        self.killed.append(actor)


class FakeActor:
    """A handle, and the process behind it."""

    def __init__(self, made: type) -> None:
        self._made = made
        self._process = made()
        self.fails: list[Exception] = []
        """What the next calls end with, in the place of an answer; a `RayActorError` ends the process too."""
        self.retries: list[tuple[str, int]] = []

    def __getattr__(self, name: str) -> Any:
        def options(*, max_task_retries: int) -> Any:
            self.retries.append((name, max_task_retries))
            return SimpleNamespace(remote=lambda *args: lambda: self._call(name, args))

        return SimpleNamespace(options=options)

    def _call(self, name: str, args: tuple[Any, ...]) -> Any:
        if self.fails:
            error = self.fails.pop(0)
            if isinstance(error, RayActorError):
                self._process.end()
                self._process = self._made()
            raise error
        return getattr(self._process, name)(*args)
