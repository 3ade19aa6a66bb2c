"""Dimensions that may vary from call to call: ranges of sizes, and the buckets of sizes that share a plan."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise, product

from intarsia.errors import ConfigError
from intarsia.numbers import shown

_STEP = 4
"""The default buckets end at the highest size, at a quarter of it, and so on down."""
_MOST = {1: 4, 2: 3}
"""Default buckets of one range, by the number of ranges; 2 where there are more."""
_LIMIT = 16
"""Buckets of a model: each is searched by itself."""
_TEXT = re.compile(r"(?P<low>[0-9]{1,18})\.\.(?P<high>[0-9]{1,18})(?:/(?P<edges>[0-9]{1,18}(?:,[0-9]{1,18})*))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeRange:
    """What sizes a dimension may have, and which of them share a plan.

    Attributes:
        edges: The largest size of each bucket, ascending; empty for the default: the highest size, a quarter of it,
            and so on, at most four.

    Example:
        >>> [str(bucket) for bucket in SizeRange.parse("1..512/32,128").buckets()]
        ['1..32', '33..128', '129..512']

    Raises:
        ConfigError: The sizes are out of order.
    """

    low: int
    high: int
    edges: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= self.low <= self.high:
            raise ConfigError(f"the range {self} is empty: write the least size, from 1 on, and then the largest")
        inside = [edge for edge in self.edges if self.low <= edge <= self.high]
        if len(inside) < len(self.edges) or any(a >= b for a, b in pairwise(self.edges)):
            raise ConfigError(f"the buckets of {self} are out of order: write ascending sizes inside of the range")

    @classmethod
    def parse(cls, text: str) -> SizeRange:
        """A range from ``LOW..HIGH`` or ``LOW..HIGH/EDGE,EDGE``; a `ConfigError` where it is neither."""
        found = _TEXT.fullmatch(text)
        if found is None:
            raise ConfigError(
                f"{shown(text)} is no range of sizes; write one as 1..512, or with buckets as 1..512/32,128"
            )
        edges = tuple(map(int, found["edges"].split(","))) if found["edges"] else ()
        return cls(low=int(found["low"]), high=int(found["high"]), edges=edges)

    @property
    def middle(self) -> int:
        """The size at which a bucket is measured: where its mean is, if all its sizes come equally often."""
        return (self.low + self.high) // 2

    def buckets(self, most: int = _MOST[1]) -> tuple[SizeRange, ...]:
        """The ranges of sizes that share a plan, ascending; ``most`` by default, as many as are stated otherwise."""
        ends = [*self.edges, self.high] if self.edges else _default_ends(self, most)
        starts = [self.low, *(end + 1 for end in ends)]
        return tuple(SizeRange(low=a, high=b) for a, b in zip(starts, ends, strict=False) if a <= b)

    def __contains__(self, size: int) -> bool:
        return self.low <= size <= self.high

    def __str__(self) -> str:
        return f"{self.low}..{self.high}" + ("/" + ",".join(map(str, self.edges)) if self.edges else "")


Ranges = Mapping[str, SizeRange]
"""The range of each open dimension, by the dimension's name."""
Dims = tuple[int | str, ...]
"""A shape with the names of open dimensions in it."""


def shape_at(dims: Dims, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """A shape with these sizes for its open dimensions."""
    return tuple(sizes[dim] if isinstance(dim, str) else dim for dim in dims)


def all_buckets(ranges: Ranges) -> tuple[Ranges, ...]:
    """One bucket of each range, in every combination, smallest sizes first; a `ConfigError` if these are too many."""
    most = _MOST.get(len(ranges), 2)
    each = [range_.buckets(most) for range_ in ranges.values()]
    found = tuple(dict(zip(ranges, chosen, strict=True)) for chosen in product(*each))
    if len(found) > _LIMIT:
        stated = ", ".join(f"{name}={range_}" for name, range_ in ranges.items())
        raise ConfigError(
            f"{stated} makes {len(found)} buckets of sizes, and each is searched by itself: state fewer edges, "
            f"for at most {_LIMIT}, such as {next(iter(ranges))}=LOW..HIGH/HIGH for one bucket"
        )
    return found


def _default_ends(range_: SizeRange, most: int) -> list[int]:
    def descending() -> Iterator[int]:
        end = range_.high
        while end >= range_.low:
            yield end
            end //= _STEP

    return sorted(end for end, _ in zip(descending(), range(most), strict=False))
