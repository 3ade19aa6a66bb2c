"""Layers that several of the torch networks share."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from torch import Tensor


def conv_norm(
    channels: tuple[int, int],
    kernel: int = 3,
    stride: int = 1,
    *,
    groups: int = 1,
    activation: nn.Module | None = None,
    rank: int = 2,
) -> nn.Sequential:
    """Convolution of (from, to) channels that keeps the size at stride 1, batch norm, activation if any.

    `rank` is the number of spatial axes, 2 or 3.
    """
    conv, norm = (nn.Conv2d, nn.BatchNorm2d) if rank == 2 else (nn.Conv3d, nn.BatchNorm3d)
    layers = [conv(*channels, kernel, stride, kernel // 2, groups=groups, bias=False), norm(channels[1])]
    return nn.Sequential(*layers, *([] if activation is None else [activation]))


class Attention(nn.Module):
    """Self-attention over (batch, tokens, width), written out as the papers do."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.projection = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        """Of the shape of `x`."""
        query, key, value = (
            part(x).unflatten(2, (self.heads, -1)).transpose(1, 2) for part in (self.query, self.key, self.value)
        )
        scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[-1])
        return self.projection((scores.softmax(-1) @ value).transpose(1, 2).flatten(2))


class UNet(nn.Module):
    """Down through max pooling and up again through transposed convolutions, each level handing its result across."""

    def __init__(self, widths: tuple[int, ...], *, sources: int, classes: int, rank: int = 2) -> None:
        super().__init__()
        pool, up = (nn.MaxPool2d, nn.ConvTranspose2d) if rank == 2 else (nn.MaxPool3d, nn.ConvTranspose3d)
        levels = [*pairwise(widths)]
        self.pool = pool(2)
        self.down = nn.ModuleList(_twice(source, target, rank) for source, target in pairwise((sources, *widths)))
        self.up = nn.ModuleList(up(wide, narrow, 2, 2) for narrow, wide in reversed(levels))
        self.joined = nn.ModuleList(_twice(2 * narrow, narrow, rank) for narrow, _ in reversed(levels))
        self.scores = (nn.Conv2d if rank == 2 else nn.Conv3d)(widths[0], classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Scores of each class at each place; each side of `x` halves evenly at every level."""
        first, *deeper = self.down
        handed = [first(x)]
        for level in deeper:
            handed.append(level(self.pool(handed[-1])))
        x = handed.pop()
        for up, joined in zip(self.up, self.joined, strict=True):
            x = joined(torch.cat((handed.pop(), up(x)), 1))
        return self.scores(x)


def _twice(source: int, target: int, rank: int) -> nn.Sequential:
    first, second = ((source, target), (target, target))
    return nn.Sequential(*(conv_norm(channels, activation=nn.ReLU(), rank=rank) for channels in (first, second)))
