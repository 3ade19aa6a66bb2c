"""A file is replaced whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from intarsia.files import replace_file


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "f"
    replace_file(path, b"old")
    replace_file(path, b"new")
    with pytest.raises(TypeError):
        replace_file(path, object())  # type: ignore[arg-type]
    assert path.read_bytes() == b"new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["f"]


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "nowhere" / "f", b"new")
