"""Builds the native libraries of the Linux wheel: ``HATCH_BUILD_HOOK_ENABLE_CUSTOM=true hatchling build -t wheel``.

Without that variable the wheel is the pure one, and holds the sources alone. `make dist` builds both.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shlex
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLATFORM = "manylinux_2_24_x86_64"
"""What the wheel runs on: glibc 2.24 and the libstdc++ of GCC 5 or newer. Engines' own wheels ask for more."""
OLD_SYMBOLS = {"GLIBC_2.2.5": ("dlopen", "dlsym", "powf", "pthread_once")}
"""Functions that newer versions of glibc offer under a newer version too, by the version that older ones have."""
OLD_LIBRARIES = ("libdl.so.2", "libpthread.so.0")
"""Where glibc has those functions before version 2.34; later these are empty, and still there."""


class NativeLibrary(NamedTuple):  # a dataclass looks its module up, and hatchling registers none for this file
    """A shared library of the wheel."""

    place: str
    """Its path in the wheel."""
    command: tuple[str, ...]
    """What compiles and links it, without options for an old glibc."""
    output: Path


def native_libraries(root: Path, folder: Path) -> list[NativeLibrary]:
    """All that the wheel holds, to be built into a folder. A further library is a further entry of this list."""
    compiler = shlex.split(os.environ.get("CXX", "g++"))
    return _kernels(root / "src" / "intarsia" / "backends" / "native", compiler, folder)


class NativeLibraries(BuildHookInterface[BuilderConfig]):
    """Puts built libraries into the wheel, and states what it runs on."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build them into a folder that lives until the wheel is written."""
        if version != "standard":  # an editable install builds them at first use, from the sources as they are then
            return
        if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
            raise RuntimeError(f"the wheel {PLATFORM} is built on Linux on x86-64 alone")
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        old = _for_old_glibc(folder)
        for library in native_libraries(Path(self.root), folder):
            subprocess.run([*library.command, *old], check=True)
            build_data["force_include"][str(library.output)] = library.place
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{PLATFORM}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was built."""
        if version == "standard":
            self._folder.cleanup()


def _kernels(source: Path, compiler: Sequence[str], folder: Path) -> list[NativeLibrary]:
    """Our kernels inside ONNX Runtime, once for each width of vectors."""
    recipe = _module(source / "recipe.py")
    libraries = []
    for instruction_sets in recipe.VARIANTS:
        name = recipe.prebuilt_name(instruction_sets)
        command = recipe.command(compiler, recipe.flags(instruction_sets), folder / name)
        place = f"intarsia/backends/native/{recipe.PREBUILT.name}/{name}"
        libraries.append(NativeLibrary(place=place, command=tuple(command), output=folder / name))
    return libraries


def _for_old_glibc(folder: Path) -> list[str]:
    """Options that bind functions to their old versions, so that an older glibc has all that the library asks for."""
    names: Iterable[tuple[str, str]] = ((name, at) for at, each in OLD_SYMBOLS.items() for name in each)
    header = folder / "old_glibc.h"
    header.write_text("".join(f'__asm__(".symver {name},{name}@{at}");\n' for name, at in names), encoding="utf-8")
    libraries = (f"-l:{name}" for name in OLD_LIBRARIES)
    return ["-include", str(header), "-Wl,-s", "-Wl,--no-as-needed", *libraries, "-Wl,--as-needed"]


def _module(path: Path) -> Any:
    """A Python file, read without the package around it."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
