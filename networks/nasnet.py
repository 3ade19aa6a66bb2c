"""NASNet-A, mobile size (Zoph et al., 2018): the cells that a search found, 5 million weights, on 3 x 224 x 224."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import nn

from networks.exported import Sketch

if TYPE_CHECKING:
    from torch import Tensor

_Op = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recipe:
    """A cell as its paper draws it: each step adds an op on one earlier state to an op on another.

    State 0 is the cell before, 1 the one before that, 2 and on the steps. `joined` are concatenated.
    """

    stride: int
    steps: tuple[tuple[_Op, _Op], ...]
    joined: tuple[int, ...]


_NORMAL = _Recipe(
    stride=1,
    steps=(
        (("separable 5", 0), ("separable 3", 1)),
        (("separable 5", 1), ("separable 3", 1)),
        (("average", 0), ("same", 1)),
        (("average", 1), ("average", 1)),
        (("separable 3", 0), ("same", 0)),
    ),
    joined=(1, 2, 3, 4, 5, 6),
)
_REDUCTION = _Recipe(
    stride=2,
    steps=(
        (("separable 5", 0), ("separable 7", 1)),
        (("maximum", 0), ("separable 7", 1)),
        (("average", 0), ("separable 5", 1)),
        (("same", 3), ("average", 2)),
        (("separable 3", 2), ("maximum", 0)),
    ),
    joined=(3, 4, 5, 6),
)


def nasnet_a() -> Sketch:
    """Two reductions, then three times four normal cells with a reduction between."""
    return Sketch(module=_NasNet(width=44, classes=1000), inputs={"picture": (1, 3, 224, 224)}, outputs=("scores",))


def _separable(width: int, kernel: int, stride: int) -> nn.Module:
    """Relu, depthwise, 1 x 1 and norm, twice; the first has the stride."""
    layers: list[nn.Module] = []
    for step in (stride, 1):
        layers += [
            nn.ReLU(),
            nn.Conv2d(width, width, kernel, step, kernel // 2, groups=width, bias=False),
            nn.Conv2d(width, width, 1, bias=False),
            nn.BatchNorm2d(width),
        ]
    return nn.Sequential(*layers)


def _op(name: str, width: int, stride: int) -> nn.Module:
    match name.split():
        case ["separable", kernel]:
            return _separable(width, int(kernel), stride)
        case ["average"]:
            return nn.AvgPool2d(3, stride, 1, count_include_pad=False)
        case ["maximum"]:
            return nn.MaxPool2d(3, stride, 1)
        case ["same"]:
            return nn.Identity()
    raise ValueError(f"no op {name!r} is in a cell")


class _Halved(nn.Module):
    """Half the size by two paths, one of them a pixel further on, so that none is lost."""

    def __init__(self, source: int, width: int) -> None:
        super().__init__()
        self.relu, self.shift, self.pool = nn.ReLU(), nn.ZeroPad2d((-1, 1, -1, 1)), nn.AvgPool2d(1, 2)
        self.here, self.further = (nn.Conv2d(source, width // 2, 1, bias=False) for _ in range(2))
        self.norm = nn.BatchNorm2d(width)

    def forward(self, x: Tensor) -> Tensor:
        x = self.relu(x)
        paths = self.here(self.pool(x)), self.further(self.pool(self.shift(x)))
        return self.norm(torch.cat(paths, 1))


def _fitted(source: int, width: int) -> nn.Module:
    return nn.Sequential(nn.ReLU(), nn.Conv2d(source, width, 1, bias=False), nn.BatchNorm2d(width))


class _Cell(nn.Module):
    """One cell; `is_halved` says that the state before the last is twice the last one's size."""

    def __init__(self, recipe: _Recipe, channels: tuple[int, int], width: int, *, is_halved: bool) -> None:
        super().__init__()
        last, before = channels
        self.recipe, self.channels = recipe, width * len(recipe.joined)
        self.last = _fitted(last, width)
        self.before = (_Halved if is_halved else _fitted)(before, width)
        self.ops = nn.ModuleList(
            _op(op, width, recipe.stride if state < 2 else 1) for step in recipe.steps for op, state in step
        )

    def forward(self, last: Tensor, before: Tensor) -> Tensor:
        states = [self.last(last), self.before(before)]
        ops = iter(self.ops)
        for (_, one), (_, other) in self.recipe.steps:
            states.append(next(ops)(states[one]) + next(ops)(states[other]))
        return torch.cat([states[place] for place in self.recipe.joined], 1)


class _NasNet(nn.Module):
    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        stem = 32
        self.stem = nn.Sequential(nn.Conv2d(3, stem, 3, 2, bias=False), nn.BatchNorm2d(stem))
        plan = [(_REDUCTION, width // 4), (_REDUCTION, width // 2), *[(_NORMAL, width)] * 4]
        plan += [(_REDUCTION, 2 * width), *[(_NORMAL, 2 * width)] * 4]
        plan += [(_REDUCTION, 4 * width), *[(_NORMAL, 4 * width)] * 4]
        channels, was_reduction, cells = (stem, stem), False, []
        for recipe, cell_width in plan:
            cells.append(_Cell(recipe, channels, cell_width, is_halved=was_reduction))
            channels, was_reduction = (cells[-1].channels, channels[0]), recipe is _REDUCTION
        self.cells = nn.ModuleList(cells)
        self.scores = nn.Sequential(nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels[0], classes))

    def forward(self, picture: Tensor) -> Tensor:
        last = before = self.stem(picture)
        for cell in self.cells:
            last, before = cell(last, before), last
        return self.scores(last)
