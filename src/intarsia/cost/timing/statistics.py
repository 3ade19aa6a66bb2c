"""Medians and their intervals. Distribution-free, since latencies are skewed and have outliers."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

Z95 = 1.96


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A median, or another percentile, with its 95 % confidence interval, in the unit of the samples."""

    median: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the interval, relative to the median."""
        return (self.high - self.low) / 2 / self.median if self.median else 0.0


def median(samples: Sequence[float]) -> float:
    """The middle sample, or the mean of the middle two."""
    ordered = sorted(samples)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def median_interval(samples: Sequence[float]) -> Interval:
    """Median and 95 % interval by order statistics: the ranks n/2 ± 1.96·√n/2 (Conover, 1999, section 3.2)."""
    low, high = _ends(samples, 0.5)
    return Interval(median=median(samples), low=low, high=high)


def percentile_interval(samples: Sequence[float], share: float) -> Interval:
    """A percentile with its 95 % interval in the same way; the most that was seen bounds it from above."""
    low, high = _ends(samples, share)
    return Interval(median=percentile(samples, share), low=low, high=high)


def paired_ratios(over: Sequence[float], under: Sequence[float]) -> list[float]:
    """The ratio of two contenders' times in each round that both ran; one that left ran the first rounds alone."""
    return [a / b for a, b in zip(over, under, strict=False)]


def set_medians(figures: Sequence[float], sizes: Sequence[int]) -> tuple[float, ...]:
    """The median of each set of rounds that the figures reach, where the sets have these sizes."""
    sets = (figures[start:end] for start, end in pairwise((0, *accumulate(sizes))))
    return tuple(median(each) for each in sets if each)


def _ends(samples: Sequence[float], share: float) -> tuple[float, float]:
    """The samples at the ranks n·p ± 1.96·√(n·p·(1-p))."""
    ordered = sorted(samples)
    count = len(ordered)
    if count == 0:
        raise ValueError("no samples")
    reach = Z95 * math.sqrt(count * share * (1.0 - share))
    low = max(0, math.floor(count * share - reach) - 1)
    high = min(count - 1, math.ceil(count * share + reach))
    return ordered[low], ordered[high]


def hull(interval: Interval, values: Sequence[float]) -> Interval:
    """The interval, as wide as it takes to hold these values too."""
    return replace(interval, low=min(interval.low, *values), high=max(interval.high, *values))


def percentile(samples: Collection[float], share: float) -> float:
    """The sample below which ``share`` of all lie, by nearest rank."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1 if share else 0)]


def halves_agree(samples: Sequence[float], tolerance: float) -> bool:
    """The control of one window: its first half against its second, which time the same thing."""
    half = len(samples) // 2
    if half < 2:
        return True
    first, second = median(samples[:half]), median(samples[half:])
    return abs(first / second - 1) <= tolerance if second else True
