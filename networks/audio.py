"""Speech: two encoders and a vocoder.

| network | input | million weights |
| --- | --- | --- |
| whisper_tiny_encoder | 80 mel bands x 1000 frames (10 s) | 8 |
| conformer | 200 frames x 256, 8 blocks | 12 |
| vocoder | 80 mel bands x 32 frames (0.37 s) | 0.9 |
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import transformers
from torch import nn
from torch.nn import functional

from networks.exported import Answer, Sketch
from networks.layers import Attention

if TYPE_CHECKING:
    from torch import Tensor


def whisper_tiny_encoder() -> Sketch:
    """Whisper's smallest encoder (Radford et al., 2023), for a window of 10 s rather than 30."""
    frames = 1000
    config = transformers.WhisperConfig(
        d_model=384,
        encoder_layers=4,
        encoder_attention_heads=6,
        encoder_ffn_dim=1536,
        max_source_positions=frames // 2,
        attn_implementation="eager",
    )
    encoder = transformers.WhisperModel(config).encoder
    return Sketch(module=Answer(encoder, "last_hidden_state"), inputs={"mel": (1, 80, frames)}, outputs=("vectors",))


def conformer() -> Sketch:
    """A stack of Conformer blocks (Gulati et al., 2020), medium size; places are not told apart by the attention."""
    width = 256
    blocks = (_ConformerBlock(width, heads=4, kernel=31) for _ in range(8))
    return Sketch(module=nn.Sequential(*blocks), inputs={"frames": (1, 200, width)}, outputs=("vectors",))


class _ConformerBlock(nn.Module):
    """Half a perceptron, attention, convolution, the other half."""

    def __init__(self, width: int, heads: int, kernel: int) -> None:
        super().__init__()
        self.before, self.after = (
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width))
            for _ in range(2)
        )
        self.attention = nn.Sequential(nn.LayerNorm(width), Attention(width, heads))
        self.norm = nn.LayerNorm(width)
        self.convolution = nn.Sequential(
            nn.Conv1d(width, 2 * width, 1),
            nn.GLU(dim=1),
            nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=width),
            nn.BatchNorm1d(width),
            nn.SiLU(),
            nn.Conv1d(width, width, 1),
        )
        self.last = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.before(x) / 2
        x = x + self.attention(x)
        x = x + self.convolution(self.norm(x).transpose(1, 2)).transpose(1, 2)
        return self.last(x + self.after(x) / 2)


_SLOPE = 0.1


def vocoder() -> Sketch:
    """HiFi-GAN's generator V2 (Kong et al., 2020): mel bands in, 256 samples for each frame out."""
    widths = (128, 64, 32, 16, 8)
    layers: list[nn.Module] = [nn.Conv1d(80, widths[0], 7, padding=3)]
    for (source, target), rate in zip(pairwise(widths), (8, 8, 2, 2), strict=True):
        layers += [nn.LeakyReLU(_SLOPE), nn.ConvTranspose1d(source, target, 2 * rate, rate, rate // 2), _Fields(target)]
    layers += [nn.LeakyReLU(_SLOPE), nn.Conv1d(widths[-1], 1, 7, padding=3), nn.Tanh()]
    return Sketch(module=nn.Sequential(*layers), inputs={"mel": (1, 80, 32)}, outputs=("wave",))


class _Fields(nn.Module):
    """The mean of three residual stacks that see differently far."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.stacks = nn.ModuleList(
            nn.Sequential(*(_Dilated(width, kernel, dilation) for dilation in (1, 3, 5))) for kernel in (3, 7, 11)
        )

    def forward(self, x: Tensor) -> Tensor:
        first, second, third = (stack(x) for stack in self.stacks)
        return (first + second + third) / 3


class _Dilated(nn.Module):
    def __init__(self, width: int, kernel: int, dilation: int) -> None:
        super().__init__()
        self.wide = nn.Conv1d(width, width, kernel, padding=kernel // 2 * dilation, dilation=dilation)
        self.near = nn.Conv1d(width, width, kernel, padding=kernel // 2)

    def forward(self, x: Tensor) -> Tensor:
        y = self.wide(functional.leaky_relu(x, _SLOPE))
        return x + self.near(functional.leaky_relu(y, _SLOPE))
