"""Addresses, tokens and what a configuration says of a worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from intarsia.config.drives import Runtime, is_elsewhere
from intarsia.errors import ConfigError, SpecError
from intarsia.remote.place import WorkerPlace, default_token_file, read_pem, read_token


def test_a_token_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(" secret \n", encoding="ascii")
    assert read_token(path) == "secret"
    place = WorkerPlace.of("board:1", path)
    assert (place.token, place.timeout, place.certificate) == ("secret", 30.0, None)
    assert "secret" not in repr(place)


@pytest.mark.parametrize("content", [b"", b"\n", b"two\nlines", "schlüssel".encode(), b"x" * 5000])
def test_what_is_no_token_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "token"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="holds no token"):
        read_token(path)


def test_a_token_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="name the file that holds it"):
        WorkerPlace.of("board:1")
    with pytest.raises(ConfigError, match="cannot be read"):
        WorkerPlace.of("board:1", tmp_path / "none")
    with pytest.raises(ConfigError, match="is no file"):
        read_token(Path("/dev/zero"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = default_token_file(1)
    path.parent.mkdir(parents=True)
    path.write_text("made", encoding="ascii")
    assert WorkerPlace.of("127.0.0.1:1").token == "made"


def test_a_certificate_is_one(tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    with pytest.raises(ConfigError, match="cannot be read"):
        read_pem(path, "certificate")
    path.write_text("no", encoding="ascii")
    with pytest.raises(ConfigError, match="is no file in PEM"):
        read_pem(path, "certificate")


def test_the_options_of_a_runtime_are_all_read(tmp_path: Path) -> None:
    token, ca = tmp_path / "token", tmp_path / "ca.pem"
    token.write_text("secret", encoding="ascii")
    ca.write_text("-----BEGIN CERTIFICATE-----", encoding="ascii")
    runtime = Runtime(f"rpc -address=board:1 -token-file={token} -tls-ca={ca} -timeout=2.5")
    place = WorkerPlace.of_runtime(runtime)
    assert (str(place), place.token, place.timeout) == ("board:1", "secret", 2.5)
    assert place.certificate is not None


@pytest.mark.parametrize(
    ("runtime", "told"),
    [("rpc -timeout=1", "state its address too"), ("rpc -address=a:1 -timeout=0", "give seconds above 0")],
)
def test_options_that_cannot_be(runtime: str, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        Runtime(runtime)


def test_which_runtime_is_a_worker() -> None:
    assert is_elsewhere(Runtime("rpc -address=a:1"))
    assert not is_elsewhere(Runtime("rpc"))
    assert not is_elsewhere(Runtime("python"))
