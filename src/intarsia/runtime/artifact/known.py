"""Which artifacts this user's machine made, or has seen to load and run: by the digest of what is in them.

A digest of 256 bits, since the one that an artifact carries is made to notice damage, and anybody can make two files
that have it in common. Whoever can write to the user's cache can run code as that user anyway.
"""

from __future__ import annotations

import os
from contextlib import suppress
from mmap import ACCESS_READ, mmap

from intarsia.files import AnyPath
from intarsia.files.caches import cache_folder, own_cache_place
from intarsia.target.cores import thread_budget

_FOLDER = "known-artifacts"
_MOST = 4096
"""Files in the folder; the oldest half goes when there are more."""
_PART = 1 << 24
"""Bytes of a large file that one thread reads at a time."""


def digest_of(content: bytes | mmap) -> str:
    """What a file is known by: its SHA-256; of a large one, which threads read in parts, that of the parts' digests."""
    import hashlib

    with memoryview(content) as view:
        if len(view) <= _PART:
            return hashlib.sha256(view).hexdigest()
        from concurrent.futures import ThreadPoolExecutor

        def part(start: int) -> bytes:
            with view[start : start + _PART] as own:
                return hashlib.sha256(own).digest()

        with ThreadPoolExecutor(thread_budget()) as pool:
            parts = b"".join(pool.map(part, range(0, len(view), _PART)))
        # The name says which: a small file may hold the digests of a large one's parts.
        return f"parts-{hashlib.sha256(parts).hexdigest()}"


def known_digest(path: AnyPath, content: bytes | mmap) -> str | None:
    """The digest of a file that was remembered; ``None`` of any other.

    One that lies where it did, and was not written since, is recognised by that alone; any other is read once.
    """
    folder = os.path.join(own_cache_place(), _FOLDER)
    if not os.path.isdir(folder):
        return None
    place = _place(path)
    digest = _noted(os.path.join(folder, place)) if place else ""
    if digest and os.path.exists(os.path.join(folder, digest)):
        return digest
    digest = digest_of(content)
    if not os.path.exists(os.path.join(folder, digest)):
        return None
    _note(folder, path, digest)
    return digest


def remember(path: AnyPath, digest: str | None = None) -> None:
    """Remember a file, which has this digest if that is known. Where no cache can be written, nothing is remembered."""
    with suppress(OSError):
        if digest is None:
            with open(path, "rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
                digest = digest_of(content)
        folder = os.path.join(cache_folder(), _FOLDER)
        os.makedirs(folder, exist_ok=True)
        _note(folder, path, digest)


def _note(folder: str, path: AnyPath, digest: str) -> None:
    from pathlib import Path

    from intarsia.files import replace_file

    with suppress(OSError):
        replace_file(Path(folder, digest), b"")
        place = _place(path)
        if place:
            replace_file(Path(folder, place), digest.encode())
        _remove_old(folder)


def _remove_old(folder: str) -> None:
    with os.scandir(folder) as entries:
        found = list(entries)
    if len(found) > _MOST:
        for entry in sorted(found, key=lambda each: each.stat().st_mtime_ns)[: len(found) // 2]:
            with suppress(FileNotFoundError):
                os.unlink(entry)


def _place(path: AnyPath) -> str:
    """What changes with each change of a file: who can set the last of these has the whole machine."""
    try:
        facts = os.stat(path)
    except OSError:
        return ""
    changing = (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
    return "-".join(map(str, changing))


def _noted(note: str) -> str:
    try:
        with open(note, encoding="ascii") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""
