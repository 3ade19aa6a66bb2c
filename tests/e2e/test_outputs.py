"""Wherever a verb is told to write: links stay, devices and pipes are written to, a full disk is told."""

from __future__ import annotations

import os
import pty
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest

from intarsia.files import DRAFT, SCRATCH
from tests.e2e.conftest import Run, command
from tests.nodes import null_device
from tests.unit.graph.models import two_layers

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
Intarsia = Callable[..., Run]
FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
QUICK = ("--target", "reference", "--threads", "1", "--budget", "1")
PATIENCE_S = 300.0

WRITERS: Mapping[str, tuple[str, ...]] = {
    "compile": ("compile", "model.onnx", *QUICK, "--store", "r.sqlite", "-o", "OUT"),
    "report": ("report", "model.intarsia", "-o", "OUT"),
    "tune": ("tune", "--store", "r.sqlite", "--export", "OUT"),
    "compare": ("compare", "model.onnx", *QUICK, "--store", "r.sqlite", "--save", "OUT"),
}
"""Commands that write one file, which stands for OUT."""
BEGINNINGS = {"compile": b"PK", "report": b"<!", "tune": b"{", "compare": b"{"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, an artifact of it and a store."""
    folder = tmp_path_factory.mktemp("outputs")
    onnx.save(two_layers(), folder / "model.onnx")
    done = ran(folder, "compile", "model.onnx", *QUICK, "--store", "r.sqlite")
    assert done.code == 0, done.err
    return folder


@pytest.fixture
def place(made: Path) -> Iterator[Path]:
    """A folder to write to, which is empty afterwards but for what was meant to be there."""
    place = made / "place"
    place.mkdir()
    yield place
    left = [path.name for path in place.rglob("*") if DRAFT.fullmatch(path.name) or SCRATCH.fullmatch(path.name)]
    for path in sorted(place.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    place.rmdir()
    assert left == []


def ran(folder: Path, *arguments: object, out: Path | None = None) -> Run:
    line, environment = command(*(out if each == "OUT" else each for each in arguments))
    done = subprocess.run(
        line, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    return Run(code=done.returncode, out=done.stdout, err=done.stderr)


@pytest.mark.parametrize("verb", WRITERS)
def test_a_link_stays_a_link(verb: str, made: Path, place: Path) -> None:
    (place / "target").write_bytes(b"old")
    (place / "target").chmod(0o640)
    (place / "link").symlink_to("target")
    done = ran(made, *WRITERS[verb], out=place / "link")
    assert done.code == 0, done.err
    assert (place / "link").is_symlink()
    assert (place / "target").read_bytes().startswith(BEGINNINGS[verb])
    assert stat.S_IMODE((place / "target").stat().st_mode) == 0o640
    assert {path.name for path in place.iterdir()} == {"target", "link"}


@pytest.mark.parametrize("verb", WRITERS)
def test_a_device_stays_a_device(verb: str, made: Path, place: Path) -> None:
    device = null_device(place)
    done = ran(made, *WRITERS[verb], out=device)
    assert done.code == 0, done.err
    assert stat.S_ISCHR(device.stat().st_mode)
    assert {path.name for path in place.iterdir()} == {"null"}


@pytest.mark.parametrize("verb", WRITERS)
def test_a_pipe_is_written_to(verb: str, made: Path, place: Path) -> None:
    pipe = place / "pipe"
    os.mkfifo(pipe)
    found: list[bytes] = []
    # It is opened for writing too, so that a command that never opens it does not keep the reader.
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()), daemon=True)
    reader.start()
    done = ran(made, *WRITERS[verb], out=pipe)
    if stat.S_ISFIFO(pipe.stat().st_mode):
        os.close(os.open(pipe, os.O_RDWR | os.O_NONBLOCK))
    reader.join(10)
    assert done.code == 0, done.err
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert found
    assert found[0].startswith(BEGINNINGS[verb])


@pytest.mark.parametrize("verb", WRITERS)
def test_a_folder_is_refused(verb: str, made: Path, place: Path) -> None:
    done = ran(made, *WRITERS[verb], out=place)
    assert (done.code, done.out) == (2, "")
    assert f"cannot write {place}: it is a folder" in done.err


@needs_full
@pytest.mark.parametrize("verb", WRITERS)
def test_a_full_disk_is_told(verb: str, made: Path, place: Path) -> None:
    (place / "full").symlink_to(FULL)
    done = ran(made, *WRITERS[verb], out=place / "full")
    assert done.code == 4, done.err
    assert "the disk is full" in done.err
    assert "Traceback" not in done.err
    assert (place / "full").is_symlink()


@needs_full
def test_a_full_disk_leaves_no_half_array(made: Path, place: Path) -> None:
    (place / "y.npy").symlink_to(FULL)
    done = ran(made, "run", "model.intarsia", "--random", "--output", place)
    assert done.code == 4, done.err
    assert "the disk is full" in done.err
    (place / "y.npy").unlink()
    assert list(place.iterdir()) == []


def test_arrays_and_native_files_follow_links_too(made: Path, place: Path) -> None:
    for link in ("y.npy", "model.onnx"):
        (place / link).symlink_to(f"there-{link}")
    done = ran(made, "run", "model.intarsia", "--random", "--output", place)
    assert done.code == 0, done.err
    assert np.load(place / "there-y.npy").size
    done = ran(made, "export", "model.intarsia", place)
    assert done.code == 0, done.err
    assert (place / "model.onnx").is_symlink()
    onnx.load(place / "there-model.onnx")


def test_a_file_in_place_of_a_folder_is_refused(made: Path, place: Path) -> None:
    (place / "file").touch()
    for line in (("run", "model.intarsia", "--random", "--output"), ("export", "model.intarsia")):
        done = ran(made, *line, place / "file")
        assert done.code == 2, done.err
        assert "cannot write into" in done.err


def shell(folder: Path, script: str) -> Run:
    """A script in which $INTARSIA stands for the command."""
    line, environment = command()
    words = f"set -o pipefail; INTARSIA='{' '.join(line)}'; {script}"
    done = subprocess.run(
        ["bash", "-c", words], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    return Run(code=done.returncode, out=done.stdout, err=done.stderr)


@pytest.mark.parametrize("verb", ["targets", "explain model.intarsia", "explain model.intarsia --json", "--help"])
def test_standard_output_may_be_closed(verb: str, made: Path) -> None:
    done = shell(made, f"$INTARSIA {verb} >&-")
    assert (done.code, done.out, done.err) == (0, "", "")
    done = shell(made, f"$INTARSIA {verb} >&- 2>&- <&-")
    assert done.code == 0


@pytest.mark.parametrize("verb", ["targets", "targets --json", "explain model.intarsia"])
def test_whoever_reads_may_go_away(verb: str, made: Path) -> None:
    done = shell(made, f"$INTARSIA {verb} | true")
    assert (done.code, done.err) == (141, "")
    done = shell(made, f"$INTARSIA {verb} | head -1")
    assert done.code in (0, 141)
    assert done.err == ""
    assert len(done.out.splitlines()) == 1


@needs_full
@pytest.mark.parametrize("verb", ["targets", "targets --json", "run model.intarsia --random"])
def test_standard_output_may_be_full(verb: str, made: Path) -> None:
    done = shell(made, f"$INTARSIA {verb} > /dev/full")
    assert done.code == 4, done.err
    assert "cannot write /dev/stdout: the disk is full" in done.err
    assert "Traceback" not in done.err
    assert "Exception ignored" not in done.err


@needs_full
def test_standard_error_may_be_full(made: Path) -> None:
    assert shell(made, "$INTARSIA run none.intarsia 2> /dev/full").code == 2
    assert shell(made, "$INTARSIA run none.intarsia 2>&-").code == 2


def test_what_is_closed_is_not_taken_by_the_next_file(made: Path, place: Path) -> None:
    """An engine that prints would write into the store, or into the artifact."""
    store = place / "r.sqlite"
    done = shell(made, f"$INTARSIA compile model.onnx {' '.join(QUICK)} --store {store} -o {place}/m.intarsia >&- 2>&-")
    assert done.code == 0
    assert ran(made, "run", place / "m.intarsia", "--random").code == 0
    assert ran(made, "tune", "--store", store, "--list").code == 0


def test_a_terminal_is_a_device_too(made: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        done = ran(made, *WRITERS["tune"], out=Path(os.ttyname(theirs)))
        assert done.code == 0, done.err
        assert os.read(ours, 1).startswith(b"{")
    finally:
        os.close(ours)
        os.close(theirs)
