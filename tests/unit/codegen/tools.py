"""Marks of tests that need compilers and emulators: they skip, and say what to install."""

from __future__ import annotations

import shutil

import pytest

from intarsia.codegen.emulator import SYSTEM_PACKAGES
from intarsia.codegen.toolchain import FAMILIES, HOST_PACKAGES, install


def _wants(programs: tuple[str, ...], packages: tuple[str, ...]) -> pytest.MarkDecorator:
    missing = [each for each in programs if shutil.which(each) is None]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} not installed; {install(packages)}")


CC = _wants(("cc",), HOST_PACKAGES)
BOARDS = _wants(
    ("cc", "arm-none-eabi-gcc", "qemu-system-arm"),
    (*HOST_PACKAGES, *FAMILIES["arm-none-eabi"].packages, *SYSTEM_PACKAGES),
)
AARCH64, RISCV64, ARMHF = (
    _wants(
        ("cc", f"{triple}-gcc", FAMILIES[triple].emulator),
        (*HOST_PACKAGES, *FAMILIES[triple].packages, *FAMILIES[triple].emulator_packages),
    )
    for triple in ("aarch64-linux-gnu", "riscv64-linux-gnu", "arm-linux-gnueabihf")
)
