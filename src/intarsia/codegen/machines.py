"""Which compiler makes code for a target's processor, and what it is told of it."""

from __future__ import annotations

from collections.abc import Mapping

from intarsia.codegen import toolchain
from intarsia.errors import ConfigError
from intarsia.target import Target

_FAMILIES: Mapping[str, str] = {"aarch64": "aarch64-linux-gnu", "riscv": "riscv64-linux-gnu"}
"""By architecture, where a target has no triple."""


def is_microcontroller(target: Target) -> bool:
    """Whether a target is a processor without an operating system: a Cortex-M, or a board."""
    return bool(target.board) or target.features.is_m_profile is True


def family_of(target: Target) -> str | None:
    """The key of `toolchain.FAMILIES` whose compiler makes code for a target; ``None`` if there is none."""
    stated = str(target.options.get("mtriple", ""))
    return toolchain.family_of(stated) if stated else _FAMILIES.get(target.features.architecture)


def triple_of(target: Target) -> str:
    """What code for a target is made for, as compilers spell it; empty where it says nothing of that."""
    return str(target.options.get("mtriple") or family_of(target) or "")


def features_of(target: Target) -> tuple[str, ...]:
    """The stated features; those of a RISC-V processor are what Linux needs of one, and what is stated."""
    if target.features.architecture != "riscv":
        return target.mattr
    stated = {each[1:] for each in target.mattr}
    return (*(f"+{each}" for each in "mafdc" if each not in stated), *target.mattr)


def flags_of(target: Target, triple: str) -> tuple[str, ...]:
    """The processor, as GCC spells it: where it does not know one, the architecture that all of the family have.

    Raises:
        ConfigError: A stated feature has no spelling there.
    """
    own = _EXTENSIONS[triple]
    strange = [each for each in target.mattr if each.lstrip("+-") not in own]
    if strange:
        raise ConfigError(
            f"{target}: the compiler {triple}-gcc has no option for the feature {strange[0]}; leave it out"
        )
    extensions = [f"+{'no' if each.startswith('-') else ''}{own[each.lstrip('+-')]}" for each in target.mattr]
    if triple.startswith("riscv"):
        return ("-march=rv64gc", f"-mabi={target.options.get('mabi', 'lp64d')}")
    if triple.startswith("arm"):
        fpu = "neon" if target.features.has("neon") else "vfpv3-d16"
        return ("-march=armv7-a", "-mfloat-abi=hard", f"-mfpu={fpu}")
    if "march" in target.options:
        return (f"-march={target.options['march']}{''.join(extensions)}",)
    known = f"-mcpu={target.mcpu}" if target.mcpu.partition("+")[0] in _GCC_12.split() else "-march=armv8-a"
    return (f"{known}{''.join(dict.fromkeys(extensions))}",)


_EXTENSIONS: Mapping[str, Mapping[str, str]] = {
    "aarch64-linux-gnu": {
        "neon": "simd",
        "fullfp16": "fp16",
        **{name: name for name in ("bf16", "crc", "crypto", "dotprod", "fp16", "i8mm", "lse", "sve", "sve2")},
    },
    "arm-linux-gnueabihf": dict.fromkeys(("neon", "vfp3", "vfp4", "thumb2", "thumb-mode"), ""),
    "riscv64-linux-gnu": dict.fromkeys(("m", "a", "f", "d", "c", "64bit"), ""),
}
"""GCC's names of features by LLVM's, for each family; those of the last two follow from the architecture."""
_GCC_12 = """
cortex-a34 cortex-a35 cortex-a53 cortex-a55 cortex-a57 cortex-a65 cortex-a72 cortex-a73 cortex-a75 cortex-a76
cortex-a77 cortex-a78 cortex-a78c cortex-a510 cortex-a710 cortex-x1 cortex-x2 thunderx neoverse-n1 neoverse-n2
neoverse-e1 neoverse-v1 neoverse-v2"""
"""Processors of AArch64 that GCC 12 knows, GCC 12's manual, 3.19.1."""
