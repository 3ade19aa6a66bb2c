"""The folders for what can be made again: the user's cache, or one among temporary files."""

from __future__ import annotations

import os
import stat
import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from intarsia.files.temporary import Scratch

_NAME = "intarsia"


def own_cache() -> Path:
    """Intarsia's folder in the user's cache folder, whether or not it is there."""
    from pathlib import Path

    return Path(own_cache_place())


def own_cache_place() -> str:
    """`own_cache` as text: a run asks for it, and would load pathlib for this alone."""
    plain = _plain_cache() if sys.platform == "linux" else None
    if plain is not None:
        return os.path.join(plain, _NAME)
    import platformdirs

    return platformdirs.user_cache_dir(_NAME)


def _plain_cache() -> str | None:
    """The user's cache folder as the XDG Base Directory Specification has it, where the environment says enough.

    It is what platformdirs answers too, whose import takes as long as a tenth of what a run imports.
    """
    stated, home = (os.environ.get(name, "") for name in ("XDG_CACHE_HOME", "HOME"))
    if os.path.isabs(stated):
        return stated
    return os.path.join(home, ".cache") if os.path.isabs(home) else None


def cache_folder() -> Path:
    """The folder for what can be made again: the user's; where that cannot be written to, one among temporary files."""
    own = own_cache()
    return own if _can_hold(own) else temporary_cache()


def temporary_cache(root: Path | None = None) -> Path:
    """A folder among temporary files that only this user writes to: the same for all processes, if that can be.

    ``root`` is where all processes look for it, if this one has a folder of its own for temporary files.
    """
    from intarsia.files.temporary import PRIVATE, temporary_root

    folder = _of_all_processes(root or temporary_root())
    try:
        folder.mkdir(mode=PRIVATE, exist_ok=True)
        facts = folder.lstat()
    except OSError:
        return _of_this_process().path
    is_ours = stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid() and stat.S_IMODE(facts.st_mode) == PRIVATE
    return folder if is_ours and _can_hold(folder) else _of_this_process().path


def sweep_temporary() -> None:
    """Remove what dead processes of this user left among temporary files; see `sweep`."""
    from intarsia.files.leftovers import SCRATCH, sweep
    from intarsia.files.temporary import temporary_root

    root = temporary_root()
    sweep(root, SCRATCH)
    sweep(_of_all_processes(root))


def _of_all_processes(root: Path) -> Path:
    return root / f"intarsia-{os.getuid()}"


@cache
def _of_this_process() -> Scratch:
    from intarsia.files.temporary import Scratch

    return Scratch()


def _can_hold(folder: Path) -> bool:
    """Whether files can be written there; makes the folder. Without a home, the path begins with a bare ``~``."""
    if not folder.is_absolute():
        return False
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)
