"""A content of any size as parts of bounded size, and back: it arrives whole, with its digest, or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from intarsia.errors import ModelError
from intarsia.files.failures import size as in_words
from intarsia.remote.messages import Part

PART_BYTES: Final = 1 << 20
"""Far below the 4 MiB that a message of gRPC may have where nobody says otherwise."""
DIGEST_LENGTH: Final = 64


class BrokenContentError(Exception):
    """A content that did not arrive as it was sent; whoever knows the link says which one it was of."""


def digest_of(content: bytes) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def digest_of_file(path: Path) -> str:
    """SHA-256 of a file; a `ModelError` where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}") from error


def parts_of(content: bytes, part_bytes: int = PART_BYTES) -> Iterator[Any]:
    """The parts of a content, at least one."""
    yield Part(digest=digest_of(content), size=len(content), content=content[:part_bytes])
    for start in range(part_bytes, len(content), part_bytes):
        yield Part(content=content[start : start + part_bytes])


def parts_of_file(path: Path, digest: str, offset: int = 0, part_bytes: int = PART_BYTES) -> Iterator[Any]:
    """The parts of a file whose digest is known, from a place in it on."""
    with path.open("rb") as file:
        whole = path.stat().st_size
        file.seek(offset)
        yield Part(digest=digest, size=whole, content=file.read(part_bytes))
        while content := file.read(part_bytes):
            yield Part(content=content)


def joined(parts: Iterable[Any], most: int) -> bytes:
    """What parts are of.

    Raises:
        BrokenContentError: They are cut short, or are not what the first one says; or they are more than ``most``.
    """
    found: list[bytes] = []
    receive(parts, most, found.append)
    return b"".join(found)


def receive(parts: Iterable[Any], most: int, put: Callable[[bytes], object]) -> str:
    """Hand on what parts are of, piece by piece, and return its digest; errors are those of `joined`."""
    digest, size, so_far, hasher = "", 0, 0, hashlib.sha256()
    for place, part in enumerate(parts):
        if place == 0:
            digest, size = part.digest, part.size
            if len(digest) != DIGEST_LENGTH or not set(digest) <= set("0123456789abcdef"):
                raise BrokenContentError("it has no digest")
            if size > most:
                raise BrokenContentError(f"it has {in_words(size)}, and {in_words(most)} are the most")
        so_far += len(part.content)
        if so_far > size:
            raise BrokenContentError(f"more than the {in_words(size)} came that it should have")
        hasher.update(part.content)
        put(part.content)
    if so_far < size or not digest:
        raise BrokenContentError(f"it is cut short: {in_words(so_far)} of {in_words(size)} came")
    if hasher.hexdigest() != digest:
        raise BrokenContentError("its digest is another one than was sent")
    return digest
