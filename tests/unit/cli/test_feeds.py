"""Inputs from files: whatever a file says of itself, nothing is allocated or run before it is known to be an array."""

from __future__ import annotations

import io
import os
import tracemalloc
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from intarsia.cli.feeds import read_feeds
from intarsia.errors import FeedError

ROW = np.arange(6, dtype=np.float32).reshape(2, 3)


def header(shape: str, descr: str = "'<f4'", more: str = "") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, {more}}}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def saved(array: np.ndarray, *, allow_pickle: bool = False) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=allow_pickle)
    return file.getvalue()


@pytest.mark.parametrize(
    "array", [ROW, np.asfortranarray(ROW), ROW[:, ::-1], np.float32(3), ROW[:0], ROW.astype(">f4")]
)
def test_an_array_comes_back_as_it_was(array: np.ndarray, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, array)
    read = read_feeds({"x": path})["x"]
    assert np.array_equal(read, array)
    assert read.dtype == array.dtype


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (header("(1000000000000,)") + bytes(100), "promises 4000000000000 bytes.* and holds 100"),
        (header("(4611686018427387904, 4)") + bytes(100), "promises"),
        (header("(-1, 4)") + bytes(100), "promises"),
        (header("(2, 3)") + bytes(23), "promises 24 bytes.* and holds 23"),
        (header("(1,)", "'|O'") + bytes(100), "Python objects"),
        (saved(np.array([print], object), allow_pickle=True), "Python objects"),
        (b"\x80\x04\x95" + bytes(50), "does not begin as one"),
        (b"PK\x03\x04" + bytes(50), "holds several arrays"),
        (b"\x93NUMPY\x03\x00" + header("(1,)")[8:10] + b"\0\0" + header("(1,)")[10:], "format 3.0"),
        (b"\x93NUMPY\x09\x00" + header("(1,)")[8:] + bytes(4), "format 9.0"),
        (header("(" * 50) + bytes(4), "cannot read"),
        (header("__import__('os').getpid()") + bytes(4), "cannot read"),
        (header("(2,)", "'no type'") + bytes(8), "cannot read"),
        (header("(2,)", more="'more': 1") + bytes(8), "cannot read"),
        (saved(ROW)[:9], "cannot read"),
        (saved(ROW)[:60], "cannot read"),
        (b"", "does not begin as one"),
    ],
)
def test_a_file_that_is_no_array_is_told_before_anything_is_allocated(
    content: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(FeedError, match=f"input x: .*{message}"):
            read_feeds({"x": path})
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
    finally:
        tracemalloc.stop()


def test_every_cut_and_every_changed_byte_of_the_head_is_an_array_or_an_error(tmp_path: Path) -> None:
    path, whole = tmp_path / "x.npy", saved(ROW)
    changed = [whole[:end] for end in range(len(whole))]
    rng = np.random.default_rng(0)
    for _ in range(600):
        place, byte = int(rng.integers(0, 128)), int(rng.integers(0, 256))
        changed.append(whole[:place] + bytes([byte]) + whole[place + 1 :])
    for content in changed:
        path.write_bytes(content)
        with suppress(FeedError):
            assert read_feeds({"x": path})["x"].nbytes <= len(content)


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, Path("/dev/zero"), tmp_path / "none.npy"):
        with pytest.raises(FeedError, match=f"cannot read {path}"):
            read_feeds({"x": path})


def test_a_file_with_holes_that_is_too_large_for_the_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(header("(4000000000000,)"))
    os.truncate(path, 17_000_000_000_000)
    with pytest.raises(FeedError, match="more than the memory of this machine"):
        read_feeds({"x": path})
