"""A detector of the YOLO family: YOLOv5's small size (Jocher et al., 2020), 7 million weights, on 3 x 320 x 320."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import torch
from torch import nn

from networks.exported import Sketch
from networks.layers import conv_norm

if TYPE_CHECKING:
    from torch import Tensor

_SIZE = 320
_NUMBERS = 85  # four for the box, one for whether there is anything, one for each of 80 classes
# Width and height in pixels, three for each stride.
_ANCHORS = MappingProxyType(
    {
        8: ((10, 13), (16, 30), (33, 23)),
        16: ((30, 61), (62, 45), (59, 119)),
        32: ((116, 90), (156, 198), (373, 326)),
    }
)


def yolo() -> Sketch:
    """Backbone, neck that goes up and down again, heads at three strides, boxes in pixels."""
    return Sketch(module=_Yolo(), inputs={"picture": (1, 3, _SIZE, _SIZE)}, outputs=("boxes",))


def _conv(source: int, target: int, kernel: int = 1, stride: int = 1) -> nn.Module:
    return conv_norm((source, target), kernel, stride, activation=nn.SiLU())


class _Bottleneck(nn.Module):
    def __init__(self, width: int, *, is_residual: bool) -> None:
        super().__init__()
        self.branch = nn.Sequential(_conv(width, width), _conv(width, width, 3))
        self.is_residual = is_residual

    def forward(self, x: Tensor) -> Tensor:
        return x + self.branch(x) if self.is_residual else self.branch(x)


class _CrossStage(nn.Module):
    """Half of the channels go through bottlenecks, half around them (Wang et al., 2020)."""

    def __init__(self, source: int, target: int, depth: int, *, is_residual: bool = True) -> None:
        super().__init__()
        half = target // 2
        bottlenecks = (_Bottleneck(half, is_residual=is_residual) for _ in range(depth))
        self.through = nn.Sequential(_conv(source, half), *bottlenecks)
        self.around = _conv(source, half)
        self.merge = _conv(target, target)

    def forward(self, x: Tensor) -> Tensor:
        return self.merge(torch.cat((self.through(x), self.around(x)), 1))


class _PyramidPool(nn.Module):
    """Max pooling over 5, 9 and 13 places, each from the one before."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.narrow, self.pool, self.merge = _conv(width, width // 2), nn.MaxPool2d(5, 1, 2), _conv(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        seen = [self.narrow(x)]
        for _ in range(3):
            seen.append(self.pool(seen[-1]))
        return self.merge(torch.cat(seen, 1))


class _Head(nn.Module):
    """Three boxes for each place of one stride."""

    def __init__(self, width: int, stride: int) -> None:
        super().__init__()
        self.conv, self.stride = nn.Conv2d(width, 3 * _NUMBERS, 1), stride
        places = torch.arange(_SIZE // stride, dtype=torch.float32)
        rows, columns = torch.meshgrid(places, places, indexing="ij")
        self.register_buffer("corners", torch.stack((columns, rows), 2) - 0.5)
        self.register_buffer("anchors", torch.tensor(_ANCHORS[stride], dtype=torch.float32).reshape(3, 1, 1, 2))

    def forward(self, x: Tensor) -> Tensor:
        found = self.conv(x).unflatten(1, (3, _NUMBERS)).permute(0, 1, 3, 4, 2).sigmoid()
        centre, size, rest = found.split((2, 2, _NUMBERS - 4), -1)
        pixels = (centre * 2 + self.corners) * self.stride, (size * 2) ** 2 * self.anchors
        return torch.cat((*pixels, rest), -1).flatten(1, 3)


class _Yolo(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        stem = nn.Sequential(nn.Conv2d(3, 32, 6, 2, 2, bias=False), nn.BatchNorm2d(32), nn.SiLU())
        self.fine = nn.Sequential(
            stem, _conv(32, 64, 3, 2), _CrossStage(64, 64, 1), _conv(64, 128, 3, 2), _CrossStage(128, 128, 2)
        )
        self.middle = nn.Sequential(_conv(128, 256, 3, 2), _CrossStage(256, 256, 3))
        self.coarse = nn.Sequential(_conv(256, 512, 3, 2), _CrossStage(512, 512, 1), _PyramidPool(512), _conv(512, 256))
        self.larger = nn.Upsample(scale_factor=2, mode="nearest")
        self.up = nn.Sequential(_CrossStage(512, 256, 1, is_residual=False), _conv(256, 128))
        self.top = _CrossStage(256, 128, 1, is_residual=False)
        self.shrink, self.shrink_again = _conv(128, 128, 3, 2), _conv(256, 256, 3, 2)
        self.down = _CrossStage(256, 256, 1, is_residual=False)
        self.bottom = _CrossStage(512, 512, 1, is_residual=False)
        self.heads = nn.ModuleList(map(_Head, (128, 256, 512), _ANCHORS))

    def forward(self, picture: Tensor) -> Tensor:
        fine = self.fine(picture)
        middle = self.middle(fine)
        coarse = self.coarse(middle)
        up = self.up(torch.cat((self.larger(coarse), middle), 1))
        top = self.top(torch.cat((self.larger(up), fine), 1))
        down = self.down(torch.cat((self.shrink(top), up), 1))
        bottom = self.bottom(torch.cat((self.shrink_again(down), coarse), 1))
        return torch.cat([head(x) for head, x in zip(self.heads, (top, down, bottom), strict=True)], 1)
