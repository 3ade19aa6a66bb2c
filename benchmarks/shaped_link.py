"""A port that passes everything on to another one, with the bandwidth and the delay of a link that is not here."""

from __future__ import annotations

import queue
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

_CHUNK: Final = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What a link does.

    Attributes:
        bits_per_s: What it carries each way.
        delay_s: Until what was sent arrives.
    """

    bits_per_s: float
    delay_s: float


class ShapedLink:
    """Listens on loopback, and passes on to an address there; as a context manager it ends with the block.

    Each way of a connection has a thread that reads and one that sends: a chunk is sent when the link would have
    carried it and all before it, and its delay is over.
    """

    def __init__(self, port: int, shape: Shape) -> None:
        self._port = port
        self._shape = shape
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> ShapedLink:
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self._listener, *self._sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                here, _ = self._listener.accept()
                there = socket.create_connection(("127.0.0.1", self._port))
                for each in (here, there):
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._sockets += [here, there]
                for source, sink in ((here, there), (there, here)):
                    waiting: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
                    threading.Thread(target=self._read, args=(source, waiting), daemon=True).start()
                    threading.Thread(target=_send, args=(waiting, sink), daemon=True).start()

    def _read(self, source: socket.socket, waiting: queue.SimpleQueue[tuple[float, bytes]]) -> None:
        free_at = 0.0
        content = b"begin"
        while content:
            try:
                content = source.recv(_CHUNK)
            except OSError:
                content = b""
            free_at = max(free_at, time.monotonic()) + 8 * len(content) / self._shape.bits_per_s
            waiting.put((free_at + self._shape.delay_s, content))
            # Nothing is read that the link could not have taken yet: the sender must feel it.
            time.sleep(max(0.0, free_at - time.monotonic()))


def _send(waiting: queue.SimpleQueue[tuple[float, bytes]], sink: socket.socket) -> None:
    with suppress(OSError):
        while True:
            at, content = waiting.get()
            if not content:
                sink.shutdown(socket.SHUT_WR)
                return
            time.sleep(max(0.0, at - time.monotonic()))
            sink.sendall(content)
