"""Arrays are written as numpy does, and never half."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from intarsia.errors import DiskError
from intarsia.files import save_array

ARRAYS = [
    np.arange(12, dtype=np.float32).reshape(3, 4),
    np.asfortranarray(np.arange(12).reshape(3, 4)),
    np.arange(12).reshape(3, 4)[:, ::2],
    np.empty((0, 3), np.int8),
    np.float64(3).reshape(()),
]


@pytest.mark.parametrize("array", ARRAYS)
def test_it_comes_back(array: np.ndarray, tmp_path: Path) -> None:
    save_array(tmp_path / "a.npy", array)
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), array)
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]


def test_texts_come_back(tmp_path: Path) -> None:
    save_array(tmp_path / "a", np.array(["a", "b"], object))
    assert np.load(tmp_path / "a", allow_pickle=True).tolist() == ["a", "b"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_told() -> None:
    with pytest.raises(DiskError, match="the disk is full"):
        save_array(Path("/dev/full"), np.ones(1000))
