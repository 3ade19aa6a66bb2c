"""A network that tells how far away things are: Monodepth2 (Godard et al., 2019).

| network | input | output | million weights |
| --- | --- | --- | --- |
| monodepth | 3 x 192 x 640 | 1 x 192 x 640 | 14 |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional

from networks.exported import Sketch
from networks.residual import resnet18_stages

if TYPE_CHECKING:
    from torch import Tensor

_ENCODED = (64, 64, 128, 256, 512)
_DECODED = (16, 32, 64, 128, 256)


def monodepth() -> Sketch:
    """ResNet-18, and up again through reflected borders and ELU; the disparity at the largest scale."""
    return Sketch(module=_Monodepth(), inputs={"picture": (1, 3, 192, 640)}, outputs=("disparity",))


def _conv(source: int, target: int, activation: nn.Module) -> nn.Sequential:
    return nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(source, target, 3), activation)


class _Monodepth(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        (first, pool), *blocks = resnet18_stages()
        stages = [nn.Sequential(*blocks[place : place + 2]) for place in range(0, 8, 2)]
        self.down = nn.ModuleList([first, nn.Sequential(pool, stages[0]), *stages[1:]])
        self.up = nn.ModuleList()
        source = _ENCODED[-1]
        for level in reversed(range(5)):
            target = _DECODED[level]
            handed = _ENCODED[level - 1] if level > 0 else 0
            self.up.append(nn.ModuleList([_conv(source, target, nn.ELU()), _conv(target + handed, target, nn.ELU())]))
            source = target
        self.disparity = _conv(source, 1, nn.Sigmoid())

    def forward(self, x: Tensor) -> Tensor:
        handed = []
        for level in self.down:
            x = level(x)
            handed.append(x)
        handed.pop()
        for before, behind in self.up:
            x = functional.interpolate(before(x), scale_factor=2.0, mode="nearest")
            x = behind(torch.cat([x, handed.pop()], 1) if handed else x)
        return self.disparity(x)
