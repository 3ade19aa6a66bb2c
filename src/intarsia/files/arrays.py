"""Arrays as ``.npy`` files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from intarsia.files.writing import replacing

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class _Stream:
    """Hides the file from numpy, which would write by its descriptor: what fails there says no reason."""

    write: Callable[[bytes], int]


def save_array(path: Path, array: np.ndarray, *, lasts: bool = True) -> None:
    """Write an array, of Python's objects (texts) as a pickle, to a file of any ending; it appears whole or not at all.

    ``lasts`` and the errors are those of `replacing`.
    """
    import numpy as np

    with replacing(path, needed=array.nbytes, lasts=lasts) as draft, draft.open("wb") as file:
        np.lib.format.write_array(_Stream(file.write), array, allow_pickle=array.dtype.hasobject)
