"""The process in which an isolated engine compiles, loads and runs. It ends with its parent, however that ends."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from intarsia.backends import registry
from intarsia.backends.contract import Arrays, Backend, BoundCall, EngineArtifact, Executable, guard, signature_rows
from intarsia.backends.contract.shared_memory import SharedBlock
from intarsia.backends.isolation.message import (
    ANSWER,
    DONE,
    FAILED,
    LONGEST,
    MOST_BLOCKS,
    RUN,
    Message,
    bytes_as_arrays,
    view,
)
from intarsia.config.settings import RunSettings, Spin
from intarsia.errors import BackendError, CompileError, ExecutionError, IntarsiaError, LoadError
from intarsia.graph import extract
from intarsia.target import Target

if TYPE_CHECKING:
    import numpy as np

    from intarsia.graph import SubModel


def tell(engine: str) -> None:
    """Print what the engine's probe finds here, as JSON, on a line of its own."""
    print(json.dumps(asdict(registry.probe(engine))))  # noqa: T201 - this is how the process answers


def serve(engine: str, descriptor: int) -> None:
    """Answer what comes over a socket."""
    end_with_parent()
    with socket.socket(fileno=descriptor) as wire:
        server = _Server(registry.get(engine))
        while True:
            message, descriptors, _, _ = socket.recv_fds(wire, LONGEST, MOST_BLOCKS)
            if not message:
                return
            if message.startswith(RUN):
                wire.send(_answer(partial(server.run, int(message[1:]))))
            else:
                server.answer(wire, [SharedBlock.received(each) for each in descriptors])


def end_with_parent() -> None:
    """Have the kernel end this process as soon as nobody can write to its standard input any more.

    So it dies even while an engine hangs in foreign code. `PR_SET_PDEATHSIG` would end it with the parent's *thread*.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all; the parent decides
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)


class _Loaded(NamedTuple):
    """Engines may know memory by its address alone, so what they were handed is kept with what they made of it."""

    executable: Executable
    weights: Arrays


class _Call(NamedTuple):
    """A bound call, the number of its executable, and its buffers, for the same reason."""

    executable: int
    call: BoundCall
    buffers: Sequence[Arrays]


class _Server:
    """An engine, with what it has loaded and bound, by number."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._executables: dict[int, _Loaded] = {}
        self._calls: dict[int, _Call] = {}
        self._numbers = count()

    def run(self, number: int) -> None:
        """One bound call."""
        bound = self._calls.get(number)
        if bound is None:
            raise ExecutionError(self._backend.name, "it was closed")
        bound.call()

    def answer(self, wire: socket.socket, blocks: Sequence[SharedBlock]) -> None:
        """Do what the message in the first block asks, and send a message back."""
        asked = Message.of_block(blocks[0])
        made: list[SharedBlock] = []
        does: Mapping[str, Callable[[Message, Sequence[SharedBlock]], Message]] = {
            "compile": self._compile,
            "load": self._load,
            "bind": self._bind,
            "drop": self._drop,
            "export": self._export,
        }
        said = _answer(lambda: made.append(does[asked.facts["do"]](asked, blocks[1:]).packed()))
        if made:
            socket.send_fds(wire, [ANSWER], [made[0].descriptor])
        else:
            wire.send(said)

    def _compile(self, asked: Message, blocks: Sequence[SharedBlock]) -> Message:
        with guard(CompileError, self._backend.name):
            artifact = self._backend.compile(_model(asked, blocks), *_how(asked))
        facts = {"weights": artifact.weights, "meta": dict(artifact.meta)}
        return Message(facts=facts, arrays=bytes_as_arrays(artifact.files))

    def _export(self, asked: Message, blocks: Sequence[SharedBlock]) -> Message:
        with guard(CompileError, self._backend.name):
            paths = self._backend.export(_model(asked, blocks), *_how(asked), Path(asked.facts["folder"]))
        return Message(facts={"paths": [str(path) for path in paths]})

    def _load(self, asked: Message, blocks: Sequence[SharedBlock]) -> Message:
        files = {name: asked.arrays[place].tobytes() for name, place in asked.facts["files"].items()}
        weights = {name: _read_only(asked.arrays[place]) for name, place in asked.facts["weights"].items()}
        artifact = EngineArtifact(files=files, weights=tuple(weights), meta=asked.facts["meta"])
        with guard(LoadError, self._backend.name):
            executable = self._backend.load(artifact, weights, *_how(asked))
        number = next(self._numbers)
        self._executables[number] = _Loaded(executable, weights)
        borders = {"inputs": signature_rows(executable.inputs), "outputs": signature_rows(executable.outputs)}
        return Message(facts={"number": number, **borders})

    def _bind(self, asked: Message, blocks: Sequence[SharedBlock]) -> Message:
        sides = [
            {name: view(blocks[block], offset, dtype, shape) for name, (block, offset, dtype, shape) in side.items()}
            for side in (asked.facts["inputs"], asked.facts["outputs"])
        ]
        with guard(LoadError, self._backend.name):
            call = self._executables[asked.facts["executable"]].executable.bind(*sides)
        number = next(self._numbers)
        self._calls[number] = _Call(asked.facts["executable"], call, sides)
        return Message(facts={"number": number})

    def _drop(self, asked: Message, blocks: Sequence[SharedBlock]) -> Message:
        for number in asked.facts["executables"]:
            self._calls = {call: owned for call, owned in self._calls.items() if owned.executable != number}
            self._executables.pop(number).executable.close()
        return Message(facts={})


def _answer(act: Callable[[], None]) -> bytes:
    """Do it, and say what came of it."""
    try:
        act()
    except BackendError as error:
        return _failure(type(error).__name__, error.detail)
    except IntarsiaError as error:
        return _failure(type(error).__name__, str(error))
    except Exception as error:  # what no guard caught is still only a failure
        return _failure(ExecutionError.__name__, f"{type(error).__name__}: {error}")
    return DONE


def _failure(error: str, detail: str) -> bytes:
    return FAILED + json.dumps([error, detail[:2000]]).encode()


def _how(asked: Message) -> tuple[Target, RunSettings]:
    facts = asked.facts
    return Target(facts["target"]), RunSettings(threads=facts["threads"], spin=Spin(facts["spin"]))


def _model(asked: Message, blocks: Sequence[SharedBlock]) -> SubModel:
    """The sub-graph, over weights that lie in a block by their places in ``weights.bin``."""
    from intarsia.graph import open_graph

    weights = Path(f"/proc/self/fd/{blocks[0].descriptor}")
    return extract(open_graph(asked.arrays["structure"].tobytes(), weights), asked.facts["nodes"])


def _read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array
