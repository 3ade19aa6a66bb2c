"""The library in C++ and the programs that use it, built once: as it ships, and with each sanitizer."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from filelock import FileLock

from intarsia.backends import registry
from intarsia.runtime.cpp.exporting import write_library
from tests.unit.runtime.cpp.prepared import ENGINES

PROGRAMS = Path(__file__).parent / "programs"
_FLAGS = {
    "plain": "",
    "address": "-fsanitize=address,undefined -fno-sanitize-recover=undefined",
    "thread": "-fsanitize=thread",
}
_PROJECT = """\
cmake_minimum_required(VERSION 3.16)
project(programs LANGUAGES C CXX)
add_subdirectory(library)
foreach(name probe.c threads.cpp)
  get_filename_component(program ${name} NAME_WE)
  add_executable(${program} ${name})
  target_link_libraries(${program} PRIVATE intarsia::intarsia)
endforeach()
set_target_properties(probe PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
target_compile_options(probe PRIVATE -pedantic)
find_package(Threads REQUIRED)
target_link_libraries(threads PRIVATE Threads::Threads)
"""
Builds = Callable[[str], Path]


def needs_compiler() -> None:
    """Skip where the project could not be built either."""
    for program in ("cmake", "g++"):
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program} here to build the library with")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Builds:
    """The folder with programs and library of one kind: plain, address or thread."""
    needs_compiler()
    root = tmp_path_factory.getbasetemp()
    root = root.parent if os.environ.get("PYTEST_XDIST_WORKER") else root

    def build(kind: str) -> Path:
        folder = root / f"cpp-{kind}"
        with FileLock(root / f"cpp-{kind}.lock"):
            if not (folder / "done").exists():
                shutil.copytree(PROGRAMS, folder, dirs_exist_ok=True)
                write_library(folder / "library")
                (folder / "CMakeLists.txt").write_text(_PROJECT, encoding="utf-8")
                flags = f"-Werror -Wall -Wextra {_FLAGS[kind]}"
                options = [
                    f"-DCMAKE_CXX_FLAGS={flags}",
                    f"-DCMAKE_C_FLAGS={flags}",
                    "-DCMAKE_BUILD_TYPE=Debug",
                ]
                run(["cmake", "-S", folder, "-B", folder / "build", *options])
                run(["cmake", "--build", folder / "build", "--parallel", "2"])
                (folder / "done").touch()
        return folder / "build"

    return build


@pytest.fixture(scope="session")
def library(built: Builds) -> Path:
    """The shared library as it ships."""
    return built("plain") / "library" / "libintarsia.so"


@pytest.fixture(scope="session")
def folders() -> str:
    """Where the engines' libraries lie, as the library is told."""
    found = (registry.get(name).library_folder() for name in ENGINES)
    return os.pathsep.join(dict.fromkeys(str(folder) for folder in found if folder is not None))


def run(command: Sequence[object], **variables: str) -> str:
    """What a program prints; the test fails with what it complains of."""
    words = list(map(str, command))
    done = subprocess.run(
        words, capture_output=True, text=True, errors="backslashreplace", env={**os.environ, **variables}, check=False
    )
    assert done.returncode == 0, (
        f"{words[0]} ended with {done.returncode}:\n{done.stdout[-4000:]}\n{done.stderr[-6000:]}"
    )
    return done.stdout
