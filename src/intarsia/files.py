"""Files that are never seen half-written, and the folder for what can be made again."""

from __future__ import annotations

import os
import stat
import tempfile
from functools import cache
from pathlib import Path

PRIVATE = 0o700


def replace_file(path: Path, content: bytes) -> None:
    """Write a file whole, or leave it as it was; its folder exists.

    Raises:
        OSError: It cannot be written there.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def own_cache() -> Path:
    """Intarsia's folder in the user's cache folder, whether or not it is there."""
    import platformdirs  # slow to import, and many need no cache

    return Path(platformdirs.user_cache_dir("intarsia"))


def cache_folder() -> Path:
    """The folder for what can be made again: the user's; where that cannot be written to, one among temporary files."""
    own = own_cache()
    return own if _can_hold(own) else temporary_cache()


def temporary_cache() -> Path:
    """A folder among temporary files that only this user writes to: the same for all processes, if that can be."""
    folder = Path(tempfile.gettempdir()) / f"intarsia-{os.getuid()}"
    try:
        folder.mkdir(mode=PRIVATE, exist_ok=True)
        facts = folder.lstat()
    except OSError:
        return _of_this_process()
    is_ours = stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid() and stat.S_IMODE(facts.st_mode) == PRIVATE
    return folder if is_ours and _can_hold(folder) else _of_this_process()


@cache
def _of_this_process() -> Path:
    return Path(tempfile.mkdtemp(prefix="intarsia-"))


def _can_hold(folder: Path) -> bool:
    """Whether files can be written there; makes the folder. Without a home, the path begins with a bare ``~``."""
    if not folder.is_absolute():
        return False
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)
