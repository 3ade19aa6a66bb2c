"""Targets of whole families of devices, by the name of a product: for code written against the earlier constructors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from intarsia.errors import SpecError
from intarsia.spec.problems import nearest
from intarsia.target.target import Target

_Options = Mapping[str, object]

_LINUX_32: _Options = {"mtriple": "armv7a-linux-gnueabihf", "mattr": ["+neon", "+vfp4", "+thumb2"]}
_LINUX_64: _Options = {"mtriple": "aarch64-linux-gnu", "mattr": ["+neon"]}
_ANDROID: _Options = {"mtriple": "arm64-linux-android", "mattr": ["+neon"]}
_ARM_BOARDS: Mapping[str, _Options] = MappingProxyType(
    {
        "pixel2": {"model": "snapdragon835", **_ANDROID},
        "mate10": {"model": "kirin970", **_ANDROID},
        "mate10pro": {"model": "kirin970", **_ANDROID},
        "p20": {"model": "kirin970", **_ANDROID},
        "p20pro": {"model": "kirin970", **_ANDROID},
        "rasp3b": {"model": "bcm2837", "mtriple": "armv7l-linux-gnueabihf", "mattr": ["+neon"]},
        "rasp4b": {
            "model": "bcm2711",
            "mtriple": "armv8l-linux-gnueabihf",
            "mattr": ["+neon"],
            "mcpu": "cortex-a72",
        },
        "rasp4b64": {"model": "bcm2711", "mcpu": "cortex-a72", **_LINUX_64},
        "rk3399": _LINUX_64,
        "pynq": {"mtriple": "armv7a-linux-eabi", "mattr": ["+neon"]},
        "ultra96": _LINUX_64,
        "beagleai": {"mcpu": "cortex-a15", **_LINUX_32},
        "stm32mp1": {"mcpu": "cortex-a7", **_LINUX_32},
        "thunderx": {"mtriple": "aarch64-linux-gnu", "mattr": ["+neon", "+crc", "+lse"], "mcpu": "thunderxt88"},
    }
)
"""Boards and phones. Source: ``python/tvm/target/target.py`` of Apache TVM v0.18."""

_MICRO_BOARDS: Mapping[str, str] = MappingProxyType(
    {
        "atsamd51": "cortex-m4",
        "cxd5602gg": "cortex-m4",
        "esp32": "",
        "imxrt10xx": "cortex-m7",
        "mps2_an521": "cortex-m33",
        "mps3_an547": "cortex-m55",
        "nrf52840": "cortex-m4+nodsp",
        "nrf5340dk": "cortex-m33",
        "rp2040": "cortex-m0",
        "sam3x8e": "cortex-m3",
        "stm32f746xx": "cortex-m7",
        "stm32h7xx": "cortex-m7",
        "stm32l4r5zi": "cortex-m4",
        "stm32u5xx": "cortex-m33",
        "zynq_mp_r5": "cortex-r5",
    }
)
"""Microcontrollers with their processors, empty where LLVM has no name for it. Source: as of the boards."""

_STM32_SERIES: Mapping[str, str] = MappingProxyType(
    {
        "stm32F0xx": "cortex-m0",
        "stm32F1xx": "cortex-m3",
        "stm32F2xx": "cortex-m3",
        "stm32F3xx": "cortex-m4",
        "stm32F4xx": "cortex-m4",
        "stm32F7xx": "cortex-m7",
        "stm32G0xx": "cortex-m0plus",
        "stm32G4xx": "cortex-m4",
        "stm32H7xx": "cortex-m7",
        "stm32L0xx": "cortex-m0plus",
        "stm32L1xx": "cortex-m3",
        "stm32L4xx": "cortex-m4",
        "stm32L5xx": "cortex-m33",
        "stm32U5xx": "cortex-m33",
    }
)
"""Series of STM32 with their processors, as LLVM spells them. Source: as of the boards."""

_RISCV: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "sifive-e31": ("riscv32-unknown-linux-gnu", "ilp32"),
        "sifive-e76": ("riscv32-unknown-linux-gnu", "ilp32"),
        "sifive-u54": ("riscv64-unknown-linux-gnu", "lp64d"),
        "sifive-u74": ("riscv64-unknown-linux-gnu", "lp64d"),
    }
)
"""RISC-V processors with triple and ABI. Source: as of the boards."""

_HEXAGON_VERSIONS = ("v65", "v66", "v67", "v68", "v69", "v71", "v73", "v75")
_Text = str | Sequence[str]


def cuda(model: str = "unknown", arch: str | None = None, options: _Text = "") -> Target:
    """An NVIDIA GPU.

    Args:
        model: Product name.
        arch: Compute capability, as ``sm_80``.
        options: More options as text, whole or in words; they go before what the function states.
    """
    return _target("cuda", {"model": model} | ({} if arch is None else {"arch": arch}), options)


def rocm(model: str = "unknown", options: _Text = "") -> Target:
    """An AMD GPU. The arguments are those of `cuda`."""
    return _target("rocm", {"model": model}, options)


def mali(model: str = "unknown", options: _Text = "") -> Target:
    """An Arm Mali GPU, by OpenCL. The arguments are those of `cuda`."""
    return _target("opencl", {"device": "mali", "model": model}, options)


def bifrost(model: str = "unknown", options: _Text = "") -> Target:
    """An Arm Mali GPU of the Bifrost architecture, by OpenCL. The arguments are those of `cuda`."""
    return _target("opencl", {"device": "bifrost", "model": model}, options)


def adreno(model: str = "unknown", options: _Text = "") -> Target:
    """A Qualcomm Adreno GPU, by OpenCL. The arguments are those of `cuda`."""
    return _target("opencl", {"device": "adreno", "model": model}, options)


def intel_graphics(model: str = "unknown", options: _Text = "") -> Target:
    """An Intel GPU, by OpenCL. The arguments are those of `cuda`."""
    return _target("opencl", {"device": "intel_graphics", "model": model, "thread_warp_size": 16}, options)


def arm_cpu(model: str = "unknown", options: _Text = "") -> Target:
    """An Arm CPU, of a board or phone by name. The arguments are those of `cuda`; any other model is just stated."""
    return _target("llvm", {"device": "arm_cpu", "model": model, **_ARM_BOARDS.get(model, {})}, options)


def riscv_cpu(model: str = "sifive-u54", options: _Text = "") -> Target:
    """A RISC-V CPU. The arguments are those of `cuda`; a model that is not known is just stated."""
    known: _Options = {}
    if model in _RISCV:
        triple, abi = _RISCV[model]
        known = {"mtriple": triple, "mabi": abi, "mcpu": model}
    return _target("llvm", {"device": "riscv_cpu", "model": model, **known}, options)


def micro(model: str, options: _Text = "") -> Target:
    """A microcontroller by name, in C. The arguments are those of `cuda`.

    Raises:
        SpecError: The model is not known.
    """
    mcpu = _known(model, _MICRO_BOARDS, "microcontroller")
    return _target("c", {"model": model} | ({"mcpu": mcpu} if mcpu else {}), options)


def stm32(series: str, options: _Text = "") -> Target:
    """An STM32 microcontroller by its series (``stm32F4xx``), in C. The arguments are those of `cuda`.

    Raises:
        SpecError: The series is not known.
    """
    return _target("c", {"model": series, "mcpu": _known(series, _STM32_SERIES, "series")}, options)


def vta(model: str = "unknown", options: _Text = "") -> Target:
    """The accelerator VTA. The arguments are those of `cuda`."""
    return _target("ext_dev", {"device": "vta", "keys": ["vta", "cpu"], "model": model}, options)


def hexagon(version: str = "v68", hvx: int = 128, vtcm_capacity: int = 0, options: _Text = "") -> Target:
    """A Hexagon DSP.

    Args:
        version: Of the instruction set.
        hvx: Bytes of a vector: 64 or 128; 0 for none.
        vtcm_capacity: Bytes of tightly coupled vector memory.
        options: More options as text, whole or in words.

    Raises:
        SpecError: The version or the vector's size is none that exists.
    """
    if version not in _HEXAGON_VERSIONS:
        raise SpecError(f"{version!r} is not a Hexagon version; known are {', '.join(_HEXAGON_VERSIONS)}")
    if hvx not in (0, 64, 128):
        raise SpecError(f"a vector has 64 or 128 bytes, or 0 for none; found {hvx}")
    attributes = [f"+hvx{version}", f"+hvx-length{hvx}b"] if hvx else ["-hvx"]
    stated = {"mtriple": "hexagon", "mcpu": f"hexagon{version}", "mattr": attributes, "vtcm-capacity": vtcm_capacity}
    return _target("hexagon", stated, options)


def _known(name: str, table: Mapping[str, str], what: str) -> str:
    if name not in table:
        raise SpecError(f"{what} {name!r} is not known{nearest(name, table, 'known are ' + ', '.join(table))}")
    return table[name]


def _target(kind: str, stated: _Options, options: _Text) -> Target:
    text = options if isinstance(options, str) else " ".join(options)
    return Target({**stated, **Target(f"{kind} {text}").export()})
