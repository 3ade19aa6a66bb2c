"""The networks we test, demonstrate and measure with, made from seeds: nothing is downloaded.

`light` redraws the weights of nine known architectures; `unlike` holds networks of our own, whose parts are unlike;
`micro` holds networks for microcontrollers; the others are torch modules, written by torch's exporter, and need the
`bench` extra.
"""

from __future__ import annotations

import importlib
from types import MappingProxyType
from typing import TYPE_CHECKING

import onnx

from networks import light, micro, unlike
from networks.probe import feeds, intermediate_of, swap_channels

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["EXPORTED", "NAMES", "SUITE", "build", "feeds", "intermediate", "save", "swap_channels"]

# Those that need nothing but this project. `unlike.TINY` and `unlike.LINE_READER` can be built too, but the product
# is not judged by them.
NAMES = (*light.NAMES, *unlike.NAMES)

_FILES = {
    "audio": ("conformer", "vocoder", "whisper_tiny_encoder"),
    "depth": ("monodepth",),
    "detector": ("yolo",),
    "generative": ("bicubic_sr", "dcgan", "groupnorm_decoder", "unet"),
    "language": ("bert_base", "distilbert", "gpt2_decode", "gpt2_prefill", "nasrnn", "wide_decode"),
    "mobile": ("efficientnet_b0", "mobilenet_v2"),
    "nasnet": ("nasnet_a",),
    "residual": ("pose", "resnet18", "resnet50_3d", "resnext50"),
    "restoration": ("edsr", "srresnet"),
    "speech": ("lipnet",),
    "vision": ("convnext_tiny", "swin_tiny", "vit_b16"),
    "volumes": ("unet3d",),
}
# Those that need torch and transformers too, and the file that holds each.
EXPORTED = MappingProxyType({name: file for file, names in _FILES.items() for name in names})

# What the product is judged by. Those left out are small, or have a close relative here.
_JUDGED = tuple(name for name in EXPORTED if name != "wide_decode")
SUITE = ("bvlc_alexnet", "densenet121", "inception_v1", "resnet50", "vgg19", "zfnet512", *unlike.NAMES, *_JUDGED)


def build(name: str, seed: int = 0) -> onnx.ModelProto:
    """The named network; the same name and seed give the same bytes.

    Raises:
        ValueError: no such network.
        ImportError: it needs the `bench` extra.
    """
    if name in light.NAMES:
        return light.build(name, seed)
    if name in unlike.BUILDERS:
        return unlike.build(name, seed)
    if name in micro.BUILDERS:
        return micro.build(name, seed)
    if name in EXPORTED:
        return _export(name, seed)
    raise ValueError(
        f"no network {name!r}; there are {', '.join((*light.NAMES, *unlike.BUILDERS, *micro.NAMES, *EXPORTED))}"
    )


def _export(name: str, seed: int) -> onnx.ModelProto:
    try:
        exported = importlib.import_module("networks.exported")
        file = importlib.import_module(f"networks.{EXPORTED[name]}")
    except ModuleNotFoundError as error:
        raise ImportError(f"network {name!r} is built with {error.name}; pip install 'intarsia[bench]'") from error
    model: onnx.ModelProto = exported.export(name, getattr(file, name)(), seed)
    return model


def save(name: str, folder: Path, seed: int = 0) -> Path:
    """Write the named network as one file (vgg19: 575 MB) and return its path."""
    path = folder / f"{name}.onnx"
    onnx.save(build(name, seed), path)
    return path


def intermediate(name: str) -> str:
    """The name of one tensor in the middle of the named network, the same for every seed."""
    return intermediate_of(build(name))
