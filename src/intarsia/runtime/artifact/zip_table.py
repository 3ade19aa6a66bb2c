"""The table of entries of a zip, read without `zipfile`, whose import takes as long as reading a whole artifact.

Read are archives as `zipfile` writes them, and no others: the table stands right before its end record, and nothing
stands before the first entry that offsets do not count. Source: PKWARE, "APPNOTE.TXT", version 6.3.10, sections 4.3
and 4.5.3.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from mmap import mmap
from struct import Struct
from typing import NamedTuple

_ROW = Struct("<4s2xBx2H4x3L3H8xL")
_END = Struct("<4s6xH2LH")
_END_64_PLACE = Struct("<4s4xQ4x")
_END_64 = Struct("<4s28x3Q")
_NEWEST = 63
"""Of the format, in tenths of a version: what demands a newer one is none of ours."""
_FULL_16, _FULL_32 = 0xFFFF, 0xFFFFFFFF
"""The number stands elsewhere, in 64 bits."""
_EXTRA, _SIZES_64 = Struct("<HH"), 1


class Row(NamedTuple):
    """An entry as the table has it."""

    name: bytes
    flags: int
    method: int
    packed_size: int
    size: int
    header: int
    """Offset of its own header in the file."""


def read_table(content: mmap, comment: int) -> tuple[int, tuple[Row, ...]]:
    """Where the table starts, and its rows, of an archive with a comment of so many bytes.

    Raises:
        ValueError: It is no such archive.
    """
    try:
        start, rows, end = _extent(content, len(content) - comment - _END.size, comment)
        found = tuple(_rows(content, start, end))
    except struct.error as error:
        raise ValueError(f"its table of entries is cut short: {error}") from None
    if len(found) != rows:
        raise ValueError(f"its table has {len(found)} entries, and {rows} are announced")
    return start, found


def _extent(content: mmap, place: int, comment: int) -> tuple[int, int, int]:
    """Where the table starts, how many rows it has, and where it ends."""
    mark, rows, size, start, said = _END.unpack_from(content, place)
    if mark != b"PK\x05\x06" or said != comment:
        raise ValueError("it has no table of entries")
    end = place
    if _FULL_32 in (size, start) or rows == _FULL_16:
        mark, end = _END_64_PLACE.unpack_from(content, place - _END_64_PLACE.size)
        if mark != b"PK\x06\x07" or end != place - _END_64_PLACE.size - _END_64.size:
            raise ValueError("it has no table of entries in 64 bits")
        mark, rows, size, start = _END_64.unpack_from(content, end)
        if mark != b"PK\x06\x06":
            raise ValueError("it has no table of entries in 64 bits")
    if start + size != end:
        raise ValueError("its table of entries is not where it should be")
    return start, rows, end


def _rows(content: mmap, at: int, end: int) -> Iterator[Row]:
    while at < end:
        mark, newest, flags, method, _, packed, size, name_size, extra_size, comment_size, header = _ROW.unpack_from(
            content, at
        )
        if mark != b"PK\x01\x02" or newest > _NEWEST:
            raise ValueError("its table of entries is not understood")
        name_at = at + _ROW.size
        extra_at = name_at + name_size
        at = extra_at + extra_size + comment_size
        if at > end:
            raise ValueError("its table of entries is cut short")
        packed, size, header = _in_64_bits(content[extra_at : extra_at + extra_size], packed, size, header)
        yield Row(content[name_at:extra_at], flags, method, packed, size, header)


def _in_64_bits(extra: bytes, packed: int, size: int, header: int) -> tuple[int, int, int]:
    """The numbers of a row, those that do not fit into 32 bits from its extra fields."""
    full = [number == _FULL_32 for number in (size, packed, header)]
    if not any(full):
        return packed, size, header
    while len(extra) >= _EXTRA.size:
        kind, length = _EXTRA.unpack_from(extra)
        if kind == _SIZES_64:
            numbers = iter(struct.unpack_from(f"<{sum(full)}Q", extra[_EXTRA.size : _EXTRA.size + length]))
            pairs = zip((size, packed, header), full, strict=True)
            size, packed, header = (next(numbers) if is_full else number for number, is_full in pairs)
            return packed, size, header
        extra = extra[_EXTRA.size + length :]
    raise ValueError("the sizes of an entry are not there")
