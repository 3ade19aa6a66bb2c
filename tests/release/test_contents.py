"""What the files of a release hold: all that the package reads and is built from, and nothing else."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import intarsia
from intarsia.backends.native import library, recipe
from tests.release.conftest import ROOT, Release

pytestmark = [pytest.mark.slow]

PACKAGE = {
    path.relative_to(ROOT / "src").as_posix()
    for path in (ROOT / "src").rglob("*")
    if path.is_file() and path.suffix != ".pyc"
}
D3 = "intarsia/report/page/assets/vendor/LICENSE"
ABOUT = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE", f"licenses/src/{D3}"}
BESIDE_THE_PACKAGE = {
    *(".gitignore", "CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md"),
    *("constraints.txt", "hatch_build.py", "pyproject.toml"),
}
BUILT = {f"intarsia/backends/native/prebuilt/{recipe.prebuilt_name(sets)}" for sets in recipe.VARIANTS}


def held(wheel: Path) -> set[str]:
    """The files of a wheel without those about it, which are checked here."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    about = f"intarsia-{intarsia.__version__}.dist-info/"
    assert {name.removeprefix(about) for name in names if name.startswith(about)} == ABOUT
    return {name for name in names if not name.startswith(about)}


def test_the_package_has_what_is_no_python() -> None:
    kinds = {Path(name).suffix for name in PACKAGE}
    assert kinds == {
        *(".py", ".typed", ".c", ".h", ".cpp", ".hpp", ".txt", ".cmake"),  # with files of CMake
        *(".html", ".css", ".js", ".json", ".toml", ".md", ""),
        *(".proto", ".binpb"),  # the messages of remote workers
    }
    assert {name for name in PACKAGE if not Path(name).suffix} == {D3}


def test_the_pure_wheel_holds_the_package(release: Release) -> None:
    assert release.pure.name == f"intarsia-{intarsia.__version__}-py3-none-any.whl"
    assert held(release.pure) == PACKAGE


def test_the_linux_wheel_holds_our_kernels_built_as_well(release: Release) -> None:
    assert held(release.linux) == PACKAGE | BUILT


@pytest.mark.skipif(library.cpu_lack() is not None, reason=str(library.cpu_lack()))
@pytest.mark.parametrize("name", sorted(BUILT))
def test_a_built_library_loads_and_offers_what_is_called(release: Release, tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(release.linux) as archive:
        path = archive.extract(name, tmp_path)
    loaded = ctypes.CDLL(path)  # loading runs no code of wider vectors than the processor has
    for function in ("RegisterCustomOps", "intarsia_set_sized_callback", "intarsia_share_openmp"):
        assert hasattr(loaded, function)


def test_no_wheel_is_large(release: Release) -> None:
    for wheel in (release.pure, release.linux):
        with zipfile.ZipFile(wheel) as archive:
            assert max(info.file_size for info in archive.infolist()) < 500_000


def test_the_sdist_holds_what_both_wheels_are_built_from(release: Release, tmp_path: Path) -> None:
    with tarfile.open(release.sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (root,) = tmp_path.iterdir()
    names = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    assert names == BESIDE_THE_PACKAGE | {f"src/{name}" for name in PACKAGE}
    line = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")]
    subprocess.run(line, cwd=root, check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").iterdir()
    assert wheel.read_bytes() == release.pure.read_bytes()


def test_auditwheel_finds_the_platform_that_the_name_states(release: Release) -> None:
    platform = release.linux.stem.rpartition("-")[2]
    assert platform.startswith("manylinux_2_")
    line = [sys.executable, "-m", "auditwheel", "show", str(release.linux)]
    said = subprocess.run(line, check=True, capture_output=True, text=True).stdout
    assert f'is consistent with the following platform tag: "{platform}"' in " ".join(said.split())


def test_pip_prefers_the_wheel_that_holds_kernels(release: Release, tmp_path: Path) -> None:
    offered = ["--no-index", "--find-links", str(release.linux.parent)]
    line = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", *offered, "-d", str(tmp_path), "intarsia"]
    subprocess.run(line, check=True, capture_output=True)
    assert [path.name for path in tmp_path.iterdir()] == [release.linux.name]
