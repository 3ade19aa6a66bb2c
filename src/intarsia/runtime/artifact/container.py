"""The artifact's file format: a zip whose entries are stored as they are, so that any tool lists it and weights map.

The archive comment holds a digest of every byte before it, so one flipped byte anywhere is noticed. Here it is read;
`intarsia.runtime.artifact.container_writing` writes it.
"""

from __future__ import annotations

import mmap
import os
import stat
import struct
from collections.abc import Mapping
from typing import NamedTuple

import xxhash

from intarsia.errors import ArtifactError
from intarsia.files import AnyPath
from intarsia.runtime.artifact.zip_table import Row, read_table

SIGNATURE = "signature.json"
"""The entry that `runtime.artifact.signature` writes: the last one, so whatever is behind it is not signed."""
DEPLOYMENT = "deployment.json"
"""The entry that the artifact of a model over several machines has, and no other: see `intarsia.deploy.artifact`."""
DIGEST = xxhash.xxh3_128().digest_size * 2
PREFIX = b"intarsia xxh3_128 "
LOCAL_HEADER = 30  # bytes of a zip local file header before name and extra field
_MODEL_SUFFIX = ".onnx"
_MODEL = b"\x08"  # the field that every ONNX file begins with, its version
_LOCAL_SIGNATURE = b"PK\x03\x04"
_ENCRYPTED = 1  # the bit of an entry's flags
_STORED = 0  # as the method of compression


class Member(NamedTuple):
    """An entry as the table of entries lists it."""

    name: str
    header: int
    """Offset of its header in the file."""
    start: int
    """Offset of its bytes."""
    size: int


class Reader:
    """A container that was checked in full; entries are views of ``buffer``, the whole file mapped read-only."""

    def __init__(self, path: AnyPath) -> None:
        self.path = path = os.fspath(path)
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
            self.table, rows = read_table(self.buffer, len(PREFIX) + DIGEST)
        except ValueError as error:
            raise ArtifactError(f"{path}: not an Intarsia artifact ({error})") from error
        self.members = tuple(self._place(row, self.table) for row in rows)
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
        tail = self.buffer[-DIGEST - len(PREFIX) :]
        if not tail.startswith(PREFIX):
            if self.path.endswith(_MODEL_SUFFIX) or self.buffer[: len(_MODEL)] == _MODEL:
                raise ArtifactError(
                    f"{self.path}: an ONNX model, not an artifact; compile it first: intarsia compile {self.path}"
                )
            raise ArtifactError(f"{self.path}: not an Intarsia artifact, or one cut short")
        with memoryview(self.buffer) as view, view[:-DIGEST] as sealed:
            found = xxhash.xxh3_128(sealed).hexdigest().encode()
        if found != tail[len(PREFIX) :]:
            raise ArtifactError(f"{self.path}: damaged, its checksum does not match; copy it again or recompile")
        # Every page was touched, and most are not looked at again: they stay in the system's cache, and not in ours.
        if hasattr(mmap, "MADV_DONTNEED"):
            self.buffer.madvise(mmap.MADV_DONTNEED)

    @property
    def sizes(self) -> Mapping[str, int]:
        """The entries and their sizes in bytes."""
        return {name: size for name, (_, size) in self._entries.items()}

    def _place(self, row: Row, end: int) -> Member:
        """Where an entry lies, whose bytes must be there as they are, before the table of all entries."""
        name = row.name.decode(errors="backslashreplace")
        if not _is_plain(name) or name.encode() != row.name:
            raise self._damaged(f"its entry {name!r} is no name of a file")
        if row.flags & _ENCRYPTED:
            raise self._damaged(f"its entry {name!r} is encrypted")
        if row.method != _STORED or row.packed_size != row.size:
            raise self._damaged(f"its entry {name!r} is compressed")
        offset = row.header
        if not 0 <= offset <= end - LOCAL_HEADER or self.buffer[offset : offset + 4] != _LOCAL_SIGNATURE:
            raise self._damaged(f"its entry {name!r} lies outside of it")
        name_size, extra_size = struct.unpack_from("<HH", self.buffer, offset + 26)
        start = offset + LOCAL_HEADER + name_size + extra_size
        if self.buffer[offset + LOCAL_HEADER : offset + LOCAL_HEADER + name_size] != row.name:
            raise self._damaged(f"its entry {name!r} has another name where it lies")
        if row.size > end - start:
            raise self._damaged(f"its entry {name!r} is longer than it")
        return Member(name, offset, start, row.size)

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
