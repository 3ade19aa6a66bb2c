"""A cache that cannot be used is left for one that can."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import platformdirs
import pytest

from intarsia.files import cache_folder, own_cache, replacing, sweep_temporary, temporary_cache
from intarsia.files.caches import _of_this_process


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary files go."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    _of_this_process.cache_clear()
    yield folder
    _of_this_process.cache_clear()


def test_the_cache_is_the_user_s(tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert cache_folder() == tmp_path / "cache" / "intarsia"
    assert cache_folder().is_dir()


def test_a_cache_that_cannot_be_written_to_is_left(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    found = cache_folder()
    assert found.parent == temporary
    assert stat.S_IMODE(found.stat().st_mode) == 0o700
    assert cache_folder() == found


def test_without_a_home_nothing_is_written_beside_the_model(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name: f"~/.cache/{name}")
    assert cache_folder().parent == temporary
    assert not (tmp_path / "~").exists()


@pytest.mark.parametrize("stated", [None, "", "relative", "/stated", "/stated/"])
@pytest.mark.parametrize("home", ["/home/somebody", "/home/somebody/", "/", "relative", "", None])
def test_the_folder_is_that_of_platformdirs(
    stated: str | None, home: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("XDG_CACHE_HOME", stated), ("HOME", home)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert own_cache() == Path(platformdirs.user_cache_dir("intarsia"))


def test_a_folder_that_others_may_write_to_is_not_trusted(temporary: Path) -> None:
    planted = temporary / f"intarsia-{os.getuid()}"
    planted.mkdir()
    planted.chmod(0o777)
    found = temporary_cache()
    assert found != planted
    assert found.parent == temporary
    assert temporary_cache() == found


def test_what_the_dead_left_among_temporary_files_is_removed(temporary: Path) -> None:
    shared = temporary_cache()
    with replacing(shared / "living", lasts=False) as living:
        (temporary / "intarsia-7-01234567" / "more").mkdir(parents=True)
        (shared / ".intarsia-7-01234567.tmp").touch()
        (shared / "kept").touch()
        sweep_temporary()
        assert [*temporary.iterdir()] == [shared]
        assert {path.name for path in shared.iterdir()} == {living.name, "kept"}
