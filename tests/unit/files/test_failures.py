"""Every number that the system fails with becomes a sentence that says what to do."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from intarsia.errors import DiskError, ModelError, OutputError
from intarsia.files import disk_errors, is_of_disk, output_error
from intarsia.files.failures import size

OF_DISK = ("ENOSPC", "EDQUOT", "EIO", "EFBIG", "EMFILE", "ENFILE", "ENOMEM")
OF_PLACE = ("ENOENT", "ENOTDIR", "EACCES", "EPERM", "EROFS", "ELOOP", "ENAMETOOLONG", "EPIPE", "ENXIO", "EBUSY")


def failed(name: str, *more: str) -> OSError:
    number = getattr(errno, name)
    return OSError(number, os.strerror(number), *more)


@pytest.mark.parametrize("name", [*OF_DISK, *OF_PLACE])
def test_each_says_what_where_and_what_to_do(name: str, tmp_path: Path) -> None:
    told = output_error(tmp_path / "f", failed(name), needed=10)
    assert isinstance(told, DiskError if name in OF_DISK else OutputError)
    assert isinstance(told, OSError)
    assert is_of_disk(failed(name)) == (name in OF_DISK)
    assert str(told).startswith(f"cannot write {tmp_path / 'f'}: ")
    assert "[Errno" not in str(told)


def test_one_without_a_number_keeps_its_words(tmp_path: Path) -> None:
    assert "odd words" in str(output_error(tmp_path / "f", OSError("odd words")))


def test_only_the_disk_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(DiskError, match="cannot write here/f: the disk is full"), disk_errors(tmp_path):
        raise failed("ENOSPC", "here/f")
    with pytest.raises(DiskError, match=str(tmp_path)), disk_errors(tmp_path):
        raise failed("EIO")
    with pytest.raises(FileNotFoundError), disk_errors(tmp_path):
        raise failed("ENOENT")
    with pytest.raises(ModelError, match="as it is"), disk_errors(tmp_path):
        raise ModelError("as it is")


def test_sizes_are_read_at_a_glance() -> None:
    assert [size(count) for count in (0, 999, 1500, 2_000_000, 3 * 10**9)] == [
        "0 bytes", "999 bytes", "1.5 kB", "2.0 MB", "3.0 GB"
    ]  # fmt: skip
