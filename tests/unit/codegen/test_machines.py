from __future__ import annotations

import pytest

from intarsia import Target
from intarsia.codegen.machines import family_of, flags_of, is_microcontroller
from intarsia.errors import ConfigError


@pytest.mark.parametrize(
    ("target", "family", "flags"),
    [
        ("arm/rasp4b64", "aarch64-linux-gnu", "-mcpu=cortex-a72+simd"),
        ("arm/cortex-a53", "aarch64-linux-gnu", "-mcpu=cortex-a53"),
        ("arm/soc", "aarch64-linux-gnu", "-march=armv8-a"),
        ("llvm -mcpu=cortex-x925 -mattr=+dotprod", "aarch64-linux-gnu", "-march=armv8-a+dotprod"),
        ("llvm -mcpu=cortex-a76 -mattr=-crypto", "aarch64-linux-gnu", "-mcpu=cortex-a76+nocrypto"),
        ("c -march=armv8.2-a -mtriple=aarch64-linux-gnu", "aarch64-linux-gnu", "-march=armv8.2-a"),
        ("arm/rasp4b", "arm-linux-gnueabihf", "-march=armv7-a -mfloat-abi=hard -mfpu=neon"),
        ("arm/stm32mp1", "arm-linux-gnueabihf", "-march=armv7-a -mfloat-abi=hard -mfpu=neon"),
        ("riscv/sifive-u74", "riscv64-linux-gnu", "-march=rv64gc -mabi=lp64d"),
        ("riscv/visionfive-2", "riscv64-linux-gnu", "-march=rv64gc -mabi=lp64d"),
    ],
)  # fmt: skip
def test_what_a_compiler_is_told(target: str, family: str, flags: str) -> None:
    assert family_of(Target(target)) == family
    assert " ".join(flags_of(Target(target), family)) == flags


@pytest.mark.parametrize(
    "target", ["riscv/sifive-e31", "raspberry-pi/zero-armhf", "llvm -mtriple=powerpc64-linux-gnu", "arm/pynq", "llvm"]
)
def test_there_is_no_compiler_for_every_processor(target: str) -> None:
    assert family_of(Target(target)) is None


def test_a_feature_without_a_spelling_is_an_error() -> None:
    target = Target("llvm -mtriple=riscv64-linux-gnu -mattr=+v")
    with pytest.raises(ConfigError, match=r"riscv64-linux-gnu-gcc has no option for the feature \+v; leave it out"):
        flags_of(target, "riscv64-linux-gnu")


@pytest.mark.parametrize(("target", "is_one"), [("c", False), ("arm/cortex-m0", True), ("arm/rasp4b", False),
                                               ("c -board=mps2-an386", True), ("c -march=armv7e-m", True)])  # fmt: skip
def test_what_a_microcontroller_is(target: str, *, is_one: bool) -> None:
    assert is_microcontroller(Target(target)) is is_one
