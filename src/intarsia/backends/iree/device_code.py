"""IREE's code for devices that need not be here: a module for its runtime, and the kernels in the device's language."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from intarsia.target import Target

KERNELS = "kernels"
"""The folder that the kernels are written into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Device:
    """How the compiler is called for a kind of device.

    Attributes:
        backend: What the compiler calls the device.
        arch: The options of the target that name the chip, first match wins.
        default: The chip, where the target names none.
    """

    backend: str
    arch: tuple[str, ...] = ()
    default: str = ""


_NVIDIA = _Device(backend="cuda", arch=("arch", "mcpu"), default="sm_60")
DEVICES: Mapping[str, _Device] = MappingProxyType(
    {
        "cuda": _NVIDIA,
        "nvptx": _NVIDIA,
        "rocm": _Device(backend="rocm", arch=("mcpu",), default="gfx942"),
        "metal": _Device(backend="metal-spirv"),
        "vulkan": _Device(backend="vulkan-spirv"),
    }
)
"""By the kind of target."""
CHIPS: Mapping[str, tuple[str, ...]] = MappingProxyType({kind: device.arch for kind, device in DEVICES.items()})
"""By the kind of target, the options that are read."""


def device_flags(device: Target, folder: Path) -> tuple[str, ...]:
    """How the compiler is called for a device, so that it leaves the kernels in a folder."""
    found = DEVICES[device.kind_name]
    chip = next((device.options[name] for name in found.arch if device.options.get(name)), found.default)
    return (
        f"--iree-hal-target-backends={found.backend}",
        *((f"--iree-{found.backend}-target={chip}",) if chip else ()),
        f"--iree-hal-dump-executable-binaries-to={folder / KERNELS}",
    )


def device_files(
    compiled: Callable[[tuple[str, ...]], tuple[bytes, tuple[str, ...]]], device: Target, folder: Path
) -> tuple[Path, ...]:
    """Write ``model.vmfb``, the kernels, and the options of the compiler; return the paths.

    Args:
        compiled: Compiles the model with some options; returns the module, and all options that it took.
        device: What for.
        folder: Where; it is made if it is not there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    module, options = compiled(device_flags(device, folder))
    paths = [folder / "model.vmfb", folder / "options.txt"]
    paths[0].write_bytes(module)
    said = [option for option in options if str(folder) not in option]
    paths[1].write_text("\n".join(said) + "\n", encoding="utf-8")
    return (*paths, *sorted((folder / KERNELS).glob("*")))
