"""Signing and keys on the command line, and the flags that ask for a signature."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.artifacts import written
from tests.cli_fakes import Fakes, invoke


@pytest.fixture
def signed(folder: Path) -> Path:
    assert invoke("keygen", "mine").exit_code == 0
    path = written(folder / "m.intarsia")
    assert invoke("sign", path, "--key", "mine.key").exit_code == 0
    return path


def test_keys_are_made_and_their_fingerprint_is_that_of_what_they_sign(folder: Path) -> None:
    made = json.loads(invoke("keygen", "mine", "--json").stdout)
    assert made["private_key"] == "mine.key"
    assert made["public_key"] == "mine.pub"
    path = written(folder / "m.intarsia")
    assert json.loads(invoke("sign", path, "--key", "mine.key", "--json").stdout)["key"] == made["key"]
    told = json.loads(invoke("explain", path, "--json").stdout)
    assert told["signature"] == {"key": made["key"], "fits": True}


def test_a_key_is_never_overwritten(signed: Path, folder: Path) -> None:
    before = (folder / "mine.key").read_bytes()
    done = invoke("keygen", "mine")
    assert (done.exit_code, done.stderr.startswith("error: mine.key is there already")) == (2, True)
    assert (folder / "mine.key").read_bytes() == before


def test_a_passphrase_comes_from_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTARSIA_KEY_PASSPHRASE", "open sesame")
    assert invoke("keygen", "mine", "--passphrase").exit_code == 0
    assert b"ENCRYPTED" in (folder / "mine.key").read_bytes()
    path = written(folder / "m.intarsia")
    assert invoke("sign", path, "--key", "mine.key").exit_code == 0
    monkeypatch.setenv("INTARSIA_KEY_PASSPHRASE", "wrong")
    assert invoke("sign", path, "--key", "mine.key").exit_code == 2


@pytest.mark.parametrize("verb", [("run", "--random"), ("explain",), ("report", "-o", "page.html"), ("export",)])
def test_each_verb_asks_for_the_signature(verb: tuple[str, ...], signed: Path, folder: Path) -> None:
    name, *more = verb
    other = written(folder / "other.intarsia", parts=1)
    assert invoke("keygen", "theirs").exit_code == 0
    for path, key in ((other, "mine.pub"), (signed, "theirs.pub")):
        done = invoke(name, path, *more, "--signed-by", key)
        assert done.exit_code == 2
        assert "signed" in done.stderr
    assert not (folder / "page.html").exists()


def test_what_is_signed_is_shown_so(signed: Path) -> None:
    done = invoke("explain", signed, "--signed-by", "mine.pub", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["machine_code"] == []
    assert invoke("run", signed, "--random", "--signed-by", "mine.pub").exit_code == 0


def test_flags_that_mean_nothing_are_refused(fakes: Fakes, folder: Path) -> None:
    (folder / "m.intarsia").touch()
    (folder / "r.json").write_text("{}")
    for line, word in (
        (("report", "m.intarsia", "--allow", "/a"), "add --run"),
        (("report", "m.intarsia", "--no-machine-code"), "add --run"),
        (("report", "r.json", "--signed-by", "k.pub"), "only an artifact can be signed"),
        (("run", "m.intarsia", "--allow", "a"), "relative path"),
    ):
        done = invoke(*line)
        assert (done.exit_code, word in done.stderr) == (2, True), done.stderr
