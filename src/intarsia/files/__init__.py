"""The only way in which files are written, folders for a while, and folders for what can be made again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from intarsia.lazy import attributes_of

if TYPE_CHECKING:
    from intarsia.files.arrays import save_array
    from intarsia.files.caches import cache_folder, own_cache, sweep_temporary, temporary_cache
    from intarsia.files.failures import disk_errors, is_of_disk, output_error
    from intarsia.files.leftovers import DRAFT, SCRATCH, WORK, sweep
    from intarsia.files.temporary import Scratch, remove_folder, scratch, temporary_root, uninterrupted
    from intarsia.files.writing import (
        check_place,
        make_folder,
        place_file,
        place_folder,
        place_tree,
        replace_file,
        replacing,
    )

AnyPath = str | os.PathLike[str]
"""What a path may be given as."""

__all__ = [
    "DRAFT",
    "SCRATCH",
    "WORK",
    "AnyPath",
    "Scratch",
    "cache_folder",
    "check_place",
    "disk_errors",
    "is_of_disk",
    "make_folder",
    "output_error",
    "own_cache",
    "place_file",
    "place_folder",
    "place_tree",
    "remove_folder",
    "replace_file",
    "replacing",
    "save_array",
    "scratch",
    "sweep",
    "sweep_temporary",
    "temporary_cache",
    "temporary_root",
    "uninterrupted",
]

__getattr__ = attributes_of(
    __name__,
    {
        "intarsia.files.arrays": ("save_array",),
        "intarsia.files.caches": (
            "cache_folder",
            "own_cache",
            "sweep_temporary",
            "temporary_cache",
        ),
        "intarsia.files.failures": (
            "disk_errors",
            "is_of_disk",
            "output_error",
        ),
        "intarsia.files.leftovers": (
            "DRAFT",
            "SCRATCH",
            "WORK",
            "sweep",
        ),
        "intarsia.files.temporary": (
            "Scratch",
            "remove_folder",
            "scratch",
            "temporary_root",
            "uninterrupted",
        ),
        "intarsia.files.writing": (
            "check_place",
            "make_folder",
            "place_file",
            "place_folder",
            "place_tree",
            "replace_file",
            "replacing",
        ),
    },
)
