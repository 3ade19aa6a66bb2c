"""Networks of inverted residuals: Sandler et al. (2018) and Tan and Le (2019).

| network | input | million weights |
| --- | --- | --- |
| mobilenet_v2 | 3 x 224 x 224 | 3.5 |
| efficientnet_b0 | 3 x 224 x 224 | 5.3 |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import nn

from networks.exported import Sketch
from networks.layers import conv_norm

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class _Stage:
    """Rows of the papers' tables: blocks of one width, of which the first has the stride."""

    expansion: int
    width: int
    depth: int
    stride: int
    kernel: int = 3


_MOBILENET = (
    _Stage(1, 16, 1, 1),
    _Stage(6, 24, 2, 2),
    _Stage(6, 32, 3, 2),
    _Stage(6, 64, 4, 2),
    _Stage(6, 96, 3, 1),
    _Stage(6, 160, 3, 2),
    _Stage(6, 320, 1, 1),
)
_EFFICIENTNET = (
    _Stage(1, 16, 1, 1),
    _Stage(6, 24, 2, 2),
    _Stage(6, 40, 2, 2, 5),
    _Stage(6, 80, 3, 2),
    _Stage(6, 112, 3, 1, 5),
    _Stage(6, 192, 4, 2, 5),
    _Stage(6, 320, 1, 1),
)


def mobilenet_v2() -> Sketch:
    """Depthwise 3 x 3 convolutions between 1 x 1, with Relu6."""
    return _network(_MOBILENET, nn.ReLU6(), squeezes=False)


def efficientnet_b0() -> Sketch:
    """The same with kernels of 5 too, SiLU, and a squeeze and excitation in each block."""
    return _network(_EFFICIENTNET, nn.SiLU(), squeezes=True)


class _Excitation(nn.Module):
    """Scales each channel by what the means of all say (Hu et al., 2018)."""

    def __init__(self, width: int, squeezed: int, activation: nn.Module) -> None:
        super().__init__()
        self.scale = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(width, squeezed, 1),
            activation,
            nn.Conv2d(squeezed, width, 1),
            nn.Sigmoid(),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale(x)


class _Inverted(nn.Module):
    """Widened by 1 x 1, filtered per channel, narrowed by 1 x 1 without activation."""

    def __init__(self, source: int, stage: _Stage, stride: int, activation: nn.Module, *, squeezes: bool) -> None:
        super().__init__()
        wide = source * stage.expansion
        layers = [conv_norm((source, wide), 1, activation=activation)] if stage.expansion > 1 else []
        layers += [conv_norm((wide, wide), stage.kernel, stride, groups=wide, activation=activation)]
        layers += [_Excitation(wide, source // 4, activation)] if squeezes else []
        self.branch = nn.Sequential(*layers, conv_norm((wide, stage.width), 1))
        self.is_residual = stride == 1 and source == stage.width

    def forward(self, x: Tensor) -> Tensor:
        return x + self.branch(x) if self.is_residual else self.branch(x)


def _network(stages: tuple[_Stage, ...], activation: nn.Module, *, squeezes: bool) -> Sketch:
    width, head = 32, 1280
    layers: list[nn.Module] = [conv_norm((3, width), 3, 2, activation=activation)]
    for stage in stages:
        for place in range(stage.depth):
            stride = stage.stride if place == 0 else 1
            layers.append(_Inverted(width, stage, stride, activation, squeezes=squeezes))
            width = stage.width
    layers += [conv_norm((width, head), 1, activation=activation), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    module = nn.Sequential(*layers, nn.Linear(head, 1000))
    return Sketch(module=module, inputs={"picture": (1, 3, 224, 224)}, outputs=("scores",))
