from __future__ import annotations

import pytest

from intarsia.errors import SpecError
from intarsia.target import Target, families


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (families.cuda(options="-libs=cublas,cudnn"), "cuda -model=unknown -libs=cublas,cudnn"),
        (families.cuda("a100", "sm_80"), "cuda -model=a100 -arch=sm_80"),
        (families.cuda(options=["-libs=cublas", "-arch=sm_75"]), "cuda -arch=sm_75 -libs=cublas -model=unknown"),
        (families.rocm(), "rocm -model=unknown"),
        (families.mali("g76"), "opencl -device=mali -model=g76"),
        (families.bifrost(), "opencl -device=bifrost -model=unknown"),
        (families.adreno(), "opencl -device=adreno -model=unknown"),
        (
            families.intel_graphics(options="-thread_warp_size=8"),
            "opencl -device=intel_graphics -model=unknown -thread_warp_size=8",
        ),
        (families.arm_cpu(), "llvm -device=arm_cpu -model=unknown"),
        (
            families.arm_cpu("rk3399"),
            "llvm -device=arm_cpu -model=rk3399 -mtriple=aarch64-linux-gnu -mattr=+neon",
        ),
        (
            families.riscv_cpu(),
            "llvm -device=riscv_cpu -model=sifive-u54 -mtriple=riscv64-unknown-linux-gnu -mabi=lp64d -mcpu=sifive-u54",
        ),
        (families.riscv_cpu("other"), "llvm -device=riscv_cpu -model=other"),
        (families.micro("nrf5340dk"), "c -model=nrf5340dk -mcpu=cortex-m33"),
        (families.micro("esp32"), "c -model=esp32"),
        (families.stm32("stm32F4xx"), "c -model=stm32F4xx -mcpu=cortex-m4"),
        (families.vta(), "ext_dev -device=vta -keys=vta,cpu -model=unknown"),
        (
            families.hexagon("v68", options="-num-cores=4"),
            "hexagon -mtriple=hexagon -mcpu=hexagonv68 -mattr=+hvxv68,+hvx-length128b -vtcm-capacity=0 -num-cores=4",
        ),
        (
            families.hexagon("v66", hvx=0, vtcm_capacity=4096),
            "hexagon -mtriple=hexagon -mcpu=hexagonv66 -mattr=-hvx -vtcm-capacity=4096",
        ),
    ],
)
def test_families(target: Target, text: str) -> None:
    assert target == Target(text)


def test_keys_of_families() -> None:
    assert families.arm_cpu("rasp4b64").keys == ("arm_cpu", "cpu")
    assert families.micro("nrf52840").keys == ("arm_cpu", "cpu")
    assert families.vta().keys == ("vta", "cpu")


def test_what_is_not_known() -> None:
    with pytest.raises(SpecError, match="microcontroller 'nrf5284' is not known; did you mean 'nrf52840'"):
        families.micro("nrf5284")
    with pytest.raises(SpecError, match="series 'x' is not known; known are stm32F0xx"):
        families.stm32("x")
    with pytest.raises(SpecError, match="'v10' is not a Hexagon version; known are v65"):
        families.hexagon("v10")
    with pytest.raises(SpecError, match="found 32"):
        families.hexagon(hvx=32)
    with pytest.raises(SpecError, match="did you mean 'arch'"):
        families.cuda(options="-archh=sm_80")
