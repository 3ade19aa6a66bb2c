"""Texts from files: UTF-8 within limits, and faults that show the line."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from intarsia.spec.documents import MOST_BYTES, TextError, read_text


@pytest.mark.parametrize(
    ("content", "text"),
    [(b"a\r\nb\rc\n", "a\nb\nc\n"), (b"\xef\xbb\xbfa", "a"), ("é".encode(), "é"), (b"", ""), (b"a\0b", "a\0b")],
)
def test_text_is_utf_8(content: bytes, text: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(content)
    assert read_text(tmp_path / "a") == text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a".encode("utf-16"), "it is written in UTF-16; save it as UTF-8"),
        ("a".encode("utf-32"), "it is written in UTF-32; save it as UTF-8"),
        (b"\xff", "can't decode byte 0xff"),
        (b"\xed\xa0\x80", "can't decode byte 0xed"),
        (bytes(MOST_BYTES + 1), "it is larger than 8 MiB"),
    ],
)
def test_what_is_no_text(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_text(tmp_path / "a")


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="neither a file nor a pipe"):
        read_text("/dev/zero")
    with pytest.raises(IsADirectoryError):
        read_text(tmp_path)
    with pytest.raises(ValueError, match="null byte"):
        read_text("a\0b")


def test_a_pipe_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=("llvm",))
    writer.start()
    assert read_text(tmp_path / "pipe") == "llvm"
    writer.join()


def test_a_fault_is_shown_in_its_line() -> None:
    fault = TextError("this is odd", "first\nsecond third\n", 13, 18)
    assert str(fault) == "line 2: this is odd\n  second third\n         ^^^^^"
    assert fault.text_in("a.yaml").startswith("a.yaml, line 2: this is odd\n")
    assert TextError("this is odd").text_in("a.yaml") == "a.yaml: this is odd"
    assert str(TextError("this is odd")) == "this is odd"
    assert TextError("this is odd\n  with a place of its own", "text", 0).text_in("a") == (
        "a, line 1: this is odd\n  with a place of its own"
    )
