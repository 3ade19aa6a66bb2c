"""Residual networks: He et al. (2016), Xie et al. (2017), and Hara et al. (2018) for volumes.

| network | input | million weights |
| --- | --- | --- |
| resnet18 | 3 x 224 x 224 | 12 |
| resnext50 (32 x 4d) | 3 x 224 x 224 | 25 |
| resnet50_3d | 3 x 16 x 112 x 112 | 48 |
| pose | 3 x 256 x 192 | 15 |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from networks.exported import Sketch
from networks.layers import conv_norm

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

_CLASSES = 1000


def resnet18() -> Sketch:
    """Two basic blocks a stage."""
    return _picture(_network(_basic, (2, 2, 2, 2), expansion=1))


def resnext50() -> Sketch:
    """Bottlenecks whose middle convolution is in 32 groups, twice as wide as ResNet-50's."""
    return _picture(_network(lambda *where: _bottleneck(*where, groups=32), (3, 4, 6, 3)))


def resnet50_3d() -> Sketch:
    """ResNet-50 with every kernel a cube; the first convolution keeps the frames, the pooling behind it halves them."""
    stem = nn.Sequential(
        nn.Conv3d(3, 64, 7, (1, 2, 2), 3, bias=False), nn.BatchNorm3d(64), nn.ReLU(), nn.MaxPool3d(3, 2, 1)
    )
    module = _network(lambda *where: _bottleneck(*where, rank=3), (3, 4, 6, 3), stem=stem, rank=3)
    return Sketch(module=module, inputs={"clip": (1, 3, 16, 112, 112)}, outputs=("scores",))


def pose() -> Sketch:
    """The simple baseline of Xiao, Wu and Wei (2018): ResNet-18, three transposed convolutions, a map a joint."""
    joints, width = 17, 256
    layers: list[nn.Module] = [resnet18_stages()]
    for source in (512, width, width):
        layers += [nn.ConvTranspose2d(source, width, 4, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
    module = nn.Sequential(*layers, nn.Conv2d(width, joints, 1))
    return Sketch(module=module, inputs={"person": (1, 3, 256, 192)}, outputs=("maps",))


def resnet18_stages() -> nn.Sequential:
    """Its stem, of convolution and pooling, and its eight blocks."""
    return _stages(_basic, (2, 2, 2, 2), expansion=1)


def _picture(module: nn.Module) -> Sketch:
    return Sketch(module=module, inputs={"picture": (1, 3, 224, 224)}, outputs=("scores",))


class _Shortcut(nn.Module):
    """A branch and a way around it, projected where the shape changes."""

    def __init__(self, branch: nn.Module, around: nn.Module) -> None:
        super().__init__()
        self.branch, self.around, self.relu = branch, around, nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.relu(self.branch(x) + self.around(x))


def _basic(source: int, width: int, stride: int) -> nn.Module:
    branch = (conv_norm((source, width), 3, stride, activation=nn.ReLU()), conv_norm((width, width)))
    return _around(nn.Sequential(*branch), (source, width), stride)


def _bottleneck(source: int, width: int, stride: int, *, groups: int = 1, rank: int = 2) -> nn.Module:
    inner = width * 2 if groups > 1 else width
    branch = nn.Sequential(
        conv_norm((source, inner), 1, activation=nn.ReLU(), rank=rank),
        conv_norm((inner, inner), 3, stride, groups=groups, activation=nn.ReLU(), rank=rank),
        conv_norm((inner, 4 * width), 1, rank=rank),
    )
    return _around(branch, (source, 4 * width), stride, rank)


def _around(branch: nn.Module, channels: tuple[int, int], stride: int, rank: int = 2) -> nn.Module:
    same = stride == 1 and channels[0] == channels[1]
    return _Shortcut(branch, nn.Identity() if same else conv_norm(channels, 1, stride, rank=rank))


def _network(
    block: Callable[[int, int, int], nn.Module],
    depths: tuple[int, ...],
    *,
    expansion: int = 4,
    stem: nn.Module | None = None,
    rank: int = 2,
) -> nn.Module:
    """Stages, mean, classes."""
    stages = _stages(block, depths, expansion=expansion, stem=stem)
    mean = nn.AdaptiveAvgPool2d(1) if rank == 2 else nn.AdaptiveAvgPool3d(1)
    return nn.Sequential(*stages, mean, nn.Flatten(), nn.Linear(512 * expansion, _CLASSES))


def _stages(
    block: Callable[[int, int, int], nn.Module],
    depths: tuple[int, ...],
    *,
    expansion: int,
    stem: nn.Module | None = None,
) -> nn.Sequential:
    """Stem, then four stages of `depths` blocks that halve the size from the second on."""
    source, layers = 64, [stem or nn.Sequential(conv_norm((3, 64), 7, 2, activation=nn.ReLU()), nn.MaxPool2d(3, 2, 1))]
    for width, depth in zip((64, 128, 256, 512), depths, strict=True):
        for place in range(depth):
            layers.append(block(source, width, 2 if place == 0 and width > 64 else 1))
            source = expansion * width
    return nn.Sequential(*layers)
