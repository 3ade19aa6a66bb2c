"""What the verbs that serve have in common: where they listen, who may call, and the bounds of each model."""

from __future__ import annotations

import json

import pytest

import intarsia.serving
from intarsia.addresses import Address
from intarsia.serving import Endpoints, Limits
from tests.cli_fakes import invoke
from tests.unit.cli.serving_fakes import Noted


@pytest.fixture(autouse=True)
def _noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intarsia.serving, "Server", Noted, raising=False)


@pytest.mark.parametrize("verb", [("serve", "net.intarsia"), ("deploy", "net.intarsia", "--deployment", "a: llvm")])
@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--http", "0.0.0.0:0"), "can be reached from other machines"),
        (("--http", "8000"), "is no address"),
        (("--http", "off", "--grpc", "off"), "neither HTTP nor gRPC"),
        (("--max-body", "huge"), "is not an amount of memory"),
        (("--timeout", "0"), "refuses every request"),
    ],
)
def test_how_nothing_can_be_served_is_said(verb: tuple[str, ...], flags: tuple[str, ...], words: str) -> None:
    done = invoke(*verb, *flags)
    assert done.exit_code == 2
    assert words in done.stderr


def test_what_is_asked_for_reaches_the_server() -> None:
    options = ("--queue", "3", "--max-body", "1KB", "--timeout", "2", "--log-requests")
    assert invoke("serve", "net.intarsia", *options, "--grpc", "off", "--no-auth", "--http", "0.0.0.0:1").exit_code == 0
    made = Noted.made
    assert made["limits"] == Limits(waiting=3, body_bytes=1000, timeout_s=2.0)
    assert made["endpoints"] == Endpoints(http=Address("0.0.0.0", 1), grpc=None)
    assert made["access"].token is None
    assert made["log_requests"] is True


def test_one_object_says_where_it_listens() -> None:
    done = invoke("serve", "net.intarsia", "--json")
    assert json.loads(done.stdout) == {
        "http": "127.0.0.1:4000",
        "grpc": None,
        "models": {"net": "net.intarsia"},
    }
