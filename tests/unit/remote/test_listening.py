"""Where a worker may listen, and its token."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from intarsia.addresses import Address
from intarsia.errors import ConfigError
from intarsia.remote.client import Worker
from intarsia.remote.listening import Listener, Listening
from intarsia.remote.place import WorkerPlace


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "board:0"])
def test_no_worker_listens_for_others_without_a_token(address: str) -> None:
    with pytest.raises(ConfigError, match="can be reached from other machines"):
        Listener(Listening(address=Address.parse(address)))


def test_a_token_is_made_on_loopback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with Listener(Listening(address=Address.parse("127.0.0.1:0"))) as listener:
        assert stat.S_IMODE(listener.token_file.stat().st_mode) == 0o600
        assert len(listener.token_file.read_text(encoding="ascii")) > 40
        with Worker(WorkerPlace.of(str(listener.address))) as worker:
            assert worker.machine


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret", encoding="ascii")
    first = Listening(address=Address.parse("127.0.0.1:0"), token_file=token)
    with Listener(first) as listener, pytest.raises(ConfigError, match="cannot listen on"):
        Listener(Listening(address=listener.address, token_file=token))


def test_certificate_and_key_go_together(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="go together"):
        Listener(Listening(address=Address.parse("127.0.0.1:0"), certificate=tmp_path / "x"))
