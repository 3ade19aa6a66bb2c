from __future__ import annotations

import platform

import pytest

from intarsia import Target
from intarsia.errors import BackendUnavailableError, ConfigError
from intarsia.runtime.aot.place import place_of

OTHER = pytest.mark.skipif(platform.machine() != "x86_64", reason="asks about processors other than x86-64")


@OTHER
@pytest.mark.parametrize(
    ("target", "name", "is_host"),
    [
        ("llvm", "this machine", True),
        ("c", "this machine", True),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=haswell", "this machine", True),
        ("arm/rasp4b64", "qemu-aarch64", False),
        ("arm/rasp4b", "qemu-arm", False),
        ("riscv/visionfive-2", "qemu-riscv64", False),
        ("st/nucleo-h743zi", "QEMU's mps2-an500", False),
        ("arm/mps3-an547", "QEMU's mps3-an547", False),
    ],
)
def test_where_a_target_runs(target: str, name: str, *, is_host: bool) -> None:
    found = place_of(Target(target))
    assert (found.name, found.is_host) == (name, is_host)


@OTHER
@pytest.mark.parametrize("kind", ["llvm", "c"])
def test_the_compiler_is_told_the_processor(kind: str) -> None:
    assert {"-march=haswell", "-mno-fma"} <= set(place_of(Target(f"{kind} -mcpu=haswell -mattr=-fma")).flags)


@OTHER
@pytest.mark.parametrize("target", ["riscv/sifive-e31", "raspberry-pi/zero-armhf", "llvm -mtriple=powerpc64-linux-gnu"])
def test_a_processor_without_a_compiler_is_an_error(target: str) -> None:
    with pytest.raises(ConfigError, match=r"there is no C compiler for the processor of .* those known are for"):
        place_of(Target(target))


def test_a_microcontroller_that_no_board_emulates_is_told_to_name_one() -> None:
    with pytest.raises(ConfigError, match="name one of the emulated boards, as in -board=mps2-an386"):
        place_of(Target("c -march=armv7e-m"))
    assert place_of(Target("c -march=armv7e-m -board=mps2-an386")).flags == ("-march=armv7e-m", "-mthumb")


@OTHER
@pytest.mark.parametrize("target", ["c -stack=100", "c -stack=100 -mtriple=aarch64-linux-gnu"])
def test_a_stack_is_limited_where_it_is_known(target: str) -> None:
    with pytest.raises(ConfigError, match="the deepest stack is known for microcontrollers only; leave -stack out"):
        place_of(Target(target))
    assert place_of(Target("c -stack=100 -board=mps2-an386")).name == "QEMU's mps2-an386"


@OTHER
def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    for target, package in (("arm/cortex-m4", "gcc-arm-none-eabi"), ("arm/rasp4b64", "gcc-aarch64-linux-gnu")):
        with pytest.raises(BackendUnavailableError, match=f"apt-get install {package}"):
            place_of(Target(target)).check_tools()
