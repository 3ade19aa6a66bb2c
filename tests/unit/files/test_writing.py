"""Whatever is written appears whole or not at all, where it was meant to be, and as what stood there."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from intarsia.errors import DiskError, IntarsiaError, OutputError
from intarsia.files import check_place, make_folder, place_file, place_folder, replace_file, replacing, sweep
from intarsia.files import writing as module
from tests.nodes import null_device

FULL = Path("/dev/full")
PRINTS = """
from pathlib import Path
from intarsia.files import replace_file
print(1)
replace_file(Path("/dev/stdout"), b"2\\n")
print(3)
"""
needs_full = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
as_user = pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "f"
    replace_file(path, b"old")
    replace_file(path, b"new")
    with pytest.raises(TypeError):
        replace_file(path, object())  # type: ignore[arg-type]
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["f"]


def test_nothing_is_seen_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "f"
    with replacing(path) as draft:
        draft.write_bytes(b"half")
        assert not path.exists()
    assert path.read_bytes() == b"half"


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target, first, second = tmp_path / "there" / "target", tmp_path / "first", tmp_path / "second"
    target.write_bytes(b"old")
    second.symlink_to("there/target")
    first.symlink_to(second)
    replace_file(first, b"new")
    assert first.is_symlink()
    assert second.is_symlink()
    assert not target.is_symlink()
    assert target.read_bytes() == b"new"
    assert names(tmp_path / "there") == ["target"]


def test_a_link_to_nothing_yet_is_filled(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    replace_file(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


def test_a_circle_of_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OutputError, match="circle"):
        replace_file(tmp_path / "a", b"new")


def test_another_user_s_link_in_a_shared_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "victim").write_bytes(b"old")
    (tmp_path / "shared" / "link").symlink_to(tmp_path / "victim")
    (tmp_path / "shared").chmod(0o1777)
    if os.geteuid() == 0:
        os.chown(tmp_path / "shared" / "link", 12345, 12345, follow_symlinks=False)
    else:
        pytest.skip("only root can make another user's link")
    with pytest.raises(OutputError, match=r"another user's link|no right"):
        replace_file(tmp_path / "shared" / "link", b"new")
    assert (tmp_path / "victim").read_bytes() == b"old"


def test_a_device_is_written_to_and_stays(tmp_path: Path) -> None:
    device = null_device(tmp_path)
    replace_file(device, b"gone")
    assert stat.S_ISCHR(device.stat().st_mode)
    (tmp_path / "link").symlink_to(device)
    replace_file(tmp_path / "link", b"gone")
    assert (tmp_path / "link").is_symlink()
    assert stat.S_ISCHR(device.stat().st_mode)
    assert names(tmp_path) == ["link", "null"]


@needs_full
def test_a_full_device_is_told() -> None:
    with pytest.raises(DiskError, match="cannot write /dev/full: the disk is full; make room") as told:
        replace_file(FULL, b"much")
    assert told.value.errno == errno.ENOSPC
    assert told.value.exit_code == 4
    assert stat.S_ISCHR(FULL.stat().st_mode)


def test_a_pipe_gets_the_bytes_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = os.urandom(300_000)  # more than a pipe holds
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    replace_file(pipe, content)
    reader.join()
    assert found == [content]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_reader_that_goes_away_is_told(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: pipe.open("rb").close())
    reader.start()
    with pytest.raises(OutputError, match="has closed it") as told:
        replace_file(pipe, bytes(1 << 20))
    reader.join()
    assert told.value.errno is None  # click ends with 1 on an error with the number of a closed pipe


def test_a_descriptor_is_written_to() -> None:
    done = subprocess.run([sys.executable, "-c", PRINTS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "1\n2\n3\n"), done.stderr


def test_a_descriptor_of_a_file_goes_on_in_it(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with path.open("wb") as out:
        subprocess.run([sys.executable, "-c", PRINTS], stdout=out, check=True)
    assert path.read_text() == "1\n2\n3\n"


def test_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    for path in (tmp_path, tmp_path / "link"):
        with pytest.raises(OutputError, match="it is a folder"):
            replace_file(path, b"")


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in ("nowhere", "file"):
        with pytest.raises(OutputError, match=f"{folder} is not a folder") as told:
            replace_file(tmp_path / folder / "f", b"new")
        assert isinstance(told.value, OSError)
        assert told.value.exit_code == 2
    with pytest.raises(OutputError, match="too long"):
        replace_file(tmp_path / ("n" * 300), b"new")


def test_a_name_may_be_as_long_as_any(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    replace_file(path, b"new")
    assert path.read_bytes() == b"new"


def test_permissions_stay(tmp_path: Path) -> None:
    path = tmp_path / "f"
    replace_file(path, b"old")
    usual = stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    assert usual == 0o666 & ~mask
    path.chmod(0o640)
    replace_file(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_stays(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.touch()
    os.chown(path, 12345, 54321)
    replace_file(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)


@as_user
def test_what_may_not_be_changed_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.touch()
    path.chmod(0o444)
    with pytest.raises(OutputError, match="no right"):
        replace_file(path, b"new")


@pytest.mark.parametrize(("number", "kind"), [(errno.ENOSPC, DiskError), (errno.EROFS, OutputError)])
@pytest.mark.parametrize("call", ["_flush", "_settle"])
def test_nothing_is_left_of_what_fails(
    number: int, kind: type[IntarsiaError], call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    replace_file(tmp_path / "f", b"old")
    monkeypatch.setattr(module, call, fail)
    with pytest.raises(kind, match="cannot write"):
        replace_file(tmp_path / "f", b"new")
    assert (tmp_path / "f").read_bytes() == b"old"
    assert names(tmp_path) == ["f"]


def test_a_full_disk_says_what_it_takes(tmp_path: Path) -> None:
    with pytest.raises(DiskError, match=r"it takes 1\.5 MB, .* free in"), replacing(tmp_path / "f", needed=1_500_000):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert names(tmp_path) == []


def test_what_else_fails_in_the_block_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "f"):
        (tmp_path / "none").read_bytes()


def test_threads_that_write_one_file_do_not_meet(tmp_path: Path) -> None:
    contents = [bytes([number]) * 100_000 for number in range(8)]
    threads = [threading.Thread(target=replace_file, args=(tmp_path / "f", content)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "f").read_bytes() in contents
    assert names(tmp_path) == ["f"]


def test_a_copy_is_another_file(tmp_path: Path) -> None:
    source, copy = tmp_path / "source", tmp_path / "copy"
    source.write_bytes(b"content")
    place_file(source, copy)
    assert copy.read_bytes() == b"content"
    assert not copy.samefile(source)


def test_a_spare_file_gets_a_second_name(tmp_path: Path) -> None:
    source, copy, again = tmp_path / "source", tmp_path / "copy", tmp_path / "again"
    source.write_bytes(b"content")
    place_file(source, copy, is_spare=True)
    assert copy.samefile(source)
    place_file(source, again, is_spare=True)  # two that a user has are two
    assert again.read_bytes() == b"content"
    assert not again.samefile(source)
    assert names(tmp_path) == ["again", "copy", "source"]


def test_a_spare_file_is_placed_while_others_look_for_leftovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several compiles that wrote into one folder, one took the draft of another for a dead one's."""
    source, copy = tmp_path / "elsewhere", tmp_path / "folder" / "copy"
    source.write_bytes(b"content")
    copy.parent.mkdir()
    link = os.link

    def linked(*paths: Path) -> None:
        link(*paths)
        sweep(copy.parent)

    monkeypatch.setattr(os, "link", linked)
    place_file(source, copy, is_spare=True)
    assert copy.samefile(source)


def test_a_spare_file_hands_no_permissions_over(tmp_path: Path) -> None:
    source, copy = tmp_path / "source", tmp_path / "copy"
    source.write_bytes(b"content")
    copy.touch()
    copy.chmod(0o600)
    place_file(source, copy, is_spare=True)
    assert copy.read_bytes() == b"content"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert stat.S_IMODE(source.stat().st_mode) != 0o600


def test_a_folder_appears_whole(tmp_path: Path) -> None:
    place_folder(tmp_path / "made", {"a": b"1", "b": b"2"})
    assert names(tmp_path / "made") == ["a", "b"]
    with pytest.raises(OSError, match=r"not empty|exists"):
        place_folder(tmp_path / "made", {"a": b"3"})
    assert (tmp_path / "made" / "a").read_bytes() == b"1"
    assert names(tmp_path) == ["made"]


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "more"):
        with pytest.raises(OutputError, match="cannot write"):
            make_folder(path)


def test_it_is_seen_early(tmp_path: Path) -> None:
    check_place(tmp_path / "f")
    check_place(Path(os.devnull))
    assert names(tmp_path) == []
    for path, told in ((tmp_path, "it is a folder"), (tmp_path / "none" / "f", "is not a folder")):
        with pytest.raises(OutputError, match=told):
            check_place(path)
