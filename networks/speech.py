"""LipNet (Assael et al., 2016), which reads lips: 75 pictures of 3 x 50 x 100, 28 signs, 5 million weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from networks.exported import Sketch

if TYPE_CHECKING:
    from torch import Tensor

_HIDDEN, _SIGNS = 256, 28


def lipnet() -> Sketch:
    """Convolutions over time and place, then two recurrent layers in both directions."""
    return Sketch(module=_LipNet(), inputs={"lips": (1, 3, 75, 50, 100)}, outputs=("signs",))


class _LipNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen = nn.Sequential(
            *_layers(3, 32, (3, 5, 5), (1, 2, 2)), *_layers(32, 64, (3, 5, 5)), *_layers(64, 96, (3, 3, 3))
        )
        self.told = nn.GRU(96 * 3 * 6, _HIDDEN, 2, bidirectional=True)
        self.signs = nn.Linear(2 * _HIDDEN, _SIGNS)

    def forward(self, x: Tensor) -> Tensor:
        """A row of signs a picture."""
        steps = self.seen(x).permute(2, 0, 1, 3, 4).flatten(2)
        return self.signs(self.told(steps)[0])


def _layers(
    source: int, target: int, kernel: tuple[int, int, int], stride: int | tuple[int, int, int] = 1
) -> list[nn.Module]:
    time, height, width = (side // 2 for side in kernel)
    conv = nn.Conv3d(source, target, kernel, stride, (time, height, width))
    return [conv, nn.ReLU(), nn.MaxPool3d((1, 2, 2), (1, 2, 2))]
