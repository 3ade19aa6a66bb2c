from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import intarsia.serving
from intarsia.addresses import Address
from intarsia.serving import Endpoints, Limits, Server
from tests.cli_fakes import invoke


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("net.intarsia", "--http", "0.0.0.0:0"), 2, "can be reached from other machines"),
        (("net.intarsia", "--http", "8000"), 2, "is no address"),
        (("net.intarsia", "--http", "off", "--grpc", "off"), 2, "neither HTTP nor gRPC"),
        (("net.intarsia", "other/net.intarsia"), 2, "two artifacts have one name"),
        (("=net.intarsia",), 2, "is not [NAME=]ARTIFACT"),
        (("net.intarsia", "--max-body", "huge"), 2, "is not an amount of memory"),
        (("net.intarsia", "--timeout", "0"), 2, "refuses every request"),
    ],
)
def test_what_cannot_be_served_is_said(arguments: tuple[str, ...], code: int, words: str) -> None:
    done = invoke("serve", *arguments)
    assert done.exit_code == code
    assert words in done.stderr


class Noted(Server):
    """Takes what a server takes, listens nowhere, and is ready at once."""

    made: dict[str, Any] = {}  # noqa: RUF012 - filled anew by each

    def __init__(self, files: Any, endpoints: Endpoints, **settings: Any) -> None:
        Noted.made = {"files": files, "endpoints": endpoints, **settings}

    def run(self, on_listening: Callable[[Endpoints], object], on_ready: Callable[[], object]) -> None:
        on_listening(Endpoints(http=Address("127.0.0.1", 4000), grpc=None))
        on_ready()


@pytest.fixture(autouse=True)
def _noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intarsia.serving, "Server", Noted, raising=False)


def test_a_model_is_called_by_its_file_unless_it_is_named() -> None:
    done = invoke("serve", "a/net.intarsia", "other=b=c.intarsia", "./d=e.intarsia")
    assert done.exit_code == 0
    assert Noted.made["files"] == {
        "net": Path("a/net.intarsia"), "other": Path("b=c.intarsia"), "d=e": Path("./d=e.intarsia"),
    }  # fmt: skip
    assert done.stdout == "http: http://127.0.0.1:4000\nready: net, other, d=e\n"


def test_what_is_asked_for_reaches_the_server() -> None:
    options = ("--queue", "3", "--max-body", "1KB", "--timeout", "2", "--instances", "4", "--reload-every", "0")
    assert invoke("serve", "net.intarsia", *options, "--grpc", "off", "--no-auth", "--http", "0.0.0.0:1").exit_code == 0
    made = Noted.made
    assert made["limits"] == Limits(waiting=3, body_bytes=1000, timeout_s=2.0)
    assert made["endpoints"] == Endpoints(http=Address("0.0.0.0", 1), grpc=None)
    assert (made["loading"].instances, made["loading"].in_place, made["reload_every_s"]) == (4, True, 0.0)
    assert made["access"].token is None
