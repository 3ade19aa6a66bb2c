from __future__ import annotations

from pathlib import Path

import pytest

from intarsia.errors import ModelError
from intarsia.graph.reading.read import read_model, recognised

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (POINTER, "git lfs pull"),
        (b"\x7fELF\x02\x01\x01" + bytes(200), "a program or a library"),
        (b"<!DOCTYPE html><html><body>Sign in</body></html>", "a web page"),
        (b"\n\n  <html>\n<head></head></html>", "a web page"),
        (b"\x1f\x8b\x08\x00" + bytes(50), "unpack it first"),
        (b"\x89HDF\r\n\x1a\n" + bytes(50), "tf2onnx"),
        (b"\x1c\x00\x00\x00TFL3" + bytes(50), "TensorFlow Lite"),
        (b"GGUF\x03\x00\x00\x00" + bytes(50), "llama.cpp"),
        (b"\x40\x00\x00\x00\x00\x00\x00\x00" + b'{"w":{"dtype":"F32","shape":[1]}}', "safetensors"),
        (b"PK\x03\x04" + bytes(50), "a zip file"),
    ],
)
def test_a_file_of_another_kind_is_called_by_its_name(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=words) as caught:
        read_model(path)
    assert str(caught.value).startswith(f"{path} is ")


def test_of_others_nothing_is_said() -> None:
    assert recognised(b"hello") is None


def test_a_device_is_no_model() -> None:
    with pytest.raises(ModelError, match="/dev/zero is a device"):
        read_model("/dev/zero")


def test_a_name_that_no_file_has() -> None:
    with pytest.raises(ModelError, match="is no name of a file"):
        read_model("a\0b.onnx")


def test_a_file_beyond_the_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    with path.open("wb") as file:
        file.truncate(3 << 30)
    with pytest.raises(ModelError, match="save its weights beside it"):
        read_model(path)
