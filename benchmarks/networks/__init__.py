"""The networks we test, demonstrate and measure with, made from seeds: nothing is downloaded.

`light` redraws the weights of nine known architectures; `unlike` holds networks of our own, whose parts are unlike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from benchmarks.networks import light, unlike
from benchmarks.networks.probe import feeds, intermediate_of, swap_channels

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["NAMES", "build", "feeds", "intermediate", "save", "swap_channels"]

# `unlike.TINY` can be built too, but is no network to judge the product by.
NAMES = (*light.NAMES, *unlike.NAMES)


def build(name: str, seed: int = 0) -> onnx.ModelProto:
    """The named network; the same name and seed give the same bytes.

    Raises:
        ValueError: no such network.
    """
    if name in light.NAMES:
        return light.build(name, seed)
    if name in unlike.BUILDERS:
        return unlike.build(name, seed)
    raise ValueError(f"no network {name!r}; there are {', '.join((*light.NAMES, *unlike.BUILDERS))}")


def save(name: str, folder: Path, seed: int = 0) -> Path:
    """Write the named network as one file (vgg19: 575 MB) and return its path."""
    path = folder / f"{name}.onnx"
    onnx.save(build(name, seed), path)
    return path


def intermediate(name: str) -> str:
    """The name of one tensor in the middle of the named network, the same for every seed."""
    return intermediate_of(build(name))
