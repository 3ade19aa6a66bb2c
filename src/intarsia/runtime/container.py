"""The artifact's file format: a zip whose entries are stored as they are, so that any tool lists it and weights map.

The archive comment holds a digest of every byte before it, so one flipped byte anywhere is noticed. Files are written
beside their destination and renamed, so a reader sees the old file, the new file, or none.
"""

from __future__ import annotations

import contextlib
import mmap
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import xxhash

from intarsia.errors import ArtifactError
from intarsia.files import replacing

ALIGNMENT = 4096
_DIGEST = xxhash.xxh3_128().digest_size * 2
_PREFIX = b"intarsia xxh3_128 "
_MODEL_SUFFIX = ".onnx"
_MODEL = b"\x08"  # the field that every ONNX file begins with, its version
_LOCAL_HEADER = 30  # bytes of a zip local file header before name and extra field
_ZIP64_EXTRA = 20  # bytes zipfile puts into the extra field of an entry opened with force_zip64
_PADDING_ID = 0x4950  # an unregistered extra-field id


class Writer:
    """Adds entries to a new container."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def add(self, name: str, content: bytes | str) -> None:
        """Store a small entry."""
        self._archive.writestr(_entry(name), content)

    @contextlib.contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Stream a large entry whose first byte lies on a page boundary."""
        entry = _entry(name)
        start = self._archive.fp.tell() + _LOCAL_HEADER + len(name.encode()) + _ZIP64_EXTRA  # type: ignore[union-attr]
        padding = -(start + 4) % ALIGNMENT
        entry.extra = struct.pack("<HH", _PADDING_ID, padding) + bytes(padding)
        with self._archive.open(entry, "w", force_zip64=True) as stream:
            yield stream


@contextlib.contextmanager
def create(path: Path) -> Iterator[Writer]:
    """Write a container, and seal it with its digest; it appears whole or not at all.

    Raises:
        OutputError: It cannot be written there.
        DiskError: The disk is full.
    """
    with replacing(path, lasts=False) as draft:
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_STORED) as archive:
            yield Writer(archive)
            archive.comment = _PREFIX + b"0" * _DIGEST
        _seal(draft)


def append(path: Path, name: str, content: bytes | str) -> None:
    """Add an entry to a container that nobody else reads yet, and seal it again."""
    with zipfile.ZipFile(path, "a", zipfile.ZIP_STORED) as archive:
        archive.writestr(_entry(name), content)
        archive.comment = _PREFIX + b"0" * _DIGEST
    _seal(path)


class Reader:
    """A container that was checked in full; entries are views of the mapped file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except FileNotFoundError:
            raise ArtifactError(f"{path}: no such artifact") from None
        except (OSError, ValueError) as error:
            raise ArtifactError(f"{path}: cannot be read as an artifact ({error})") from error
        self._check()
        try:
            with zipfile.ZipFile(path) as archive:
                self._entries = {info.filename: (self._start(info), info.file_size) for info in archive.infolist()}
        except (zipfile.BadZipFile, struct.error) as error:
            raise ArtifactError(f"{path}: not an Intarsia artifact ({error})") from error

    def read(self, name: str) -> bytes:
        """The bytes of an entry."""
        start, size = self.locate(name)
        return self._map[start : start + size]

    def locate(self, name: str) -> tuple[int, int]:
        """Offset and size of an entry in the file."""
        if name not in self._entries:
            raise ArtifactError(f"{self.path}: not an Intarsia artifact (it has no {name})")
        return self._entries[name]

    @property
    def buffer(self) -> mmap.mmap:
        """The whole file, mapped read-only."""
        return self._map

    def _check(self) -> None:
        tail = self._map[-_DIGEST - len(_PREFIX) :]
        if not tail.startswith(_PREFIX):
            if self.path.suffix == _MODEL_SUFFIX or self._map[: len(_MODEL)] == _MODEL:
                raise ArtifactError(
                    f"{self.path}: an ONNX model, not an artifact; compile it first: intarsia compile {self.path}"
                )
            raise ArtifactError(f"{self.path}: not an Intarsia artifact, or one cut short")
        with memoryview(self._map) as view, view[:-_DIGEST] as sealed:
            found = xxhash.xxh3_128(sealed).hexdigest().encode()
        if found != tail[len(_PREFIX) :]:
            raise ArtifactError(f"{self.path}: damaged, its checksum does not match; copy it again or recompile")

    def _start(self, info: zipfile.ZipInfo) -> int:
        name_size, extra_size = struct.unpack_from("<HH", self._map, info.header_offset + 26)
        return info.header_offset + _LOCAL_HEADER + int(name_size) + int(extra_size)


def _entry(name: str) -> zipfile.ZipInfo:
    # A fixed date: the same plan and weights give the same bytes.
    return zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))


def _seal(path: Path) -> None:
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        with memoryview(mapped) as view, view[:-_DIGEST] as content:
            digest = xxhash.xxh3_128(content).hexdigest().encode()
        mapped[-_DIGEST:] = digest
        mapped.flush()
