"""Finds the native library: in the wheel, if that holds one for this processor, or built here, once.

What is built here lies in the user's cache folder. Its name is a digest of sources, compiler and flags, so a change of
any of them makes another library.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from intarsia.backends.contract.failures import cause_of_words
from intarsia.backends.native import recipe
from intarsia.errors import CompileError
from intarsia.files import cache_folder, replace_file, replacing
from intarsia.target.cores import thread_budget

_COMPILERS = ("g++", "clang++", "c++")
_SECONDS = 300
_MOST_TEXT = 1000
INSTALL = "apt-get install g++"
_WIDE = 16
"""Channels in a block where there is AVX-512."""
_NAME = "native library"
"""What errors call it, whichever engine asked for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lack:
    """Why there is no library here, and what fixes it."""

    reason: str
    fix: str | None = None


@cache
def cpu_features() -> frozenset[str]:
    """Instruction sets of this CPU that the operating system lets us use; none on another architecture than x86-64."""
    if platform.machine() not in {"x86_64", "AMD64"}:
        return frozenset()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line.partition(":")[2] for line in lines if line.startswith("flags")), "").split())


def block() -> int:
    """Channels in a block of ONNX Runtime's layout on this CPU (MLAS: 16 with AVX-512F, else 8)."""
    return _WIDE if "avx512f" in cpu_features() else 8


def cpu_lack() -> Lack | None:
    """Why no library can run here, wherever it was built."""
    is_wide = block() == _WIDE
    needed, words = (recipe.SETS, "all of AVX-512 that servers have") if is_wide else (recipe.NEEDED, "AVX2 and FMA")
    missing = [name for name in needed if name not in cpu_features()]
    if missing:
        return Lack(reason=f"it needs an x86-64 CPU with {words}; this one lacks {', '.join(missing)}")
    return None


def lack() -> Lack | None:
    """What keeps the library from being there, without building it; a compiler that failed before is remembered."""
    unfit = cpu_lack()
    if unfit is not None or prebuilt() is not None:
        return unfit
    compiler = find_compiler()
    if compiler is None:
        return Lack(reason="there is no C++ compiler to build the native library with", fix=INSTALL)
    failure = _place(compiler).with_suffix(".failed")
    if failure.exists():
        text = failure.read_text(encoding="utf-8", errors="replace").strip()
        return Lack(
            reason=f"{shlex.join(compiler)} did not compile the native library: {text}", fix=f"{INSTALL}; rm {failure}"
        )
    return None


def built(within_s: float = _SECONDS) -> Path:
    """The library: the wheel's, or compiled now if it was not before.

    Processes may ask at once: one builds it, and the others wait. If it is ended, the next goes on where it was.

    Raises:
        CompileError: The wheel holds none for this processor, and there is no compiler, or it failed, or was not done
            within so many seconds.
    """
    shipped = prebuilt()
    if shipped is not None:
        return shipped
    compiler = find_compiler()
    if compiler is None:
        raise CompileError(_NAME, f"there is no C++ compiler; {INSTALL}, or name one in CXX")
    place = _place(compiler)
    if not place.exists():
        _build(compiler, place, within_s)
    return place


def built_before() -> Path | None:
    """The library that `built` would answer with, if that is there."""
    shipped = prebuilt()
    if shipped is not None:
        return shipped
    compiler = find_compiler()
    place = None if compiler is None else _place(compiler)
    return place if place is not None and place.is_file() else None


def prebuilt() -> Path | None:
    """The library that the wheel holds for exactly what a library built here would be compiled for, if it does."""
    place = recipe.PREBUILT / recipe.prebuilt_name(instruction_sets())
    return place if place.is_file() else None


def _build(compiler: tuple[str, ...], place: Path, within_s: float) -> None:
    from filelock import FileLock

    parts = place.with_suffix(".parts")
    parts.mkdir(parents=True, exist_ok=True)
    with FileLock(place.with_suffix(".lock")):
        if place.exists():
            return
        try:
            done = _compiled(compiler, place, parts, time.monotonic() + within_s)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CompileError(_NAME, f"{shlex.join(compiler)}: {error}") from error
        shutil.rmtree(parts, ignore_errors=True)
    if done.returncode == 0:
        return
    text = done.stderr.strip()[:_MOST_TEXT] or f"exit status {done.returncode}"
    if done.returncode > 0 and cause_of_words(done.stderr).is_lasting:  # what the machine did, it may not do again
        with suppress(OSError):  # then it is found out again
            replace_file(place.with_suffix(".failed"), text.encode())
    raise CompileError(_NAME, f"{shlex.join(compiler)} did not compile it: {text}")


def _compiled(compiler: tuple[str, ...], place: Path, parts: Path, until: float) -> subprocess.CompletedProcess[str]:
    """The last command of the compiler, or the first that failed: sources side by side, and then linked."""
    stopped = threading.Event()

    def compiled(source: Path) -> subprocess.CompletedProcess[str] | None:
        there = parts / f"{source.stem}.o"
        if there.exists() or stopped.is_set():
            return None
        with replacing(there, lasts=False) as draft:
            done = _ran(recipe.object_command(compiler, _flags(), source, draft), parts, until)
            if done.returncode != 0:
                stopped.set()
                raise _FailedError(done)
        return done

    sources = sorted(recipe.sources("*.cpp"), key=lambda path: -path.stat().st_size)
    try:
        with ThreadPoolExecutor(thread_budget()) as pool:
            list(pool.map(compiled, sources))
        with replacing(place) as draft:
            done = _ran(recipe.link_command(compiler, _flags(), draft), parts, until)
            if done.returncode != 0:
                raise _FailedError(done)
    except _FailedError as failed:
        return failed.done
    return done


class _FailedError(Exception):
    """The compiler ended with an error."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        super().__init__(done.returncode)
        self.done = done


def _ran(command: list[str], folder: Path, until: float) -> subprocess.CompletedProcess[str]:
    left_s = max(0.0, until - time.monotonic())
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=left_s, check=False
    )


def _flags() -> tuple[str, ...]:
    return recipe.flags(instruction_sets())


def instruction_sets() -> tuple[str, ...]:
    """What a library that is built here is compiled for, and so needs where it runs."""
    return tuple(name for name in recipe.SETS if name in cpu_features())


def find_compiler() -> tuple[str, ...] | None:
    """The command of the compiler: ``CXX`` if it is set, else the first one that is installed."""
    stated = shlex.split(os.environ.get("CXX", ""))
    for name in stated[:1] or _COMPILERS:
        path = shutil.which(name)
        if path is not None:
            return (path, *stated[1:])
    return None


def _place(compiler: tuple[str, ...]) -> Path:
    """Where the library is or will be. Asking a compiler its version takes milliseconds; its file tells as much."""
    program = Path(compiler[0]).resolve()
    facts = program.stat()
    key = repr((recipe.fingerprint(), str(program), facts.st_size, facts.st_mtime_ns, compiler[1:], _flags()))
    name = f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.so"
    return folder() / name


def folder() -> Path:
    """Where libraries lie: in the user's cache."""
    return cache_folder() / "native"
