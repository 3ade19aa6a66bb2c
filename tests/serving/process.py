"""A server in a process of its own, and what it is asked with."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import grpc
import numpy as np

from intarsia.serving.grpc.messages import SERVICE, messages

PATIENCE_S = 120.0
JSON = {"Content-Type": "application/json"}
"""There are servers that read no body without it."""
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Reply:
    """An answer over HTTP."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Web:
    """Asks over HTTP, on one connection that is made anew where it was ended."""

    def __init__(self, address: str, *, again: bool = False) -> None:
        """Ask there; ``again``: once more, where the server had ended the connection without saying so."""
        self._connection = http.client.HTTPConnection(address, timeout=PATIENCE_S)
        self._again = again

    def ask(self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> Reply:
        try:
            return self._ask(method, path, body, headers)
        except ConnectionError:
            if not self._again:
                raise
            self.close()
            return self._ask(method, path, body, headers)

    def _ask(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str] | None) -> Reply:
        self._connection.request(method, path, body, dict(headers or {}))
        response = self._connection.getresponse()
        return Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())

    def get(self, path: str) -> Reply:
        return self.ask("GET", path)

    def infer(self, model: str, body: Any, headers: Mapping[str, str] | None = None) -> Reply:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.ask("POST", f"/v2/models/{model}/infer", content, JSON if headers is None else headers)

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Calls:
    """Asks over gRPC."""

    def __init__(self, address: str) -> None:
        self._channel = grpc.insecure_channel(address)

    def ask(self, name: str, request: Any = None, *, wait_for_ready: bool = True) -> Any:
        """The message that answers; a `grpc.RpcError` otherwise."""
        call = self._channel.unary_unary(
            f"/{SERVICE}/{name}",
            request_serializer=lambda message: message if isinstance(message, bytes) else message.SerializeToString(),
            response_deserializer=getattr(messages(), f"{name}Response").FromString,
        )
        made = getattr(messages(), f"{name}Request")() if request is None else request
        return call(made, timeout=PATIENCE_S, wait_for_ready=wait_for_ready)

    def close(self) -> None:
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Addresses(NamedTuple):
    """Where a server listens."""

    http: str
    grpc: str


@dataclass
class Running:
    """A server that runs."""

    process: subprocess.Popen[str]
    http: str
    grpc: str
    log: list[dict[str, Any]] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def events(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.log if line["event"] == event]

    def await_events(self, event: str, number: int = 1) -> list[dict[str, Any]]:
        """So many lines of one event, waited for."""
        with self.changed:
            there = self.changed.wait_for(lambda: len(self.events(event)) >= number, PATIENCE_S)
            assert there, self.log
            return self.events(event)

    def end(self) -> int:
        self.process.terminate()
        return self.process.wait(PATIENCE_S)

    def _follow(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self.changed:
                self.log.append(json.loads(line))
                self.changed.notify_all()


@contextmanager
def serving(*arguments: str, verb: str = "serve", protocols: Sequence[str] = ("http", "grpc")) -> Iterator[Running]:
    """A server on free ports, once its models are ready; ended at the end, if it was not before."""
    ports = [word for protocol in protocols for word in (f"--{protocol}", "127.0.0.1:0")]
    line = [sys.executable, "-m", "intarsia", verb, *arguments, *ports]
    process = subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    )
    assert process.stdout is not None
    try:
        printed = [process.stdout.readline().split() for _ in protocols]
        places = {name.removesuffix(":"): place.rpartition("/")[2] for name, place in printed}
        running = Running(process, places["http"], places.get("grpc", ""))
        follower = threading.Thread(target=running._follow)
        follower.start()
        assert process.stdout.readline().startswith("ready: ")
        try:
            yield running
        finally:
            running.end()
            follower.join(PATIENCE_S)
    finally:
        process.kill()
        process.wait(PATIENCE_S)
        process.stdout.close()
        if process.stderr is not None:
            process.stderr.close()


def binary_request(arrays: Mapping[str, tuple[str, np.ndarray]], **others: Any) -> tuple[bytes, dict[str, str]]:
    """A body whose inputs, by name with their datatype, are all sent as bytes, and its headers."""
    from intarsia.serving.tensors.binary_data import to_binary

    tensors = [to_binary(array) for _, array in arrays.values()]
    rows = [
        {
            "name": name,
            "datatype": datatype,
            "shape": list(array.shape),
            "parameters": {"binary_data_size": len(tensor)},
        }
        for (name, (datatype, array)), tensor in zip(arrays.items(), tensors, strict=True)
    ]
    head = json.dumps({"inputs": rows, **others}).encode()
    return b"".join((head, *tensors)), {"Inference-Header-Content-Length": str(len(head))}
