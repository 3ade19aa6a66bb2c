"""Writes containers: see `intarsia.runtime.artifact.container` for the format.

Files are written beside their destination and renamed, so a reader sees the old file, the new file, or none.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import xxhash

from intarsia.errors import ArtifactError
from intarsia.files import replacing
from intarsia.runtime.artifact.container import DIGEST, LOCAL_HEADER, PREFIX, SIGNATURE

ALIGNMENT = 4096
_ZIP64_EXTRA = 20  # bytes zipfile puts into the extra field of an entry opened with force_zip64
_PADDING_ID = 0x4950  # an unregistered extra-field id


class Writer:
    """Adds entries to a new container."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def add(self, name: str, content: bytes | str) -> None:
        """Store an entry; one of a page or more begins on a page boundary, so that arrays in it can be mapped."""
        if isinstance(content, bytes) and len(content) >= ALIGNMENT:
            with self.open(name) as stream:
                stream.write(content)
        else:
            self._archive.writestr(_entry(name), content)

    def place(self, name: str, content: bytes) -> int:
        """Store an entry that begins on a page boundary; the offset of its first byte in the file."""
        with self.open(name) as stream:
            start = self._archive.fp.tell()  # type: ignore[union-attr] # behind the header
            stream.write(content)
        return start

    @contextlib.contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Stream a large entry whose first byte lies on a page boundary."""
        entry = _entry(name)
        start = self._archive.fp.tell() + LOCAL_HEADER + len(name.encode()) + _ZIP64_EXTRA  # type: ignore[union-attr]
        padding = -(start + 4) % ALIGNMENT
        entry.extra = struct.pack("<HH", _PADDING_ID, padding) + bytes(padding)
        with self._archive.open(entry, "w", force_zip64=True) as stream:
            yield stream


@contextlib.contextmanager
def create(path: Path) -> Iterator[Writer]:
    """Write a container, and seal it with its digest; it appears whole or not at all (see `replacing`)."""
    with replacing(path, lasts=False) as draft:
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_STORED) as archive:
            yield Writer(archive)
            archive.comment = PREFIX + b"0" * DIGEST
        reseal(draft)


@contextlib.contextmanager
def appending(path: Path) -> Iterator[Writer]:
    """Add several entries to a container that nobody else reads yet, and seal it again.

    Where it is signed, which the entries would not be, it is an `ArtifactError`.
    """
    with zipfile.ZipFile(path, "a", zipfile.ZIP_STORED) as archive:
        _check_unsigned(path, archive, "entries")
        yield Writer(archive)
        archive.comment = PREFIX + b"0" * DIGEST
    reseal(path)


def append(path: Path, name: str, content: bytes | str) -> None:
    """Add an entry to a container that nobody else reads yet, and seal it again; a last one of that name goes.

    Where it is signed, which the entry would not be, it is an `ArtifactError`.
    """
    with zipfile.ZipFile(path, "a", zipfile.ZIP_STORED) as archive:
        last = archive.filelist[-1] if archive.filelist else None
        if last is not None and last.filename == name:
            archive.filelist.pop()
            del archive.NameToInfo[name]
            archive.start_dir = last.header_offset
        _check_unsigned(path, archive, name)
        archive.writestr(_entry(name), content)
        archive.comment = PREFIX + b"0" * DIGEST
    reseal(path)


def _check_unsigned(path: Path, archive: zipfile.ZipFile, what: str) -> None:
    if SIGNATURE in archive.NameToInfo:
        raise ArtifactError(f"{path}: is signed, and would not be with {what} added; change it before it is signed")


def _entry(name: str) -> zipfile.ZipInfo:
    # A fixed date: the same plan and weights give the same bytes.
    return zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))


def reseal(path: Path) -> None:
    """Write the digest of what a container holds now in place of the one that it has.

    It is not flushed to the disk, which would be waited for: whoever needs the file to last flushes it (`replacing`).
    """
    with path.open("r+b") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        with mapped, memoryview(mapped) as view, view[:-DIGEST] as content:
            digest = xxhash.xxh3_128(content).hexdigest().encode()
        file.seek(-DIGEST, os.SEEK_END)
        file.write(digest)
