"""``intarsia serve``: which files are served under which names, and how often each is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

import intarsia.serving
from tests.cli_fakes import invoke
from tests.deployed import divided
from tests.unit.cli.serving_fakes import Noted


@pytest.fixture(autouse=True)
def _noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intarsia.serving, "Server", Noted, raising=False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("net.intarsia", "other/net.intarsia"), "two artifacts have one name"),
        (("=net.intarsia",), "is not [NAME=]ARTIFACT"),
    ],
)
def test_what_cannot_be_served_is_said(arguments: tuple[str, ...], words: str) -> None:
    done = invoke("serve", *arguments)
    assert done.exit_code == 2
    assert words in done.stderr


def test_a_model_of_several_machines_is_left_to_deploy(tmp_path: Path) -> None:
    path = divided(tmp_path).path
    done = invoke("serve", str(path))
    assert done.exit_code == 2
    assert f"an artifact for several machines; intarsia deploy {path} --deployment FILE serves it" in done.stderr


def test_a_model_is_called_by_its_file_unless_it_is_named() -> None:
    done = invoke("serve", "a/net.intarsia", "other=b=c.intarsia", "./d=e.intarsia")
    assert done.exit_code == 0
    assert Noted.made["files"] == {
        "net": Path("a/net.intarsia"), "other": Path("b=c.intarsia"), "d=e": Path("./d=e.intarsia"),
    }  # fmt: skip
    assert done.stdout == "http: http://127.0.0.1:4000\nready: net, other, d=e\n"


def test_how_a_model_is_loaded_reaches_the_server() -> None:
    assert invoke("serve", "net.intarsia", "--instances", "4", "--batch", "3", "--reload-every", "0").exit_code == 0
    made = Noted.made
    assert (made["loading"].instances, made["loading"].batch) == (4, 3)
    assert (made["loading"].in_place, made["reload_every_s"]) == (True, 0.0)
