from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from intarsia.codegen import emulator, toolchain
from intarsia.codegen.boards.board import EMULATED
from intarsia.codegen.toolchain import Build, Toolchain
from intarsia.errors import BackendTimeoutError, BackendUnavailableError, ExecutionError
from tests.unit.codegen.test_toolchain import pretend
from tests.unit.codegen.tools import BOARDS, CC

NO_TOOLS = Toolchain(triple="", compiler=("cc",), packages=("gcc",))


def test_without_an_emulator_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BackendUnavailableError, match=r"qemu-system-arm is not installed; .* qemu-system-arm$"):
        emulator.system_emulator()
    with pytest.raises(BackendUnavailableError, match=r"qemu-aarch64 is not installed; .* qemu-user$"):
        emulator.user_emulator("aarch64-linux-gnu")
    pretend(tmp_path, "qemu-aarch64-static", "true")
    assert emulator.user_emulator("aarch64-linux-gnu") == str(tmp_path / "qemu-aarch64-static")


def test_a_lockup_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(tmp_path, "qemu-system-arm", "echo 'qemu: fatal: Lockup: cannot escalate' >&2; exit 1")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ExecutionError, match="the processor locked up: the stack is too small"):
        emulator.run_on_board(tmp_path / "program", EMULATED["mps2-an386"], tools=NO_TOOLS)


def test_a_program_that_takes_too_long_is_ended_and_the_error_says_that_emulation_is_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(tmp_path, "qemu-system-arm", f"exec {shutil.which('sleep')} 100")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BackendTimeoutError, match=r"did not end within 1 s, and was ended; an emulator is many times"):
        emulator.run_on_board(tmp_path / "program", EMULATED["mps2-an386"], tools=NO_TOOLS, timeout_s=1)


@pytest.mark.parametrize(("answer", "version"), [("QEMU emulator version 7.2.22", 1), ("qemu-arm version 10.0.2", 2)])
def test_the_plugin_states_the_version_that_the_emulator_takes(tmp_path: Path, answer: str, version: int) -> None:
    path = pretend(tmp_path, "qemu", f"echo '{answer} (Debian)'")
    assert emulator._plugin_version(str(path)) == version


@BOARDS
def test_the_counter_is_compiled_once() -> None:
    first = emulator.counter(emulator.system_emulator())
    before = first.stat().st_mtime_ns
    emulator.counter.cache_clear()
    assert emulator.counter(emulator.system_emulator()) == first
    assert first.stat().st_mtime_ns == before


@CC
def test_a_symbol_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    what = Build(sources={"a.c": "int main(void) { return 0; }"})
    program = toolchain.build(toolchain.host(), what, tmp_path, "program")
    assert emulator.address_of(program, "main", toolchain.host()) > 0
    with pytest.raises(ExecutionError, match="program has no function other"):
        emulator.address_of(program, "other", toolchain.host())
