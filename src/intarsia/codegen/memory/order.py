"""In which order a network's calls need least memory, where branches leave a choice.

All orders are searched at once, as sets of calls that have run: what is alive afterwards does not depend on the order
in which they ran. (Ahn et al., "Ordering Chaos: Memory-Aware Scheduling of Irregularly Wired Neural Networks for Edge
Devices", MLSys 2020.) Where there are too many sets, those that need least so far are followed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from intarsia.codegen.memory.accesses import Access, accesses_of, ahead_of, most_shared
from intarsia.codegen.module import Call, SourceModule

MOST_SETS = 256
"""Sets of equally many calls that are followed."""


@dataclass(frozen=True, slots=True)
class _State:
    """A set of calls that have run: the most bytes at any call, those at all calls, those alive now, and the calls."""

    peak: int
    total: int
    alive: int
    calls: tuple[int, ...]


Chunks = Sequence[tuple[int, int]]
"""Runs of bytes that no access of any call cuts: the size of each, and the set of calls that touch it."""


@dataclass(frozen=True, slots=True)
class _Shared:
    """What a call writes, and what of that may lie over which of its reads: at most so many bytes of each."""

    born: Chunks
    reads: tuple[tuple[int, Chunks], ...]


def in_best_order(module: SourceModule, most_sets: int = MOST_SETS) -> SourceModule:
    """The module with its calls in an order that needs least; in the order that they have, if none needs less.

    What is minimised is the most that is alive at one call, less what may be in place. `arena.plan` comes close to it.
    """
    return next(good_orders(module, most_sets))


def good_orders(module: SourceModule, most_sets: int = MOST_SETS) -> Iterator[SourceModule]:
    """Orders that need equally little at the call that needs most: the best known first, if it is its own, itself.

    The last one has the least sum over all calls besides, since what is free between leaves an arena room.
    """
    costs = _Costs(module)
    own = _State(0, 0, 0, ())
    for number in range(len(module.calls)):
        own = costs.after(own, number, (1 << number) - 1)
    first = _followed(costs, len(module.calls), most_sets, own.peak - 1)
    yield module if first is None else _reordered(module, first)
    best = _followed(costs, len(module.calls), most_sets, (first or own).peak)
    if best is not None and best.calls not in (own.calls, first and first.calls):
        yield _reordered(module, best)


def _reordered(module: SourceModule, state: _State) -> SourceModule:
    return replace(module, calls=tuple(module.calls[number] for number in state.calls))


def _followed(costs: _Costs, count: int, most_sets: int, most: int) -> _State | None:
    """The order of least total among those that need no more than ``most`` at any call, as far as sets are followed."""
    states: dict[int, _State] = {0: _State(0, 0, 0, ())}
    for _ in range(count):
        following: dict[int, _State] = {}
        for done, state in states.items():
            for number in costs.ready(done):
                found = costs.after(state, number, done)
                key = done | 1 << number
                known = following.get(key)
                if found.peak <= most and (known is None or _rank(found) < _rank(known)):
                    following[key] = found
        kept = sorted(following.items(), key=lambda each: _rank(each[1]))
        states = dict(kept[:most_sets])
    return min(states.values(), key=_rank, default=None)


def _rank(state: _State) -> tuple[int, int, tuple[int, ...]]:
    return state.peak, state.total, state.calls


class _Costs:
    """What a call needs behind a set of others."""

    def __init__(self, module: SourceModule) -> None:
        accesses = [tuple(accesses_of(module, call)) for call in module.calls]
        chunks = _chunks(module, accesses)
        self._before = list(_before(accesses))
        self._everything = (1 << len(module.calls)) - 1
        self._scratch = [call.scratch for call in module.calls]
        self._touched = [
            tuple({key: chunk for each in own for key, chunk in _inside(each, chunks)}.values()) for own in accesses
        ]
        self._shared = [tuple(_shared(call, own, chunks)) for call, own in zip(module.calls, accesses, strict=True)]

    def ready(self, done: int) -> Iterator[int]:
        """Calls that may run next."""
        left = self._everything & ~done
        while left:
            number = (left & -left).bit_length() - 1
            left &= left - 1
            if not self._before[number] & ~done:
                yield number

    def after(self, state: _State, number: int, done: int) -> _State:
        """What it is when a call has run too."""
        now = done | 1 << number
        touched = self._touched[number]
        arrived = sum(size for size, users in touched if not users & done)
        gone = sum(size for size, users in touched if not users & ~now)
        needed = state.alive + arrived + self._scratch[number] - self._saved(number, done, now)
        return _State(
            max(state.peak, needed), state.total + needed, state.alive + arrived - gone, (*state.calls, number)
        )

    def _saved(self, number: int, done: int, now: int) -> int:
        total = 0
        for each in self._shared[number]:
            shared = sum(
                min(most, sum(size for size, users in dying if not users & ~now)) for most, dying in each.reads
            )
            total += min(shared, sum(size for size, users in each.born if not users & done))
        return total


_Cut = Mapping[str, Sequence[tuple[int, int, int]]]
"""For each buffer its chunks in the order of addresses: start, stop, and the set of calls that touch it."""


def _chunks(module: SourceModule, accesses: Sequence[Sequence[Access]]) -> _Cut:
    cuts: dict[str, set[int]] = defaultdict(set)
    for access in (each for own in accesses for each in own if each.root in module.buffers):
        cuts[access.root] |= {access.start, access.stop}
    users: dict[tuple[str, int], int] = defaultdict(int)
    for number, own in enumerate(accesses):
        for access in own:
            for start in cuts.get(access.root, ()):
                if access.start <= start < access.stop:
                    users[access.root, start] |= 1 << number
    return {
        root: [(start, stop, users[root, start]) for start, stop in pairwise(sorted(edges)) if (root, start) in users]
        for root, edges in cuts.items()
    }


def _inside(access: Access, chunks: _Cut) -> Iterator[tuple[tuple[str, int], tuple[int, int]]]:
    """The chunks of an access, each by a key of its own."""
    for start, stop, users in chunks.get(access.root, ()):
        if access.holds(start, stop):
            yield (access.root, start), (stop - start, users)


def _shared(call: Call, own: Sequence[Access], chunks: _Cut) -> Iterator[_Shared]:
    for write in (each for each in own if each.is_write):
        reads = []
        for read in dict.fromkeys(each for each in own if not each.is_write):
            ahead = ahead_of(call, write, read)
            if ahead is not None and read.root != write.root:
                most = most_shared(write.stop - write.start, read.stop - read.start, ahead)
                reads.append((most, [chunk for _, chunk in _inside(read, chunks)]))
        if reads:
            yield _Shared([chunk for _, chunk in _inside(write, chunks)], tuple(reads))


def _before(accesses: Sequence[Sequence[Access]]) -> Iterator[int]:
    """For each call the set of those that it must not run ahead of: one of both writes what the other touches."""
    by_root: dict[str, list[tuple[int, Access]]] = defaultdict(list)
    for number, own in enumerate(accesses):
        needed = 0
        for access in own:
            for other, earlier in by_root[access.root]:
                if (access.is_write or earlier.is_write) and access.meets(earlier):
                    needed |= 1 << other
        for access in own:
            by_root[access.root].append((number, access))
        yield needed
