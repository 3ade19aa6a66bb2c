from __future__ import annotations

import stat
from pathlib import Path

import pytest

from intarsia.codegen import emulator, toolchain
from intarsia.codegen.toolchain import FAMILIES, Build, Toolchain
from intarsia.errors import BackendUnavailableError, CompileError, ConfigError
from tests.unit.codegen.tools import CC


def pretend(folder: Path, name: str, text: str) -> Path:
    """A program that is a script."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_without_a_compiler_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(
        BackendUnavailableError, match=r"a C compiler is not installed; .*apt-get install gcc libc6-dev"
    ):
        toolchain.host()
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    for triple, family in FAMILIES.items():
        with pytest.raises(BackendUnavailableError, match=f"{triple}-gcc is not installed.*{family.packages[0]}"):
            toolchain.cross(triple)
    monkeypatch.setenv("CC", "tcc -g")
    with pytest.raises(BackendUnavailableError, match="'tcc', which CC names"):
        toolchain.host()


def test_cc_names_the_host_s_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = pretend(tmp_path, "mine", "true")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CC", "mine -m32")
    assert toolchain.host().compiler == (str(path), "-m32")


def test_on_such_a_processor_its_own_compiler_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = pretend(tmp_path, "cc", "true")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert toolchain.cross("aarch64-linux-gnu").compiler == (str(path),)


@pytest.mark.parametrize(
    ("mtriple", "family"),
    [
        ("aarch64-linux-gnu", "aarch64-linux-gnu"),
        ("arm64-linux-android", "aarch64-linux-gnu"),
        ("riscv64-unknown-linux-gnu", "riscv64-linux-gnu"),
        ("armv7l-linux-gnueabihf", "arm-linux-gnueabihf"),
        ("armv8l-linux-gnueabihf", "arm-linux-gnueabihf"),
        ("thumbv7em-none-eabihf", "arm-none-eabi"),
        ("x86_64-linux-gnu", None),
        ("riscv32-unknown-linux-gnu", None),
        ("hexagon", None),
    ],
)
def test_the_family_of_a_triple(mtriple: str, family: str | None) -> None:
    assert toolchain.family_of(mtriple) == family


def made(folder: Path, text: str) -> Toolchain:
    return Toolchain(triple="", compiler=(str(pretend(folder, "made-up-gcc", text)),), packages=())


def test_an_overflow_says_which_memory_and_how_much(tmp_path: Path) -> None:
    words = "ld: region \\`flash' overflowed by 1234 bytes"
    tools = made(tmp_path, f'echo "{words}" >&2\necho "ld: region \\`sram\' overflowed by 1 byte" >&2\nexit 1')
    with pytest.raises(ConfigError, match="missing are 1,234 bytes in flash, 1 bytes in sram"):
        toolchain.call(tools, [], tmp_path)


def test_of_a_compiler_s_words_those_are_kept_that_say_what_is_wrong(tmp_path: Path) -> None:
    tools = made(tmp_path, 'echo "In file included from b.h" >&2\necho "a.c:1:2: error: no" >&2\nexit 1')
    with pytest.raises(CompileError, match=r"^made-up-gcc failed at compile: a.c:1:2: error: no\n  the command was: "):
        toolchain.call(tools, ["-c", "a.c"], tmp_path)
    silent = made(tmp_path, "exit 3")
    with pytest.raises(CompileError, match="exit status 3"):
        toolchain.call(silent, [], tmp_path)


@CC
def test_files_in_folders_are_compiled_and_those_of_one_name_do_not_collide(tmp_path: Path) -> None:
    sources = {
        "a/one.c": '#include "one.h"\nint main(void) { return two() - 2; }',
        "b/one.c": '#include "a/one.h"\nint two(void) { return TWO; }',
        "a/one.h": "int two(void);",
    }
    what = Build(sources=sources, strict=True, defines={"TWO": "2"}, flags=("-O1",))
    assert toolchain.build(toolchain.host(), what, tmp_path, "program").stat().st_size > 0
    assert sorted(path.name for path in tmp_path.glob("*.o")) == ["one.0.o", "one.1.o"]


def test_make_boards_installs_every_compiler_and_emulator() -> None:
    """What messages say to install is what the tests get."""
    recipe = (Path(__file__).parents[3] / "Makefile").read_text(encoding="utf-8").partition("\nboards:")[2]
    packages = recipe.partition("\n\n")[0].replace("'", " ").split()
    for family in FAMILIES.values():
        assert {*family.packages, *family.emulator_packages} <= {*packages}
        assert any(each.startswith(f"{family.triple}-gcc") for each in packages)
    assert {*toolchain.HOST_PACKAGES, *emulator.SYSTEM_PACKAGES} <= {*packages}
