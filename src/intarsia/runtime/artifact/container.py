"""The artifact's file format: a zip whose entries are stored as they are, so that any tool lists it and weights map.

The archive comment holds a digest of every byte before it, so one flipped byte anywhere is noticed. Files are written
beside their destination and renamed, so a reader sees the old file, the new file, or none.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import stat
import struct
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, NamedTuple

import xxhash

from intarsia.errors import ArtifactError
from intarsia.files import replacing

ALIGNMENT = 4096
SIGNATURE = "signature.json"
"""The entry that `runtime.artifact.signature` writes: the last one, so whatever is behind it is not signed."""
_DIGEST = xxhash.xxh3_128().digest_size * 2
_PREFIX = b"intarsia xxh3_128 "
_MODEL_SUFFIX = ".onnx"
_MODEL = b"\x08"  # the field that every ONNX file begins with, its version
_LOCAL_SIGNATURE = b"PK\x03\x04"
_ENCRYPTED = 1  # the bit of an entry's flags
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
        start = self._archive.fp.tell() + _LOCAL_HEADER + len(name.encode()) + _ZIP64_EXTRA  # type: ignore[union-attr]
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
            archive.comment = _PREFIX + b"0" * _DIGEST
        reseal(draft)


@contextlib.contextmanager
def appending(path: Path) -> Iterator[Writer]:
    """Add several entries to a container that nobody else reads yet, and seal it again.

    Where it is signed, which the entries would not be, it is an `ArtifactError`.
    """
    with zipfile.ZipFile(path, "a", zipfile.ZIP_STORED) as archive:
        _check_unsigned(path, archive, "entries")
        yield Writer(archive)
        archive.comment = _PREFIX + b"0" * _DIGEST
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
        archive.comment = _PREFIX + b"0" * _DIGEST
    reseal(path)


def _check_unsigned(path: Path, archive: zipfile.ZipFile, what: str) -> None:
    if SIGNATURE in archive.NameToInfo:
        raise ArtifactError(f"{path}: is signed, and would not be with {what} added; change it before it is signed")


class Reader:
    """A container that was checked in full; entries are views of ``buffer``, the whole file mapped read-only."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            # Opening a pipe would wait for whoever writes to it.
            with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise ArtifactError(f"{path}: not a file, so no artifact")
                self.buffer = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except FileNotFoundError:
            raise ArtifactError(f"{path}: no such artifact") from None
        except ArtifactError:
            raise
        except (OSError, ValueError) as error:
            raise ArtifactError(f"{path}: cannot be read as an artifact ({error})") from error
        self._check()
        try:
            # From the mapped bytes: what was checked is what is read, whatever becomes of the path meanwhile.
            with zipfile.ZipFile(self.buffer) as archive:  # type: ignore[call-overload] # its seek returns nothing
                self.table = archive.start_dir
                self.members = tuple(self._place(info, archive.start_dir) for info in archive.infolist())
        except ArtifactError:
            raise
        except Exception as error:  # of a file that is wrong in some way, zipfile raises whatever comes of it
            raise ArtifactError(f"{path}: not an Intarsia artifact ({error or type(error).__name__})") from error
        self._entries = {member.name: (member.start, member.size) for member in self.members}
        self._check_apart()

    def read(self, name: str) -> bytes:
        """The bytes of an entry."""
        start, size = self.locate(name)
        return self.buffer[start : start + size]

    def locate(self, name: str) -> tuple[int, int]:
        """Offset and size of an entry in the file."""
        if name not in self._entries:
            raise ArtifactError(f"{self.path}: not an Intarsia artifact (it has no {name})")
        return self._entries[name]

    def _check(self) -> None:
        tail = self.buffer[-_DIGEST - len(_PREFIX) :]
        if not tail.startswith(_PREFIX):
            if self.path.suffix == _MODEL_SUFFIX or self.buffer[: len(_MODEL)] == _MODEL:
                raise ArtifactError(
                    f"{self.path}: an ONNX model, not an artifact; compile it first: intarsia compile {self.path}"
                )
            raise ArtifactError(f"{self.path}: not an Intarsia artifact, or one cut short")
        with memoryview(self.buffer) as view, view[:-_DIGEST] as sealed:
            found = xxhash.xxh3_128(sealed).hexdigest().encode()
        if found != tail[len(_PREFIX) :]:
            raise ArtifactError(f"{self.path}: damaged, its checksum does not match; copy it again or recompile")

    @property
    def sizes(self) -> Mapping[str, int]:
        """The entries and their sizes in bytes."""
        return {name: size for name, (_, size) in self._entries.items()}

    def _place(self, info: zipfile.ZipInfo, end: int) -> Member:
        """Where an entry lies, whose bytes must be there as they are, before the table of all entries."""
        name = info.orig_filename
        if not _is_plain(name):
            raise self._damaged(f"its entry {name!r} is no name of a file")
        if info.flag_bits & _ENCRYPTED:
            raise self._damaged(f"its entry {name!r} is encrypted")
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise self._damaged(f"its entry {name!r} is compressed")
        offset = info.header_offset
        if not 0 <= offset <= end - _LOCAL_HEADER or self.buffer[offset : offset + 4] != _LOCAL_SIGNATURE:
            raise self._damaged(f"its entry {name!r} lies outside of it")
        name_size, extra_size = struct.unpack_from("<HH", self.buffer, offset + 26)
        start = offset + _LOCAL_HEADER + name_size + extra_size
        if self.buffer[offset + _LOCAL_HEADER : offset + _LOCAL_HEADER + name_size] != name.encode():
            raise self._damaged(f"its entry {name!r} has another name where it lies")
        if info.file_size > end - start:
            raise self._damaged(f"its entry {name!r} is longer than it")
        return Member(name, offset, start, info.file_size)

    def _check_apart(self) -> None:
        """No name stands for two entries, and no byte is in two of them."""
        if len(self._entries) != len(self.members):
            raise self._damaged("two of its entries have one name")
        end = 0
        for start, size in sorted(self._entries.values()):
            if start < end:
                raise self._damaged("two of its entries overlap")
            end = start + size

    def _damaged(self, why: str) -> ArtifactError:
        return ArtifactError(f"{self.path}: not an Intarsia artifact: {why}")


def _is_plain(name: str) -> bool:
    """Whether a name is a relative path of nothing but printable names."""
    return name.isprintable() and "\\" not in name and all(part not in ("", ".", "..") for part in name.split("/"))


def _entry(name: str) -> zipfile.ZipInfo:
    # A fixed date: the same plan and weights give the same bytes.
    return zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))


def reseal(path: Path) -> None:
    """Write the digest of what a container holds now in place of the one that it has."""
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        with memoryview(mapped) as view, view[:-_DIGEST] as content:
            digest = xxhash.xxh3_128(content).hexdigest().encode()
        mapped[-_DIGEST:] = digest
        mapped.flush()
