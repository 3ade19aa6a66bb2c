"""The artifact's file format: a zip whose entries are stored as they are, so that any tool lists it and weights map.

The archive comment holds a digest of every byte before it, so one flipped byte anywhere is noticed. Files are written
beside their destination and renamed, so a reader sees the old file, the new file, or none.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple, cast

import psutil
import xxhash

from intarsia.errors import ArtifactError

ALIGNMENT = 4096
SIGNATURE = "signature.json"
"""The entry that `intarsia.runtime.signature` writes: the last one, so that whatever is behind it is not signed."""
_DIGEST = xxhash.xxh3_128().digest_size * 2
_PREFIX = b"intarsia xxh3_128 "
_MODEL_SUFFIX = ".onnx"
_MODEL = b"\x08"  # the field that every ONNX file begins with, its version
_LOCAL_HEADER = 30  # bytes of a zip local file header before name and extra field
_ZIP64_EXTRA = 20  # bytes zipfile puts into the extra field of an entry opened with force_zip64
_PADDING_ID = 0x4950  # an unregistered extra-field id


class Member(NamedTuple):
    """An entry as the table of entries lists it."""

    name: str
    header: int
    """Offset of its header in the file."""
    start: int
    """Offset of its bytes."""
    size: int


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
    """Write a container under a temporary name beside ``path``, seal it with its digest, and rename it."""
    remove_stale(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
            yield Writer(archive)
            archive.comment = _PREFIX + b"0" * _DIGEST
        _seal(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def append(path: Path, name: str, content: bytes | str) -> None:
    """Add an entry to a container that nobody else reads yet, and seal it again; a last one of that name goes.

    Raises:
        ArtifactError: It is signed, and the entry would not be.
    """
    with zipfile.ZipFile(path, "a", zipfile.ZIP_STORED) as archive:
        last = archive.filelist[-1] if archive.filelist else None
        if last is not None and last.filename == name:
            archive.filelist.pop()
            del archive.NameToInfo[name]
            archive.start_dir = last.header_offset
        if SIGNATURE in archive.NameToInfo:
            raise ArtifactError(f"{path}: is signed, and would not be with {name} added; change it before it is signed")
        archive.writestr(_entry(name), content)
        archive.comment = _PREFIX + b"0" * _DIGEST
    _seal(path)


def remove_stale(path: Path) -> None:
    """Remove what a writer of ``path`` left when it was killed."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.(\d+)\.tmp")
    for sibling in path.parent.glob(f".{path.name}.*.tmp") if path.parent.is_dir() else ():
        owner = pattern.fullmatch(sibling.name)
        if owner and not psutil.pid_exists(int(owner[1])):
            sibling.unlink(missing_ok=True)


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
            # Of what is mapped and was checked, whatever lies at the path by now.
            with zipfile.ZipFile(cast("IO[bytes]", self._map)) as archive:
                self.table = archive.start_dir
                self.members = tuple(
                    Member(info.filename, info.header_offset, self._start(info), info.file_size)
                    for info in archive.infolist()
                )
        except (zipfile.BadZipFile, struct.error, ValueError) as error:
            raise ArtifactError(f"{path}: not an Intarsia artifact ({error})") from error
        self._entries = {member.name: (member.start, member.size) for member in self.members}
        if len(self._entries) < len(self.members):
            raise ArtifactError(f"{path}: two of its entries have one name, so which one is meant is open; recompile")

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
