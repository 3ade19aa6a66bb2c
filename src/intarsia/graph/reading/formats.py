"""Recognises files that are no ONNX model by how they begin, so that the message can say what to do."""

from __future__ import annotations

_STARTS = (
    (
        b"PK\x03\x04",
        "a zip file, not an ONNX model. Is it an artifact? Then it is compiled already: run it by 'intarsia run'. "
        "Did PyTorch save it? Then export it by torch.onnx.export",
    ),
    (
        b"version https://git-lfs.github.com/spec/",
        "a pointer of Git LFS, and not the model itself: fetch that by 'git lfs pull'",
    ),
    (b"\x7fELF", "a program or a library, not an ONNX model"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file, as Keras saves it, not an ONNX model: convert it by tf2onnx"),
    (b"\x1f\x8b", "compressed by gzip: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd: unpack it first"),
    (b"\xfd7zXZ\x00", "compressed by xz: unpack it first"),
    (b"BZh", "compressed by bzip2: unpack it first"),
    (b"GGUF", "a GGUF file, as llama.cpp reads it, not an ONNX model"),
    (b"\x80\x02", "a pickle, as PyTorch saved it long ago, not an ONNX model: export it by torch.onnx.export"),
)
_PAGES = (b"<!doctype html", b"<html", b"<?xml")
_TFLITE = b"TFL3"
"""At byte 4 of a file."""


def recognised(content: bytes) -> str | None:
    """What a file with this content is, to follow the word ``is`` in a message; ``None`` if unknown."""
    for start, what in _STARTS:
        if content.startswith(start):
            return what
    if content[:512].lstrip().lower().startswith(_PAGES):
        return "a web page, not an ONNX model: the download got an error or a login instead; look at it with a browser"
    if content[4:8] == _TFLITE:
        return "a TensorFlow Lite model, not an ONNX model: convert it by tf2onnx"
    if content[8:10] == b'{"' and b'"dtype"' in content[:4096]:
        return "a safetensors file, which holds weights without a network: export the model by torch.onnx.export"
    return None
