"""What came of a duel: the rounds of each contender, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from intarsia.cost.footprint import Footprint, Tail
from intarsia.cost.statistics import Interval, hull, median, median_interval

CONTROL = 0.02
"""How far the median of the first contender's ratio to itself may be off."""
CONTROL_NAME = "control"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came of a duel.

    Attributes:
        rounds_ms: For each contender that stayed, and for the control, one median a round at full speed, over all sets.
        set_sizes: How many of the rounds each set of processes made.
        profile_ms: For each contender, the milliseconds of its steps.
        transfers_ms: For each contender, the milliseconds of the transfers that are not inside an engine's call.
        errors: For each contender, its largest error against the reference.
        failed: Contenders that did not make it, with stage and reason.
        is_void: Whether the control stayed out.
        left_ms: As ``rounds_ms``, for each contender that left because the first one beat it; of fewer rounds.
        tails: For each contender that raced, its slowest calls.
        footprints: For each contender that was loaded, what its processes started with and hold.
        compile_s: For each contender, the seconds that its engines took to compile it.
    """

    rounds_ms: Mapping[str, tuple[float, ...]]
    set_sizes: tuple[int, ...]
    profile_ms: Mapping[str, tuple[float, ...]]
    errors: Mapping[str, float | None]
    failed: Mapping[str, tuple[str, str]]
    is_void: bool
    transfers_ms: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    left_ms: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    tails: Mapping[str, Tail] = field(default_factory=dict)
    footprints: Mapping[str, Footprint] = field(default_factory=dict)
    compile_s: Mapping[str, float] = field(default_factory=dict)

    def speedup(self, name: str, baseline: str) -> Interval:
        """Median over the rounds of the baseline's time divided by this one's, with its 95 % interval."""
        return median_interval(self._ratios(name, baseline))

    def expected_ms(self, name: str) -> float:
        """Mean over the sets of their medians: what a process may expect that does not know its luck with memory.

        Of one that left, so many times what the first may expect as it took longer while it raced.
        """
        if name in self.left_ms:
            first = next(iter(self.rounds_ms))
            return self.expected_ms(first) / self.speedup(name, first).median
        medians = self._set_medians(self.rounds_ms[name])
        return sum(medians) / len(medians)

    def latency(self, name: str) -> Interval:
        """Milliseconds a call: the 95 % interval of the rounds' median, widened to hold that of each set.

        Of one that left, by how much longer it took than the first while it raced.
        """
        if name in self.left_ms:
            first = next(iter(self.rounds_ms))
            ms, gain = self.expected_ms(first), self.speedup(name, first)
            return Interval(median=ms / gain.median, low=ms / gain.high, high=ms / gain.low)
        times = self.rounds_ms[name]
        return hull(median_interval(times), self._set_medians(times))

    @property
    def raced(self) -> frozenset[str]:
        """All that ran side by side, to the end or until they were beaten."""
        return frozenset((*self.rounds_ms, *self.left_ms)) - {CONTROL_NAME}

    def wins_everywhere(self, name: str, baseline: str) -> bool:
        """Whether it is faster by median in each set of processes: one set's luck with memory is no win.

        Of four sets or five it may lose one: a neighbour may meet one plan more than another.
        """
        ratios = self._set_medians(self._ratios(name, baseline))
        return sum(ratio <= 1.0 for ratio in ratios) <= len(ratios) // 4

    @property
    def is_in_doubt(self) -> bool:
        """Whether something seems faster than the first, but was not shown to be: more sets may show it."""
        first = next(iter(self.rounds_ms))
        return not all(
            self.speedup(name, first).low > 1.0 and self.wins_everywhere(name, first) for name in self.leaders
        )

    @property
    def leaders(self) -> tuple[str, ...]:
        """Who seems faster than the first: by more than the control may be out, or beyond the noise of its rounds."""
        first, *others = (name for name in self.rounds_ms if name != CONTROL_NAME)
        gains = {name: self.speedup(name, first) for name in others}
        return tuple(name for name, gain in gains.items() if gain.median > 1.0 + CONTROL or gain.low > 1.0)

    def is_faster(self, name: str, baseline: str) -> bool:
        """Whether one was shown to be faster than the other: beyond the noise, and in each set of processes.

        In a duel that is void because the control is out, beyond twice what it is out by too.
        """
        noise = 0.0
        if self.is_void:
            if self.control_holds:  # it is void for another reason: it did not come to its end
                return False
            noise = abs(self.control - 1.0)
        return self.speedup(name, baseline).low > 1.0 + 2 * noise and self.wins_everywhere(name, baseline)

    def was_beaten(self, name: str, first: str) -> bool:
        """Whether the first contender was shown to be faster than this one; one that left was."""
        return name in self.left_ms or self.is_faster(first, name)

    @property
    def control(self) -> float:
        """Median ratio of the first contender to itself."""
        return self.speedup(CONTROL_NAME, next(iter(self.rounds_ms))).median

    @property
    def control_holds(self) -> bool:
        """Whether that ratio is within ±2 % of 1."""
        return abs(self.control - 1.0) <= CONTROL

    def _set_medians(self, figures: Sequence[float]) -> list[float]:
        ends = accumulate(self.set_sizes)
        return [median(figures[end - size : end]) for size, end in zip(self.set_sizes, ends, strict=True)]

    def _ratios(self, name: str, baseline: str) -> list[float]:
        rounds = {**self.rounds_ms, **self.left_ms}
        is_strict = not self.left_ms.keys() & {name, baseline}
        return [theirs / mine for theirs, mine in zip(rounds[baseline], rounds[name], strict=is_strict)]
