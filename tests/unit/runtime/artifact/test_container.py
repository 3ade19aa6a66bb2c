"""The artifact's file: listed by any zip tool, aligned, and never half-right."""

from __future__ import annotations

import os
import struct
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.errors import ArtifactError
from intarsia.runtime.artifact.container import Reader
from intarsia.runtime.artifact.container_writing import ALIGNMENT, append, create, reseal


@pytest.fixture(scope="module")
def container(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("container") / "x.intarsia"
    with create(path) as out:
        out.add("first.json", "{}")
        with out.open("weights.bin") as stream:
            stream.write(bytes(range(256)) * 40)
        out.add("steps/0/blob", b"\x00\x01")
    append(path, "report.json", '{"a": 1}')
    return path


def test_entries_come_back_and_large_ones_are_aligned(container: Path) -> None:
    reader = Reader(container)
    start, size = reader.locate("weights.bin")
    assert start % ALIGNMENT == 0
    assert reader.buffer[start : start + size] == bytes(range(256)) * 40
    assert reader.read("steps/0/blob") == b"\x00\x01"
    assert reader.read("report.json") == b'{"a": 1}'


def test_any_zip_tool_reads_it(container: Path) -> None:
    with zipfile.ZipFile(container) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["first.json", "weights.bin", "steps/0/blob", "report.json"]


def test_the_same_entries_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with create(tmp_path / name) as out:
            out.add("x", b"1")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@given(where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_any_flipped_bit_is_noticed(container: Path, where: float, bit: int) -> None:
    content = bytearray(container.read_bytes())
    content[int(where * len(content))] ^= 1 << bit
    damaged = container.with_name("damaged")
    damaged.write_bytes(content)
    with pytest.raises(ArtifactError, match=r"damaged|not an Intarsia artifact"):
        Reader(damaged)


@pytest.mark.parametrize("size", [0, 1, 40, 1000, -1])
def test_a_file_cut_short_is_refused(container: Path, size: int) -> None:
    cut = container.with_name("cut")
    cut.write_bytes(container.read_bytes()[:size])
    with pytest.raises(ArtifactError):
        Reader(cut)


def test_a_missing_file_and_a_missing_entry_are_named(container: Path) -> None:
    with pytest.raises(ArtifactError, match=r"nowhere: no such artifact"):
        Reader(Path("nowhere"))
    with pytest.raises(ArtifactError, match="manifest"):
        Reader(container).read("manifest.json")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), create(path) as out:
        out.add("a", bytes(1 // 0))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "content"), [("net.onnx", b"\x08\x08"), ("net.onnx", b"torn"), ("net", b"\x08\x08\x12")]
)
def test_of_a_model_it_says_that_it_is_to_be_compiled_first(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(
        ArtifactError, match=rf"an ONNX model, not an artifact; compile it first: intarsia compile .*{name}"
    ):
        Reader(tmp_path / name)


def _sealed(path: Path, *, change: Callable[[zipfile.ZipFile], None]) -> Path:
    """An archive that anyone could make, with a digest that is right: it says that nothing broke, not who wrote it."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("first.json", "{}")
        change(archive)
    append(path, "last", b"")
    return path


def _twice(archive: zipfile.ZipFile) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        archive.writestr("first.json", "[]")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda archive: archive.writestr("x", bytes(100), zipfile.ZIP_DEFLATED), "'x' is compressed"),
        (_twice, "two of its entries have one name"),
        (lambda archive: archive.writestr("/etc/passwd", "x"), "'/etc/passwd' is no name"),
        (lambda archive: archive.writestr("steps/../../x", "x"), "is no name"),
        (lambda archive: archive.writestr("\x1b[31m", "x"), r"'\\x1b\[31m' is no name"),
        (lambda archive: archive.writestr("a\\b", "x"), "is no name"),
    ],
)
def test_what_zip_allows_and_we_do_not_is_refused(
    tmp_path: Path, change: Callable[[zipfile.ZipFile], None], words: str
) -> None:
    with pytest.raises(ArtifactError, match=words):
        Reader(_sealed(tmp_path / "m.intarsia", change=change))


_CENTRAL = b"PK\x01\x02"


@pytest.mark.parametrize(
    ("place", "packed", "words"),
    [
        (6, struct.pack("<H", 99), "not an Intarsia artifact"),  # a version of zip that nobody reads
        (8, struct.pack("<H", 1), "encrypted"),
        (10, struct.pack("<H", 97), "compressed"),
        (20, struct.pack("<II", 2**31, 2**31), "longer than it"),
        (20, struct.pack("<II", 2**32 - 1, 2**32 - 1), "not an Intarsia artifact"),  # zip64, and no field of it
        (28, struct.pack("<H", 2**16 - 1), "not an Intarsia artifact"),  # a name beyond the end
        (42, struct.pack("<I", 2**31), "lies outside of it"),
        (42, struct.pack("<I", 1), "lies outside of it"),
        (46, b"FIRST", "has another name where it lies"),
    ],
)
def test_a_table_of_entries_that_lies_is_refused(
    container: Path, tmp_path: Path, place: int, packed: bytes, words: str
) -> None:
    content = bytearray(container.read_bytes())
    start = content.index(_CENTRAL) + place
    content[start : start + len(packed)] = packed
    path = tmp_path / "m.intarsia"
    path.write_bytes(content)
    reseal(path)
    with pytest.raises(ArtifactError, match=words):
        Reader(path)


def test_entries_that_share_bytes_are_refused(container: Path, tmp_path: Path) -> None:
    content = bytearray(container.read_bytes())
    start = content.index(_CENTRAL) + 20
    content[start : start + 8] = struct.pack("<II", 5000, 5000)  # well into the next
    path = tmp_path / "m.intarsia"
    path.write_bytes(content)
    reseal(path)
    with pytest.raises(ArtifactError, match="overlap"):
        Reader(path)


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/null"), Path("/dev/zero")):
        with pytest.raises(ArtifactError, match=r"not a file|cannot be read"):
            Reader(path)
