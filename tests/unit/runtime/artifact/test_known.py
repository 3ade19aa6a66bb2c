"""Files that are remembered: by what is in them, and quickly by where they lie."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from intarsia.files import own_cache
from intarsia.runtime.artifact import known
from intarsia.runtime.artifact.known import digest_of, known_digest, remember


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_was_remembered_is_known_wherever_it_lies(tmp_path: Path) -> None:
    path, copy = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"content")
    assert known_digest(path, b"content") is None
    remember(path)
    assert known_digest(path, b"content") == digest_of(b"content")
    copy.write_bytes(b"content")
    assert known_digest(copy, b"content") == digest_of(b"content")
    assert known_digest(copy, b"other") == digest_of(b"content"), "a file that was not written since is not read again"


def test_a_changed_file_is_not_known_even_if_its_times_are_set_back(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"content")
    remember(path)
    times = path.stat()
    with path.open("r+b") as file:
        file.write(b"CONTENT")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert path.stat().st_mtime_ns == times.st_mtime_ns
    assert known_digest(path, b"CONTENT") is None


def test_without_a_cache_nothing_is_known_and_nothing_fails(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known, "cache_folder", lambda: tmp_path / "a")  # which is a file
    path = tmp_path / "a"
    path.write_bytes(b"content")
    remember(path)
    remember(tmp_path / "missing")
    assert known_digest(path, b"content") is None


def test_the_oldest_go_when_there_are_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "_MOST", 10)
    for number in range(30):
        path = tmp_path / str(number)
        path.write_bytes(str(number).encode())
        remember(path)
    assert len(os.listdir(own_cache() / "known-artifacts")) <= 10
    assert known_digest(path, b"29") is not None


def test_of_a_large_file_every_byte_counts_and_so_does_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known, "_PART", 64)
    content = bytes(range(256)) * 3
    path = tmp_path / "a"
    path.write_bytes(content)
    remember(path)
    assert known_digest(path, content) == digest_of(content)
    changed = [bytes([*content[:at], content[at] ^ 1, *content[at + 1 :]]) for at in range(0, len(content), 60)]
    several = [content, *changed, content[:-1], content + b"\0", content[64:]]
    assert len({digest_of(each) for each in several}) == len(several)


def test_a_small_file_of_digests_is_not_taken_for_the_large_one_that_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "_PART", 64)
    content = bytes(128)
    parts = b"".join(hashlib.sha256(content[start : start + 64]).digest() for start in (0, 64))
    assert digest_of(content) == f"parts-{hashlib.sha256(parts).hexdigest()}"
    assert digest_of(parts) == hashlib.sha256(parts).hexdigest()
