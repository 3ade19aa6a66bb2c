"""Whether an address is free, and what answers there."""

from __future__ import annotations

import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from intarsia.addresses import Address
from intarsia.errors import ConfigError
from intarsia.serving.replicas.address import free_address, status_at


class _Teapot(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(418 if self.path == "/tea" else 404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_port_0_becomes_one_that_is_free_and_a_taken_one_is_an_error() -> None:
    found = free_address(Address("127.0.0.1", 0))
    assert found.port > 0
    with socket.create_server(("127.0.0.1", 0)) as taken:
        there = Address("127.0.0.1", taken.getsockname()[1])
        with pytest.raises(ConfigError, match=f"nothing can listen on {there}"):
            free_address(there)


def test_what_answers_is_told_by_its_status() -> None:
    with HTTPServer(("127.0.0.1", 0), _Teapot) as server:
        threading.Thread(target=server.serve_forever).start()
        address = Address("0.0.0.0", server.server_port)
        assert status_at(address, "/tea", tls=False) == 418
        server.shutdown()
    assert status_at(address, "/tea", tls=False) is None
    assert status_at(address, "/tea", tls=True) is None
