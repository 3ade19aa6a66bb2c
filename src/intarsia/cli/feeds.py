"""Inputs of a model from files on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from intarsia.errors import FeedError

if TYPE_CHECKING:
    import numpy as np


def read_feeds(files: Mapping[str, Path]) -> dict[str, np.ndarray]:
    """The array of each ``.npy`` file, by the name of its input.

    Raises:
        FeedError: A file is no such array.
    """
    return {name: _read(name, path) for name, path in files.items()}


def _read(name: str, path: Path) -> np.ndarray:
    import numpy as np

    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise FeedError(f"input {name}: cannot read {path} as a .npy file: {error}") from error
    if not isinstance(array, np.ndarray):
        raise FeedError(f"input {name}: {path} holds several arrays; save one with numpy.save")
    return array
