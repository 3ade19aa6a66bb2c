"""Networks that paint: two generators, super-resolution, segmentation.

| network | input | output | million weights |
| --- | --- | --- | --- |
| dcgan | 100 numbers | 3 x 64 x 64 | 13 |
| groupnorm_decoder | 4 x 16 x 16 | 3 x 128 x 128 | 7 |
| bicubic_sr | 3 x 64 x 64 | 3 x 192 x 192 | 0.07 |
| unet | 3 x 96 x 96 | 2 x 96 x 96 | 31 |
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from torch import nn

from networks.exported import Sketch
from networks.layers import Attention, UNet

if TYPE_CHECKING:
    from torch import Tensor


def dcgan() -> Sketch:
    """The generator of Radford, Metz and Chintala (2016), as wide as theirs."""
    widths = (1024, 512, 256, 128)
    layers: list[nn.Module] = [nn.ConvTranspose2d(100, widths[0], 4, bias=False)]
    for source, target in pairwise(widths):
        layers += [nn.BatchNorm2d(source), nn.ReLU(), nn.ConvTranspose2d(source, target, 4, 2, 1, bias=False)]
    layers += [nn.BatchNorm2d(widths[-1]), nn.ReLU(), nn.ConvTranspose2d(widths[-1], 3, 4, 2, 1), nn.Tanh()]
    return Sketch(module=nn.Sequential(*layers), inputs={"noise": (1, 100, 1, 1)}, outputs=("picture",))


def groupnorm_decoder() -> Sketch:
    """The decoder of a latent diffusion model (Rombach et al., 2022), half as wide, with two blocks a level."""
    widths = (256, 256, 128, 64)
    layers: list[nn.Module] = [nn.Conv2d(4, widths[0], 3, padding=1)]
    layers += [_Residual(widths[0], widths[0]), _Attended(widths[0]), _Residual(widths[0], widths[0])]
    for source, target in pairwise(widths):
        layers += [_Residual(source, target), _Residual(target, target)]
        layers += [nn.Upsample(scale_factor=2, mode="nearest"), nn.Conv2d(target, target, 3, padding=1)]
    layers += [_norm(widths[-1]), nn.SiLU(), nn.Conv2d(widths[-1], 3, 3, padding=1)]
    return Sketch(module=nn.Sequential(*layers), inputs={"latent": (1, 4, 16, 16)}, outputs=("picture",))


def _norm(width: int) -> nn.Module:
    return nn.GroupNorm(32, width)


class _Residual(nn.Module):
    def __init__(self, source: int, target: int) -> None:
        super().__init__()
        self.branch = nn.Sequential(
            _norm(source),
            nn.SiLU(),
            nn.Conv2d(source, target, 3, padding=1),
            _norm(target),
            nn.SiLU(),
            nn.Conv2d(target, target, 3, padding=1),
        )
        self.around = nn.Identity() if source == target else nn.Conv2d(source, target, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.around(x) + self.branch(x)


class _Attended(nn.Module):
    """Attention of one head over the places of a picture."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.attention = _norm(width), Attention(width, heads=1)

    def forward(self, x: Tensor) -> Tensor:
        places = self.attention(self.norm(x).flatten(2).transpose(1, 2))
        return x + places.transpose(1, 2).unflatten(2, x.shape[2:])


def bicubic_sr() -> Sketch:
    """SRCNN (Dong et al., 2016), kernels of 9, 5 and 5, behind bicubic magnification."""
    module = nn.Sequential(
        nn.Upsample(scale_factor=3, mode="bicubic"),
        nn.Conv2d(3, 64, 9, padding=4),
        nn.ReLU(),
        nn.Conv2d(64, 32, 5, padding=2),
        nn.ReLU(),
        nn.Conv2d(32, 3, 5, padding=2),
    )
    return Sketch(module=module, inputs={"small": (1, 3, 64, 64)}, outputs=("large",))


def unet() -> Sketch:
    """U-Net (Ronneberger et al., 2015), with batch norm and borders that keep the size."""
    module = UNet((64, 128, 256, 512, 1024), sources=3, classes=2)
    return Sketch(module=module, inputs={"picture": (1, 3, 96, 96)}, outputs=("scores",))
