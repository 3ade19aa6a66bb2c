"""Networks that restore pictures: large parts of plain convolution, and around them what convolution engines neglect.

| network | input | output | million weights |
| --- | --- | --- | --- |
| edsr | 3 x 48 x 48 | 3 x 192 x 192 | 1.5 |
| srresnet | 3 x 48 x 48 | 3 x 192 x 192 | 1.5 |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from networks.exported import Sketch

if TYPE_CHECKING:
    from torch import Tensor

_WIDTH = 64


def edsr() -> Sketch:
    """The baseline of Lim et al. (2017): sixteen blocks, and magnification by moving channels to places."""
    return Sketch(module=_Enhanced(), inputs={"small": (1, 3, 48, 48)}, outputs=("large",))


def srresnet() -> Sketch:
    """The generator of Ledig et al. (2017) for a factor of 4: first and last kernels of 9, PReLU."""
    return Sketch(module=_SrResNet(), inputs={"small": (1, 3, 48, 48)}, outputs=("large",))


def _conv(source: int, target: int, kernel: int = 3) -> nn.Conv2d:
    return nn.Conv2d(source, target, kernel, padding=kernel // 2)


class _Around(nn.Module):
    """A branch, added to what went in."""

    def __init__(self, *branch: nn.Module) -> None:
        super().__init__()
        self.branch = nn.Sequential(*branch)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.branch(x)


class _Enhanced(nn.Sequential):
    def __init__(self) -> None:
        blocks = [_Around(_conv(_WIDTH, _WIDTH), nn.ReLU(), _conv(_WIDTH, _WIDTH)) for _ in range(16)]
        larger = [layer for _ in range(2) for layer in (_conv(_WIDTH, 4 * _WIDTH), nn.PixelShuffle(2))]
        super().__init__(_conv(3, _WIDTH), _Around(*blocks, _conv(_WIDTH, _WIDTH)), *larger, _conv(_WIDTH, 3))


class _SrResNet(nn.Sequential):
    def __init__(self) -> None:
        def norm() -> nn.Module:
            return nn.BatchNorm2d(_WIDTH)

        blocks = [_Around(_conv(_WIDTH, _WIDTH), norm(), nn.PReLU(), _conv(_WIDTH, _WIDTH), norm()) for _ in range(16)]
        larger = [layer for _ in range(2) for layer in (_conv(_WIDTH, 4 * _WIDTH), nn.PixelShuffle(2), nn.PReLU())]
        first = (_conv(3, _WIDTH, 9), nn.PReLU())
        super().__init__(*first, _Around(*blocks, _conv(_WIDTH, _WIDTH), norm()), *larger, _conv(_WIDTH, 3, 9))
