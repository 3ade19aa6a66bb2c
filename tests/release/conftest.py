"""The release as `make dist` builds it, and environments that hold nothing but what pip puts into them from it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The files of a release."""

    sdist: Path
    pure: Path
    linux: Path

    @classmethod
    def at(cls, folder: Path) -> Release:
        """Those in a folder, which holds no others."""
        (sdist,), (pure,), (linux,) = (folder.glob(each) for each in ("*.tar.gz", "*-any.whl", "*_x86_64.whl"))
        assert len(list(folder.iterdir())) == 3
        return cls(sdist=sdist, pure=pure, linux=linux)


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """A virtual environment, and a home, a cache and a folder to work in that nobody used before."""

    python: Path
    home: Path

    def run(self, *line: object, check: bool = True) -> subprocess.CompletedProcess[str]:
        """What a command does in it whose ``PATH`` leads to nothing else: to no compiler above all."""
        variables = {"PATH": str(self.python.parent), "HOME": str(self.home), "TMPDIR": str(self.home / "tmp")}
        (self.home / "tmp").mkdir(exist_ok=True)
        done = subprocess.run(
            list(map(str, line)), env=variables, cwd=self.home, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0 or not check, f"{line}\n{done.stdout}\n{done.stderr}"
        return done

    def intarsia(self, *arguments: object) -> str:
        """What the installed command prints."""
        return self.run(self.python.with_name("intarsia"), *arguments).stdout


@contextmanager
def _once(place: Path) -> Iterator[bool]:
    """Whether this process is the one to make something that all processes of a test run use."""
    with FileLock(place.with_suffix(".lock")):
        yield not place.with_suffix(".made").exists()
        place.with_suffix(".made").touch()


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the whole test run."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "release"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def release(shared: Path) -> Release:
    """What `make dist` builds, in the environment that runs the tests."""
    folder = shared / "dist"
    with _once(folder) as first:
        if first:
            variables = (f"BIN={Path(sys.executable).parent}", f"DIST={folder}", f"PYTHON={sys.executable}")
            # The environment is there: it is not to be made anew because a file is newer.
            line = ["make", "-o", ".venv/.installed", "dist", *variables]
            done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return Release.at(folder)


@pytest.fixture(scope="session")
def index(shared: Path) -> None:
    """Skips where no package index can be reached, which every fresh environment needs."""
    line = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-cache-dir", "-c", "constraints.txt"]
    asked = [*line, "-d", str(shared / "asked"), "click"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no package index can be reached: {done.stderr.strip().splitlines()[-1]}")


@pytest.fixture(scope="session")
def environment(index: None, shared: Path, release: Release) -> Callable[[str], Environment]:
    """Makes an environment into which the Linux wheel was installed with what compiles and one extra more."""

    def made(extra: str) -> Environment:
        folder = shared / extra
        made = Environment(python=folder / "venv" / "bin" / "python", home=folder / "home")
        with _once(folder) as first:
            if first:
                made.home.mkdir(parents=True)
                subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
                pip = [sys.executable, "-m", "pip", "--python", str(made.python), "install", "-q", "--no-compile"]
                wheel = f"{release.linux}[compile,{extra}]"
                line = [*pip, "--disable-pip-version-check", "-c", str(ROOT / "constraints.txt"), wheel]
                done = subprocess.run(line, capture_output=True, text=True, check=False)
                assert done.returncode == 0, done.stderr
        return made

    return made
