from __future__ import annotations

from pathlib import Path

import pytest

from intarsia.addresses import Address
from intarsia.errors import ConfigError
from intarsia.serving.access import Access

LOCAL = (Address("127.0.0.1", 8000),)


def test_others_are_let_in_by_a_token_or_when_that_is_said(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret\n")
    everywhere = (*LOCAL, Address("0.0.0.0", 8001))
    with pytest.raises(ConfigError, match=r"0\.0\.0\.0:8001 can be reached from other machines"):
        Access.of(everywhere, None, None, None, open_=False)
    assert Access.of(everywhere, None, None, None, open_=True).admits(b"")
    assert Access.of(LOCAL, None, None, None, open_=False).admits(b"")
    access = Access.of(everywhere, token, None, None, open_=False)
    assert access.admits(b"Bearer secret")
    assert access.admits(b"bearer  secret ")
    for wrong in (b"", b"secret", b"Bearer", b"Bearer secre", b"Bearer secret2", b"Basic secret", b"Bearer \xff"):
        assert not access.admits(wrong)


@pytest.mark.parametrize("content", [b"", b" \n", b"two words", "ä".encode()])
def test_a_file_without_a_token_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "token").write_bytes(content)
    with pytest.raises(ConfigError, match="holds no token"):
        Access.of(LOCAL, tmp_path / "token", None, None, open_=False)


def test_options_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("x")
    with pytest.raises(ConfigError, match="give both --tls-cert and --tls-key"):
        Access.of(LOCAL, None, there, None, open_=False)
    with pytest.raises(ConfigError, match="give one of them"):
        Access.of(LOCAL, there, None, None, open_=True)
    with pytest.raises(ConfigError, match="cannot be read"):
        Access.of(LOCAL, tmp_path / "none", None, None, open_=False)
    with pytest.raises(ConfigError, match="no certificate with its key"):
        Access.of(LOCAL, None, there, there, open_=False)
