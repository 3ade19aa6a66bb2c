"""A store is named by a path or by a URL, and a URL is shown without its password."""

from __future__ import annotations

from pathlib import Path

import pytest

import intarsia
from intarsia.cost.records.store import Store, open_store
from intarsia.cost.records.store_url import StoreUrl, url_of, without_password
from intarsia.errors import ConfigError


@pytest.mark.parametrize("named", ["r.sqlite", "/a/b", "postgres", "a:b", "C:/x", Path("x"), "", "postgresql"])
def test_a_path_is_no_url(named: str | Path) -> None:
    assert url_of(named) is None


@pytest.mark.parametrize(
    "named", ["postgresql://h/d", "postgres://u:p@h", "postgresql://", "postgresql:///d?host=/tmp"]
)
def test_a_url_is_one(named: str) -> None:
    assert url_of(named) == named


@pytest.mark.parametrize(
    "named", ["mysql://u:secret@h/d", "sqlite:///r.sqlite", "file:///r.sqlite", "PostgreSQL://h/d"]
)
def test_the_url_of_something_else_is_refused(named: str) -> None:
    with pytest.raises(ConfigError, match=r"a record store is a file, .* or postgresql://USER@HOST") as told:
        Store(named)
    assert "secret" not in str(told.value)


def test_a_path_made_of_a_url_is_refused() -> None:
    with pytest.raises(ConfigError, match="by its URL as a text"):
        open_store(Path("postgresql://u@h/d"))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u@h/d", "postgresql://u@h/d"),
        ("postgresql://u:secret@h:5432/d", "postgresql://u@h:5432/d"),
        ("postgresql://u:secret@/d?host=/tmp", "postgresql://u@/d?host=/tmp"),
        ("postgresql://h/d?password=secret&user=u", "postgresql://h/d?password=***&user=u"),
        ("postgresql://h/d?sslpassword=secret", "postgresql://h/d?sslpassword=***"),
        ("postgresql://u:se/cr@e?t@h/d", "postgresql://u@h/d"),  # not as it has to be written
    ],
)
def test_a_password_is_not_shown(url: str, shown: str) -> None:
    assert without_password(url) == shown
    assert repr(StoreUrl(url)) == repr(shown)


def test_settings_are_printed_without_it() -> None:
    settings = intarsia.CompileSettings(store="postgresql://u:secret@h/d")
    assert settings.store == "postgresql://u:secret@h/d"
    assert "secret" not in repr(settings)
    assert "postgresql://u@h/d" in repr(settings)
