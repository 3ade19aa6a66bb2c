"""Finds C compilers, for this machine and for others, and builds programs and shared libraries with them."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from intarsia.codegen import processes
from intarsia.errors import BackendUnavailableError, CompileError, ConfigError

TIMEOUT_S = 600.0
"""A compiler that takes longer is killed."""
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
"""What the C that we write is clean under."""
_MOST_TEXT = 1500
_OVERFLOW = re.compile(r"region `(?P<memory>[^']+)' overflowed by (?P<bytes>\d+) bytes?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """A compiler with its companions.

    Attributes:
        triple: What it compiles for, as GNU spells it; empty for this machine.
        compiler: Its command: the path of the program, and arguments that always come first.
        packages: What to install where something of it is missing.
    """

    triple: str
    compiler: tuple[str, ...]
    packages: tuple[str, ...]

    @property
    def name(self) -> str:
        """What messages call it."""
        return Path(self.compiler[0]).name

    def tool(self, name: str) -> str:
        """The path of a companion: ``nm``, ``size``, ``objdump``.

        Raises:
            BackendUnavailableError: It is not there.
        """
        prefix = f"{self.triple}-" if self.triple else ""
        path = shutil.which(prefix + name) or (shutil.which(name) if not self.triple else None)
        if path is None:
            raise BackendUnavailableError(f"{prefix}{name} is not installed; {install(self.packages)}")
        return path


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Compilers for one processor family, as Debian packages them."""

    triple: str
    packages: tuple[str, ...]
    emulator: str = ""
    emulator_packages: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()


FAMILIES: Mapping[str, Family] = {
    "arm-none-eabi": Family(
        triple="arm-none-eabi", packages=("gcc-arm-none-eabi", "libnewlib-arm-none-eabi", "libnewlib-dev")
    ),
    "aarch64-linux-gnu": Family(
        triple="aarch64-linux-gnu",
        packages=("gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"),
        emulator="qemu-aarch64",
        emulator_packages=("qemu-user",),
        machines=("aarch64", "arm64"),
    ),
    "riscv64-linux-gnu": Family(
        triple="riscv64-linux-gnu",
        packages=("gcc-riscv64-linux-gnu", "libc6-dev-riscv64-cross"),
        emulator="qemu-riscv64",
        emulator_packages=("qemu-user",),
        machines=("riscv64",),
    ),
    "arm-linux-gnueabihf": Family(
        triple="arm-linux-gnueabihf",
        packages=("gcc-arm-linux-gnueabihf", "libc6-dev-armhf-cross"),
        emulator="qemu-arm",
        emulator_packages=("qemu-user",),
        machines=("armv7l", "armv8l"),
    ),
}
"""Toolchains for other processors, by the triple that names them."""
HOST_PACKAGES = ("gcc", "libc6-dev")
_HOST_COMPILERS = ("cc", "gcc", "clang")


def install(packages: Iterable[str]) -> str:
    """What to do where packages of Debian or Ubuntu are missing."""
    return f"on Debian or Ubuntu: apt-get install {' '.join(packages)}"


def host() -> Toolchain:
    """The machine's own C compiler: ``CC`` if that is set, else the first that is installed.

    Raises:
        BackendUnavailableError: There is none.
    """
    stated = shlex.split(os.environ.get("CC", ""))
    for name in stated[:1] or _HOST_COMPILERS:
        path = shutil.which(name)
        if path is not None:
            return Toolchain(triple="", compiler=(path, *stated[1:]), packages=HOST_PACKAGES)
    what = f"the C compiler {stated[0]!r}, which CC names," if stated else "a C compiler"
    raise BackendUnavailableError(f"{what} is not installed; {install(HOST_PACKAGES)}, or name one in CC")


def cross(triple: str) -> Toolchain:
    """The compiler for another processor; on such a processor its own.

    Args:
        triple: A key of `FAMILIES`.

    Raises:
        BackendUnavailableError: It is not installed.
    """
    family = FAMILIES[triple]
    path = shutil.which(f"{triple}-gcc")
    if path is not None:
        return Toolchain(triple=triple, compiler=(path,), packages=family.packages)
    if platform.machine() in family.machines:
        return host()
    raise BackendUnavailableError(
        f"the compiler {triple}-gcc is not installed, and code for this target needs it; {install(family.packages)}"
    )


def family_of(mtriple: str) -> str | None:
    """The key of `FAMILIES` whose compiler makes code for a triple as LLVM spells it; ``None`` if there is none."""
    machine, _, rest = mtriple.partition("-")
    if machine in {"aarch64", "arm64"} and "linux" in rest:
        return "aarch64-linux-gnu"
    if machine == "riscv64" and "linux" in rest:
        return "riscv64-linux-gnu"
    if machine.startswith(("armv7", "armv8")) and "linux" in rest and "gnueabihf" in rest:
        return "arm-linux-gnueabihf"
    if machine.startswith(("thumb", "arm")) and "none" in rest:
        return "arm-none-eabi"
    return None


@cache
def fingerprint(toolchain: Toolchain) -> str:
    """What tells one compiler from another without asking it: its path, its size, when it was written."""
    program = Path(toolchain.compiler[0]).resolve()
    facts = program.stat()
    return repr((str(program), facts.st_size, facts.st_mtime_ns, toolchain.compiler[1:]))


@cache
def version(toolchain: Toolchain) -> str:
    """What a compiler calls itself: its first words, and its version in full."""
    command = [*toolchain.compiler, "--version"]
    done = processes.run(command, name=toolchain.name, timeout_s=TIMEOUT_S)
    return done.stdout.partition("\n")[0].strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What to compile.

    Attributes:
        sources: Text of each file of C, headers too, by name: a path inside the folder, such as ``net/weights.c``.
        blobs: Content of other files, by name.
        files: Files of C that lie elsewhere, as of a library.
        include_folders: Where headers lie.
        flags: For the compiler, at each file.
        link: For the linker, behind the files.
        strict: Whether `STRICT` holds for ``sources``; a library's own files are compiled without.
    """

    sources: Mapping[str, str]
    blobs: Mapping[str, bytes] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    include_folders: tuple[Path, ...] = ()
    flags: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    strict: bool = False
    defines: Mapping[str, str] = field(default_factory=dict)


def write_sources(sources: Mapping[str, str], folder: Path) -> list[Path]:
    """Lay files in a folder for a while, and answer where those are that a compiler takes."""
    paths = []
    for name, text in sources.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            file.write(text)
        if path.suffix in {".c", ".S", ".s"}:
            paths.append(path)
    return paths


def build(toolchain: Toolchain, what: Build, folder: Path, name: str) -> Path:
    """Compile and link into a file of this name in a scratch folder, in which the objects and ``.su`` files stay too.

    Raises:
        ConfigError: It does not fit into a memory of the linker's script; the message says by how many bytes.
        CompileError: The compiler refuses it.
        BackendTimeoutError: It did not end in time.
    """
    ours = write_sources(what.sources, folder)
    for at, content in what.blobs.items():
        with (folder / at).open("wb") as file:
            file.write(content)
    common = [*what.flags, *(f"-D{key}={value}" for key, value in what.defines.items())]
    common += [f"-I{folder}", *(f"-I{path}" for path in what.include_folders)]
    objects = []
    for number, path in enumerate([*ours, *what.files]):
        made = folder / f"{path.stem}.{number}.o"
        strict = STRICT if what.strict and number < len(ours) else ()
        call(toolchain, [*common, *strict, "-c", str(path), "-o", str(made)], folder)
        objects.append(str(made))
    made = folder / name
    call(toolchain, [*common, *objects, "-o", str(made), *what.link], folder)
    return made


def call(toolchain: Toolchain, arguments: Sequence[str], folder: Path) -> str:
    """What a compiler wrote, which is warnings.

    Raises:
        ConfigError: Something does not fit into a memory of the linker's script.
        CompileError: It refuses.
        BackendTimeoutError: It did not end in time.
    """
    command = [*toolchain.compiler, *arguments]
    done = processes.run(command, name=toolchain.name, timeout_s=TIMEOUT_S, folder=folder)
    if done.returncode == 0:
        return done.stderr
    overflows = {each["memory"]: int(each["bytes"]) for each in _OVERFLOW.finditer(done.stderr)}
    if overflows:
        missing = ", ".join(f"{count:,} bytes in {memory}" for memory, count in overflows.items())
        raise ConfigError(f"the program does not fit into the board's memory: missing are {missing}")
    text = done.stderr.strip() or f"exit status {done.returncode}"
    raise CompileError(toolchain.name, f"{shorten(text)}\n  the command was: {shlex.join(command)}")


def shorten(text: str) -> str:
    """The lines of a compiler's words that say what is wrong, and not too many."""
    lines = [line for line in text.splitlines() if "error" in line or "undefined reference" in line]
    return "\n".join(lines or text.splitlines())[:_MOST_TEXT]
