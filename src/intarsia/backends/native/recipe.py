"""What the native library is made of: its sources, the compiler's options, and how a library that came built is called.

The standard library is enough to read this file, so that `hatch_build.py` can, where nothing is installed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
PREBUILT = FOLDER / "prebuilt"
"""Where a wheel with built libraries holds them. No other install has this folder."""
SETS = ("avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl")
"""Instruction sets that the sources may be compiled for, by Linux's and the compilers' common names."""
NEEDED = SETS[:2]
VARIANTS = (NEEDED, SETS)
"""The instruction sets of each library that a wheel holds: AVX2 with blocks of 8 channels, AVX-512 with 16."""
_INCLUDES = f"-I{FOLDER}"
_SMALL = ("-fno-align-functions", "-fno-align-loops", "-Wl,-z,noseparate-code")
"""Nothing is slower without the gaps that these leave out."""
_FLAGS = ("-O3", "-std=c++17", "-fPIC", "-shared", "-fvisibility=hidden", *_SMALL)


def sources(pattern: str = "*") -> list[Path]:
    """The C++ files and headers in this folder, and the folders in it, that fit a pattern, in order."""
    return sorted(path for path in FOLDER.rglob(pattern) if path.suffix in {".cpp", ".h"})


@cache
def fingerprint() -> str:
    """Short digest of the sources: the version of the kernel."""
    digest = hashlib.sha256()
    for path in sources():
        digest.update(f"{path.relative_to(FOLDER).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:8]


def flags(instruction_sets: Iterable[str]) -> tuple[str, ...]:
    """Options for the compiler, of a library that may use these instruction sets."""
    return (*_FLAGS, *(f"-m{name}" for name in instruction_sets))


def command(compiler: Sequence[str], options: Iterable[str], output: Path) -> list[str]:
    """The command that compiles and links the library in one step."""
    return [*compiler, *options, _INCLUDES, "-o", str(output), *map(str, sources("*.cpp"))]


def object_command(compiler: Sequence[str], options: Iterable[str], source: Path, output: Path) -> list[str]:
    """The command that compiles one of the sources."""
    return [*compiler, *options, _INCLUDES, "-c", "-o", str(output), str(source)]


def link_command(compiler: Sequence[str], options: Iterable[str], output: Path) -> list[str]:
    """The command that links these objects, in the folder where they are."""
    return [*compiler, *options, "-o", str(output), *(f"{path.stem}.o" for path in sources("*.cpp"))]


def prebuilt_name(instruction_sets: Iterable[str]) -> str:
    """What a built library in a wheel is called: by its sources and by all that it needs of the processor."""
    return "-".join(["kernels", fingerprint(), *instruction_sets]) + ".so"
