"""The programs of C++ that are timed compile against the library as it is."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import intarsia.runtime.cpp
from benchmarks.cpp_runtime import PROGRAMS


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
@pytest.mark.parametrize("program", ["ours.cpp", "alone.cpp"])
def test_a_timed_program_compiles(program: str) -> None:
    library = Path(intarsia.runtime.cpp.__file__).parent / "library"
    command = ["g++", "-fsyntax-only", "-std=c++17", "-Wall", "-Wextra", "-Werror"]
    command += [f"-I{library / 'include'}", f"-I{library / 'source'}", str(PROGRAMS / program)]
    subprocess.run(command, check=True)
