"""The process in which a worker runs one artifact: it answers on a socket, one call after the other."""

from __future__ import annotations

import os
import signal
import socket
import struct
import sys
from pathlib import Path
from typing import Any, Final

import numpy as np

from intarsia.backends.isolation.server import end_with_parent
from intarsia.errors import IntarsiaError
from intarsia.remote.arrays import Packed, packed, unpacked
from intarsia.remote.failures import failure_of
from intarsia.runtime import Artifact, CompiledModel
from intarsia.runtime.artifact.trust import OWN

_LENGTH: Final = struct.Struct("<Q")
FAILURE, SPENT, TIMED = "failure", "spent_ns", "is_timed"


def send(wire: socket.socket, content: bytes) -> None:
    """Send one content."""
    wire.sendall(_LENGTH.pack(len(content)))
    wire.sendall(content)


def receive(wire: socket.socket) -> bytes | None:
    """The next content; ``None`` where the other side has closed."""
    head = _exactly(wire, _LENGTH.size)
    return None if head is None else _exactly(wire, _LENGTH.unpack(head)[0])


def _exactly(wire: socket.socket, count: int) -> bytes | None:
    content = bytearray(count)
    view, start = memoryview(content), 0
    while start < count:
        got = wire.recv_into(view[start:])
        if not got:
            return None
        start += got
    return bytes(content)


def main() -> None:
    """Load the artifact, say whether that went well, and run it until the worker closes."""
    end_with_parent()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.dup2(2, 1)  # what engines print is for the log
    with socket.socket(fileno=int(sys.argv[2])) as wire:
        try:
            model = CompiledModel(Artifact(Path(sys.argv[1]), OWN))
            model.load()
        except IntarsiaError as error:
            send(wire, _failed(error))
            return
        with model:
            send(wire, packed({}))
            while (content := receive(wire)) is not None:
                send(wire, _answer(model, content))


def _answer(model: CompiledModel, content: bytes) -> bytes:
    try:
        asked = unpacked(content)
        results, facts = _run(model, asked)
        return packed(results, facts)
    except (IntarsiaError, ValueError) as error:
        return _failed(error)


def _run(model: CompiledModel, asked: Packed) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    if not asked.facts.get(TIMED):
        return model(asked.arrays), {}
    results, spent = model.load().timed_run(model.checked(asked.arrays))
    return results, {SPENT: spent}


def _failed(error: BaseException) -> bytes:
    return packed({}, {FAILURE: failure_of(error).replace(sys.argv[1], "the artifact")})


if __name__ == "__main__":
    main()
