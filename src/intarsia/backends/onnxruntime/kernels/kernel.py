"""What a kernel is to those who put it in the place of a convolution: its operator, and which convolutions it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from intarsia.backends.onnxruntime.kernels.convolution import Convolution

Obstacles = Iterator[str | None]
HOST = "host"
"""What stands for ONNX Runtime's own kernel where a kernel is asked for."""
OURS = "ours"
"""What stands for a kernel that is not the usual one."""
WHOLE_BITS = 32
"""Of the numbers that a kernel multiplies where these are floats."""
_TILE = "tile-"
_MOST_POINTS = 8
"""Values of a tile along each side, which results and taps share: with more, rounding would show."""
_WEIGHT = 25
"""Tiles in whose time a transformed weight is read."""
LEAST_BLOCKS = 3
"""Of channels in each of several groups: with one or two the transforms take what the products save."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """An operator of the native library.

    Attributes:
        operator: Its name in the domain `intarsia`.
        filters: Which convolutions it computes, in words that stand behind "convolution".
        obstacles: For each thing that it needs of a convolution in blocks of so many channels, one after the other,
            what the convolution has instead; ``None`` if nothing is in the way. The first one tells kinds of
            convolutions apart, and may be empty.
        tiles: The sizes of tiles in which it can compute, where it has several: it chooses by shape, unless it is told.
        taps: Of its filters, along each side of a tile.
        packs: How many dimensions the values have that are put in blocks for it, where ONNX Runtime has no kernel on
            blocks for what it takes; else 0.
        reads_plain: Whether it reads an image that is not in blocks.
        is_transposed: Whether it takes transposed convolutions.
        is_usual: Whether it computes what it takes if nobody asks for another kernel; else it has to be asked for.
        has_short: Whether it can multiply numbers of 16 bits; then it is the usual one where that is asked for.
        only_short: Whether nothing else of it is worth having.
    """

    operator: str
    filters: str
    obstacles: Callable[[Convolution, int], Obstacles]
    tiles: tuple[int, ...] = ()
    taps: int = 0
    packs: int = 0
    reads_plain: bool = False
    is_transposed: bool = False
    is_usual: bool = True
    has_short: bool = False
    only_short: bool = False

    @property
    def ways(self) -> tuple[str, ...]:
        """What may be asked for in place of what is usual, as `tile_of` reads it."""
        return tuple(f"{_TILE}{size}" for size in self.tiles) if self.is_usual else (OURS,)

    def alternatives(self, sizes: Sequence[int] | None) -> tuple[str, ...]:
        """Of `ways` those that are worth measuring beside the usual one: of tiles that which it would choose second.

        Args:
            sizes: Of its result, without channels, height and width last; ``None`` where they are not known.
        """
        if sizes is None or len(self.tiles) < 2:
            return self.ways
        return (f"{_TILE}{sorted(self.tiles, key=lambda tile: self._cost(tile, sizes))[1]}",)

    def _cost(self, tile: int, sizes: Sequence[int]) -> int:
        """What `cost` in native/kernels/winograd/winograd.h says of tiles of a size."""
        tiles = prod(sizes[:-2]) * prod(-(-size // tile) for size in sizes[-2:])
        return (tile + self.taps - 1) ** 2 * (tiles + _WEIGHT)

    def takes(self, convolution: Convolution, block: int) -> bool:
        """Whether it computes this convolution in blocks of so many channels."""
        return all(each is None for each in self.obstacles(convolution, block))


def tile_of(way: str) -> int:
    """The size of tiles that a way asks for; 0 where it leaves that to the kernel."""
    return int(way.removeprefix(_TILE)) if way.startswith(_TILE) else 0


def winograd(operator: str, taps: tuple[int | None, ...]) -> Kernel:
    """A kernel for filters of one size that are put at every place, and whose channels fill whole blocks.

    Args:
        operator: Its name.
        taps: Of the filter, along each dimension; ``None`` for any number.
    """
    size = "x".join("n" if each is None else str(each) for each in taps)
    side = taps[-1] or 0
    ours = f"its {size} stride-1 convolutions"

    def fits(own: tuple[int, ...]) -> bool:
        return len(own) == len(taps) and all(b in {a, None} for a, b in zip(own, taps, strict=True))

    def obstacles(convolution: Convolution, block: int) -> Obstacles:
        yield None if fits(convolution.taps) and convolution.is_dense else ""
        yield None if convolution.pads is not None else f"the padding of {ours} is unknown"
        channels, groups = convolution.channels, convolution.groups
        between = " to ".join(map(str, channels))
        unblocked = f"the channels of {ours}, {between}{f' in each of {groups} groups' if groups > 1 else ''},"
        yield None if all(count % block == 0 for count in channels) else f"{unblocked} are no multiples of {block}"
        gains = groups == 1 or min(channels) >= LEAST_BLOCKS * block
        yield None if gains else f"{unblocked} are so few that a direct convolution is as fast"

    return Kernel(
        operator=operator,
        filters=f"of {size}",
        obstacles=obstacles,
        tiles=tuple(range(2, _MOST_POINTS - side + 2, 2)),
        taps=side,
        packs=5 if len(taps) > 2 else 0,
        has_short=True,
    )
