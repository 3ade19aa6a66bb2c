"""The only way in which files are written: a draft beside the place, renamed when it is whole.

Links are followed, so that they stay links. What is no file (a device, a pipe) is written to and not replaced. A file
that is replaced hands its permissions on.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from intarsia.errors import IntarsiaError, OutputError
from intarsia.files.failures import is_of_disk, output_error
from intarsia.files.leftovers import claim, own_name, sweep
from intarsia.files.temporary import Scratch, scratch

_MOST_LINKS = 40
_NEW_FILE = 0o666
_SHARED = stat.S_ISVTX | stat.S_IWOTH


def replace_file(path: Path, content: bytes, *, lasts: bool = True) -> None:
    """Write a file whole, or leave it as it was; its folder exists. ``lasts`` and errors are those of `replacing`."""
    with replacing(path, needed=len(content), lasts=lasts) as draft:
        draft.write_bytes(content)


@contextmanager
def replacing(path: Path, *, needed: int | None = None, lasts: bool = True) -> Iterator[Path]:
    """An empty file to write to, which takes the place of ``path`` once the block is done; nothing is left if it fails.

    Args:
        path: The file; a device or a pipe gets the draft's bytes.
        needed: Bytes that it takes, if that is known.
        lasts: Whether it must be there whole even after the power fails; not worth the time for what can be made again.

    Raises:
        OutputError: It cannot be written there.
        DiskError: The disk is full.
    """
    place = _place(path)
    if place is None:
        with scratch() as folder:
            draft = folder / "draft"
            draft.touch()
            yield draft
            _pour(draft, path)
        return
    if lasts:
        sweep(place.parent)
    draft = place.with_name(own_name())
    held = -1
    try:
        with _output_errors(path, needed):
            held = _begun(draft)
        try:
            yield draft
        except OSError as error:
            if isinstance(error, IntarsiaError) or not is_of_disk(error):
                raise  # of something else that the block does
            raise output_error(path, error, needed) from error
        with _output_errors(path, needed):
            _settle(draft, place, lasts=lasts)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        if held >= 0:
            os.close(held)


def place_file(source: Path, path: Path, *, is_spare: bool = False) -> None:
    """Put a copy of a file at a path, whose folder exists; it appears whole or not at all. Errors are `replacing`'s.

    A spare source is one that nobody changes under its own name any more: another name for it does, where there can be.
    """
    if _place(path) is None:
        _pour(source, path)
        return
    facts = source.stat()
    held = claim(source) if is_spare and not source.is_symlink() else -1  # so a draft that is one more name is held too
    try:
        with replacing(path, needed=facts.st_size) as draft:
            if held >= 0 and facts.st_nlink == 1 and _mode(path) in (None, stat.S_IMODE(facts.st_mode)):
                draft.unlink()
                with suppress(OSError):  # another file system
                    os.link(source, draft)
                    return
            shutil.copyfile(source, draft)
    finally:
        if held >= 0:
            os.close(held)


def place_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a new folder with these files; it appears whole or not at all. It does not last if the power fails.

    Raises:
        OSError: It cannot be written there, or there is one already.
    """
    with Scratch(path.parent, ".intarsia-", ".tmp") as draft:
        for name, content in files.items():
            (draft.path / name).write_bytes(content)
        draft.path.rename(path)


def place_tree(written: Iterable[Path], draft: Path, folder: Path) -> tuple[Path, ...]:
    """Put copies of files under ``draft`` at the same places under ``folder``, which is made; their new paths.

    The largest goes first, since that is what there may be no room for. Errors are those of `replacing`.
    """
    make_folder(folder)
    placed = {path: folder / path.relative_to(draft) for path in written}
    for path in sorted(placed, key=lambda path: path.stat().st_size, reverse=True):
        make_folder(placed[path].parent)
        place_file(path, placed[path])
    return tuple(placed.values())


def make_folder(path: Path) -> None:
    """Make a folder and those around it, as far as they are not there. Errors are those of `replacing`."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise OutputError(f"cannot write into {path}: it is no folder; name another place") from error
    except OSError as error:
        raise output_error(path, error) from error


def check_place(path: Path) -> None:
    """See early whether a file can be written there, else an `OutputError`: before the minutes are spent, not after."""
    place = _place(path)
    if place is None:
        if not os.access(path, os.W_OK):
            raise OutputError(f"cannot write {path}: no right to write to it")
        return
    if not place.parent.is_dir():
        raise OutputError(f"cannot write {path}: {path.parent} is not a folder; make it, or name another place")
    if not os.access(place.parent, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write {path}: no right to write in {path.parent}; name another place")


def _place(path: Path) -> Path | None:
    """The file that is meant, links followed; ``None`` for what is no file, and is written to."""
    with _output_errors(path):
        try:
            facts = path.stat()
        except FileNotFoundError:
            return _followed(path)
    if stat.S_ISDIR(facts.st_mode):
        raise OutputError(f"cannot write {path}: it is a folder; name a file in it")
    if stat.S_ISBLK(facts.st_mode):
        raise OutputError(f"cannot write {path}: it is a disk; name a file")
    if not stat.S_ISREG(facts.st_mode):
        return None
    place = _followed(path)
    if place is not None and not os.access(place, os.W_OK):
        raise OutputError(f"cannot write {path}: there is no right to change it; remove it, or name another file")
    return place


def _followed(path: Path) -> Path | None:
    """Where links lead; ``None`` for a descriptor of a process, as ``/dev/stdout`` is."""
    place = path.absolute()
    for _ in range(_MOST_LINKS):
        folder = Path(os.path.realpath(place.parent))
        if folder.parts[:2] == (os.sep, "proc"):
            return None
        place = folder / place.name
        if not place.is_symlink():
            return place
        around, link = folder.stat(), place.lstat()
        if around.st_mode & _SHARED == _SHARED and link.st_uid not in (os.geteuid(), around.st_uid):
            raise OutputError(f"cannot write {path}: {place} is another user's link in a shared folder; remove it")
        place = folder / place.readlink()
    raise OutputError(f"cannot write {path}: its links lead in a circle; name another place")


def _begun(draft: Path) -> int:
    """Make the draft, and claim it: before it is claimed, another process may take it for a leftover."""
    while True:
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _NEW_FILE))
        with suppress(FileNotFoundError):
            return claim(draft)


def _settle(draft: Path, place: Path, *, lasts: bool) -> None:
    """Give the draft the permissions of what it replaces, and its name."""
    with suppress(FileNotFoundError):
        former = place.stat()
        made = draft.stat()
        if (made.st_uid, made.st_gid) != (former.st_uid, former.st_gid):
            with suppress(PermissionError):  # only root may give files away
                os.chown(draft, former.st_uid, former.st_gid)
        if made.st_mode != former.st_mode:
            draft.chmod(stat.S_IMODE(former.st_mode))
    if lasts:
        _flush(draft)
    draft.replace(place)
    if lasts:
        with suppress(OSError):  # some file systems flush no folders
            _flush(place.parent)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _pour(source: Path, path: Path) -> None:
    """Write a file's bytes to a device, a pipe or a descriptor."""
    with _output_errors(path), source.open("rb") as content:
        number = _own_descriptor(path)
        sink = os.open(path, os.O_WRONLY | os.O_CLOEXEC) if number is None else os.dup(number)
        try:
            while chunk := content.read(1 << 20):
                left = memoryview(chunk)
                while left:
                    left = left[os.write(sink, left) :]
        finally:
            os.close(sink)


def _own_descriptor(path: Path) -> int | None:
    """The number, of a descriptor of this process; what was printed before goes out first."""
    place = path.absolute()
    for _ in range(_MOST_LINKS):
        folder = os.path.realpath(place.parent)
        if folder == f"/proc/{os.getpid()}/fd" and place.name.isdigit():
            stream = {1: sys.stdout, 2: sys.stderr}.get(int(place.name))
            with suppress(AttributeError, OSError, ValueError):  # closed, or a test's
                stream.flush()  # type: ignore[union-attr]
                return stream.fileno()  # type: ignore[union-attr] # the command line moves its own
            return int(place.name)
        if not place.is_symlink():
            return None
        place = Path(folder) / place.readlink()
    return None


def _mode(path: Path) -> int | None:
    with suppress(FileNotFoundError):
        return stat.S_IMODE(path.stat().st_mode)
    return None


@contextmanager
def _output_errors(path: Path, needed: int | None = None) -> Iterator[None]:
    try:
        yield
    except IntarsiaError:
        raise
    except OSError as error:
        raise output_error(path, error, needed if is_of_disk(error) else None) from error
