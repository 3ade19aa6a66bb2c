"""The most promising ways to divide a line of nodes among machines, by what each machine takes and what a link takes.

One call goes through the stages one after the other, so its time is the sum of the stages'. A stream keeps all machines
busy, so its time per request is that of the busiest machine. Data go from a machine to the caller and on to the next
machine: a stage on a worker costs a round trip, and its inputs and outputs at the bandwidth of that worker's link.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, permutations
from typing import Final

from intarsia.deploy.cuts import Line

MOST_STAGES: Final = 4
_MOST_IN_A_CHAIN: Final = 5
"""Machines whose orders are all tried; with more, stages of a stream are chains of three."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkCost:
    """What it costs to call a machine. A machine that is this one costs nothing."""

    round_trip_ms: float = 0.0
    ms_per_byte: float = 0.0

    def ms(self, nbytes: int) -> float:
        """Milliseconds that a call with so many bytes, there and back, takes beside the computing."""
        return self.round_trip_ms + nbytes * self.ms_per_byte


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineCost:
    """What one machine takes.

    Attributes:
        node_ms: Milliseconds of each node.
        link: What it costs to call it.
    """

    node_ms: Mapping[str, float]
    link: LinkCost


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run of the line on one machine, from one place to another, by their indices."""

    machine: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """A division into at least two stages.

    Attributes:
        runs: The stages in order.
        predicted_ms: Milliseconds a request.
        link_ms: How much of what a single request takes is spent on links.
    """

    runs: tuple[Run, ...]
    predicted_ms: float
    link_ms: float


class Splits:
    """Looks for divisions of one line among machines."""

    def __init__(self, line: Line, machines: Mapping[str, MachineCost]) -> None:
        self.line = line
        self.machines = machines
        self._until = {
            name: (0.0, *accumulate(machine.node_ms[id_] for id_ in line.nodes)) for name, machine in machines.items()
        }

    def alone_ms(self, machine: str) -> float:
        """Milliseconds of a call of the whole model on one machine."""
        whole = Run(machine=machine, start=0, end=len(self.line.places) - 1)
        return self.computing_ms(whole) + self.sending_ms(whole)

    def computing_ms(self, run: Run) -> float:
        """Milliseconds that a stage computes."""
        until, places = self._until[run.machine], self.line.places
        return until[places[run.end]] - until[places[run.start]]

    def sending_ms(self, run: Run) -> float:
        """Milliseconds that calling a stage takes beside that."""
        return self.machines[run.machine].link.ms(self.line.sent[run.start, run.end])

    def for_calls(self) -> list[Split]:
        """The best division of each number of stages, the fastest first: a shortest path over place and machine."""
        last = len(self.line.places) - 1
        best: dict[tuple[int, str], tuple[float, tuple[Run, ...]]] = {(0, ""): (0.0, ())}
        found = []
        for stages in range(1, MOST_STAGES + 1):
            longer: dict[tuple[int, str], tuple[float, tuple[Run, ...]]] = {}
            for (place, before), (ms, runs) in best.items():
                for run in self._next(place, last):
                    if run.machine == before:
                        continue
                    whole = ms + self.computing_ms(run) + self.sending_ms(run)
                    key = (run.end, run.machine)
                    if key not in longer or whole < longer[key][0]:
                        longer[key] = (whole, (*runs, run))
            best = longer
            ends = [value for (place, _), value in best.items() if place == last]
            if stages > 1 and ends:
                found.append(self._split(*min(ends, key=lambda end: end[0])))
        return sorted(found, key=lambda split: split.predicted_ms)

    def for_streams(self) -> list[Split]:
        """The best division of each number of machines, each with one stage, the fastest first."""
        best: dict[int, tuple[float, tuple[Run, ...]]] = {}
        for chain in self._chains():
            ms, runs = self._balanced(chain)
            if runs and ms < best.get(len(chain), (float("inf"), ()))[0]:
                best[len(chain)] = (ms, runs)
        return sorted((self._split(*found) for found in best.values()), key=lambda split: split.predicted_ms)

    def _next(self, place: int, last: int) -> Iterator[Run]:
        for end in range(place + 1, last + 1):
            for machine in self.machines:
                yield Run(machine=machine, start=place, end=end)

    def _chains(self) -> Iterator[tuple[str, ...]]:
        most = MOST_STAGES if len(self.machines) <= _MOST_IN_A_CHAIN else 3
        for count in range(2, min(most, len(self.machines)) + 1):
            yield from permutations(self.machines, count)

    def _balanced(self, chain: Sequence[str]) -> tuple[float, tuple[Run, ...]]:
        """The places at which the busiest machine of a chain has least to do."""
        last = len(self.line.places) - 1
        best: dict[int, tuple[float, tuple[Run, ...]]] = {0: (0.0, ())}
        for number, machine in enumerate(chain):
            left = len(chain) - number - 1
            longer: dict[int, tuple[float, tuple[Run, ...]]] = {}
            for place, (ms, runs) in best.items():
                ends = range(place + 1, last - left + 1) if left else (last,) if place < last else ()
                for end in ends:
                    run = Run(machine=machine, start=place, end=end)
                    # While one request is sent, another one is computed.
                    busy = max(ms, self.computing_ms(run), self.sending_ms(run))
                    if end not in longer or busy < longer[end][0]:
                        longer[end] = (busy, (*runs, run))
            best = longer
        return best.get(last, (float("inf"), ()))

    def _split(self, ms: float, runs: tuple[Run, ...]) -> Split:
        return Split(runs=runs, predicted_ms=ms, link_ms=sum(map(self.sending_ms, runs)))
