"""The sizes on the page are the committed ones, and every file of the package belongs to a part."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from benchmarks.install_sizes import PAGE, ROOT, render
from benchmarks.release_sizes import FILES, FILES_START, PARTS, PARTS_START, RESULTS, measure, part_of, tables


def test_the_page_holds_the_committed_sizes() -> None:
    results, text = json.loads(RESULTS.read_text(encoding="utf-8")), PAGE.read_text(encoding="utf-8")
    assert results["files"].keys() == FILES.keys()
    assert results["parts"].keys() == PARTS.keys()
    assert render(text, tables(results)) == text
    assert text.count(FILES_START) == text.count(PARTS_START) == 1


def test_every_file_of_the_package_belongs_to_a_part() -> None:
    files = [path for path in (ROOT / "src").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    found = {part_of(path.relative_to(ROOT / "src").as_posix()) for path in files}
    made = {"about the package", "our kernels, built for AVX-512", "our kernels, built for AVX2"}
    assert found == PARTS.keys() - made


def test_a_file_of_no_part_is_named() -> None:
    with pytest.raises(ValueError, match=r"no part of the wheel holds intarsia/song\.mp3"):
        part_of("intarsia/song.mp3")


def test_what_is_counted_is_the_linux_wheel(tmp_path: Path) -> None:
    prebuilt = "intarsia/backends/native/prebuilt/kernels-0-avx2-fma"
    files = {f"{prebuilt}.so": 30, f"{prebuilt}-avx512f.so": 50, "intarsia/a/b.py": 7}
    with zipfile.ZipFile(tmp_path / "a-py3-none-manylinux_2_24_x86_64.whl", "w") as archive:
        for name, size in files.items():
            archive.writestr(name, bytes(size))
    (tmp_path / "a-py3-none-any.whl").write_bytes(bytes(3))
    found = measure(tmp_path)
    assert found["files"]["*-any.whl"] == 3
    assert {part: sizes[1] for part, sizes in found["parts"].items()} == {
        "our kernels, built for AVX2": 30,
        "our kernels, built for AVX-512": 50,
        "Python": 7,
    }
