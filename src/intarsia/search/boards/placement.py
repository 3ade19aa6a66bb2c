"""Chooses for each instruction the kernel that executes the fewest instructions on an emulated board.

All engines of C compute instructions of one program, so a border between two of them costs nothing, and what a network
executes is the sum over its instructions: the least of each makes the least of all. Where the target states how much
memory it has, kernels that take less of it step in at the least price until the values fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from intarsia.codegen import arena, toolchain
from intarsia.cost.records.instruction_counts import Count
from intarsia.cost.records.record import Instructions
from intarsia.errors import MismatchError, NoCoverError
from intarsia.search.boards.candidates import Candidate, Candidates, candidates_of
from intarsia.search.boards.counting import Counting, Trial

if TYPE_CHECKING:
    import numpy as np

    from intarsia.backends.c.processor import Processor
    from intarsia.backends.lowering.program import Program
    from intarsia.codegen.boards.board import Board
    from intarsia.codegen.call_counts import Counted
    from intarsia.codegen.module import SourceModule
    from intarsia.cost.records.store import Store
    from intarsia.search.boards.answers import Answers
    from intarsia.search.boards.candidates import Offer


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What computes an instruction, and what else could.

    Attributes:
        place: In the program.
        name: Of the instruction: ``conv_last``, ``q_dense``.
        nodes: Ids of the nodes that it is a part of.
        candidates: Those of the most preferred engine first.
        counts: What each executes, or how it failed.
        chosen: Number of the one that computes it.
    """

    place: int
    name: str
    nodes: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    counts: tuple[Count, ...]
    chosen: int

    @property
    def engine(self) -> str:
        """Whose kernel computes it."""
        return self.candidates[self.chosen].engine

    @property
    def instructions(self) -> int:
        """What that executes."""
        count = self.counts[self.chosen]
        assert isinstance(count, Instructions)
        return count.count

    def least(self, engine: str) -> int | None:
        """The fewest instructions with a kernel of an engine; ``None`` where it has none that works."""
        counts = zip(self.candidates, self.counts, strict=True)
        found = [each.count for of, each in counts if of.engine == engine and isinstance(each, Instructions)]
        return min(found, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The plan for a board.

    Attributes:
        module: The network with the chosen kernels.
        choices: Of each instruction that a kernel computes, in running order.
        instructions: What one run of the whole network executes, counted on the board.
        results: What it computed there.
        stack_bytes: The most stack that it used there.
        runs: How many programs were run to find it.
        wholes: What a run executes with the kernels of one engine wherever it has one that works, by engine: of those
            that were counted as a whole.
    """

    module: SourceModule
    choices: tuple[Choice, ...]
    instructions: int
    results: Mapping[str, np.ndarray]
    stack_bytes: int
    runs: int
    wholes: Mapping[str, int]

    @property
    def predicted(self) -> int:
        """The sum over the instructions, each as it was counted among others."""
        return sum(each.instructions for each in self.choices)

    def alone(self, engine: str) -> int:
        """What the network executes with an engine's kernels wherever it has one; by the sum where that was not run."""
        if engine in self.wholes:
            return self.wholes[engine]
        return sum(each.instructions if (least := each.least(engine)) is None else least for each in self.choices)


def place(
    program: Program,
    known: Mapping[int, np.ndarray],
    processor: Processor,
    offers: Mapping[str, Offer],
    board: Board,
    feeds: Mapping[str, np.ndarray],
    answers: Answers,
    *,
    rest: Mapping[str, Offer] | None = None,
    limit_bytes: int | None = None,
    library: Path | None = None,
    store: Store | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> Placement:
    """The plan with the fewest instructions for a prepared program.

    Args:
        program: As `intarsia.backends.c.network.prepared` left it.
        known: Arrays of its leaves that are constants, by place.
        processor: What the text is written for.
        offers: The kernels of each engine, the most preferred engine first.
        board: Where it is counted.
        feeds: Inputs by interface name; best real ones.
        answers: What the reference answers to them.
        rest: What computes instructions for which no engine has a kernel.
        limit_bytes: What the values between may take; as little of it as can be if nothing fits.
        library: The folder of the engines' own sources.
        store: Where counts are kept and looked up.
        provenance: Kept beside each count.

    Raises:
        BackendUnavailableError: A compiler or the emulator is not installed.
        BackendError: No engine's candidates make a program that runs.
        ConfigError: It does not fit into the board.
        MismatchError: Nothing that they make answers rightly.
        NoCoverError: No candidate of an instruction works.
    """
    candidates = candidates_of(program, known, processor, offers, rest)
    counting = Counting(
        candidates=candidates,
        feeds=feeds,
        answers=answers,
        board=board,
        tools=toolchain.cross("arm-none-eabi"),
        library=library,
        store=store,
        provenance=provenance or {},
    )
    are_recorded = counting.count_all()
    try:
        chosen, whole, wholes = _best_right(counting, limit_bytes)
    except MismatchError:
        if not are_recorded:
            raise
        counting.count_all(anew=True)  # what was right in another network is wrong in this one
        chosen, whole, wholes = _best_right(counting, limit_bytes)
    return Placement(
        module=candidates.module(chosen),
        choices=tuple(_choice(each, chosen[each], candidates, counting.counts) for each in candidates.of),
        instructions=whole.total,
        results=whole.results[0],
        stack_bytes=whole.stack_bytes,
        runs=counting.runs,
        wholes=wholes,
    )


def _best_right(counting: Counting, limit: int | None) -> tuple[Trial, Counted, Mapping[str, int]]:
    """The plan that executes least of those that answer rightly, what it executes, and what one engine alone does.

    Raises:
        NoCoverError: No candidate of an instruction works.
        MismatchError: None of them answers rightly.
    """
    candidates, counts = counting.candidates, counting.counts
    chosen = {each: _best(each, candidates, counts) for each in candidates.of}
    if limit is not None:
        chosen = _within(limit, chosen, candidates, counts)
    # What the compiler moves over borders is in no single count, so the best of each engine is run as a whole too.
    alone = _alone(candidates, counts, chosen, limit)
    trials = [chosen]
    for trial in alone.values():
        if trial not in trials:
            trials.append(trial)
    ran = [(counting.whole(trial), trial) for trial in trials]
    right = [(whole, trial) for whole, trial in ran if not counting.fault(whole.results[0])]
    if not right:
        raise MismatchError(
            "kernels that answer rightly one by one answer wrongly together on "
            f"QEMU's {counting.board.name}: {counting.fault(ran[0][0].results[0])}"
        )
    wholes = {name: whole.total for name, own in alone.items() for whole, trial in right if trial == own}
    whole, found = min(right, key=lambda each: each[0].total)
    return found, whole, wholes


def _choice(at: int, chosen: int, candidates: Candidates, counts: Mapping[tuple[int, int], Count]) -> Choice:
    each, of = candidates.sites[at].each, candidates.of[at]
    return Choice(
        place=at,
        name=each.name,
        nodes=each.origin,
        candidates=of,
        counts=tuple(counts[at, number] for number in range(len(of))),
        chosen=chosen,
    )


def _working(at: int, candidates: Candidates, counts: Mapping[tuple[int, int], Count]) -> dict[int, int]:
    """Instructions of each candidate that works, by its number."""
    found = {number: counts[at, number] for number in range(len(candidates.of[at]))}
    return {number: each.count for number, each in found.items() if isinstance(each, Instructions)}


def _best(at: int, candidates: Candidates, counts: Mapping[tuple[int, int], Count]) -> int:
    """The number of the candidate that executes least; of two that execute as much, that with less scratch memory."""
    working = _working(at, candidates, counts)
    if not working:
        each = candidates.sites[at].each
        reasons = "; ".join(f"{of.engine}: {counts[at, number].reason}" for number, of in enumerate(candidates.of[at]))  # type: ignore[union-attr]
        raise NoCoverError(f"{', '.join(each.origin) or each.name}: no kernel of {each.name} works: {reasons}")
    return min(working, key=lambda number: (working[number], candidates.of[at][number].scratch, number))


def _alone(
    candidates: Candidates,
    counts: Mapping[tuple[int, int], Count],
    chosen: Mapping[int, int],
    limit: int | None,
) -> dict[str, dict[int, int]]:
    """For each engine the plan with its kernels wherever one works, if that fits."""
    found: dict[str, dict[int, int]] = {}
    for engine in dict.fromkeys(each.engine for of in candidates.of.values() for each in of):
        trial = dict(chosen)
        for at, of in candidates.of.items():
            own = {n: count for n, count in _working(at, candidates, counts).items() if of[n].engine == engine}
            trial[at] = min(own, key=own.__getitem__, default=chosen[at])
        if limit is None or arena.plan(candidates.module(trial)).size <= limit:
            found[engine] = trial
    return found


def _within(
    limit: int, chosen: Mapping[int, int], candidates: Candidates, counts: Mapping[tuple[int, int], Count]
) -> dict[int, int]:
    """Step by step the exchange that costs the fewest instructions for each byte saved, until the limit holds.

    An exchange that saves nothing in the end is taken back, which is most of them where no kernels fit.
    """
    now = dict(chosen)
    size = arena.plan(candidates.module(now)).size
    while size > limit:
        steps = []
        for at, number in now.items():
            working, of = _working(at, candidates, counts), candidates.of[at]
            for other, executed in working.items():
                if of[other].scratch < of[number].scratch:
                    tried = arena.plan(candidates.module(now | {at: other})).size
                    steps.append(((executed - working[number]) / max(1, size - tried), tried, at, other))
        gained = [step for step in steps if step[1] < size]
        if not gained and not steps:
            break
        # Two calls may need the same much: then one exchange alone saves nothing yet.
        _, size, at, other = min(gained or steps)
        now[at] = other
    for at in sorted(chosen, key=lambda at: _extra(at, now, chosen, counts), reverse=True):
        back = now | {at: chosen[at]}
        if now[at] != chosen[at] and (tried := arena.plan(candidates.module(back)).size) <= max(limit, size):
            now, size = back, tried
    return now


def _extra(at: int, now: Mapping[int, int], chosen: Mapping[int, int], counts: Mapping[tuple[int, int], Count]) -> int:
    """Instructions that an exchange costs."""
    after, before = counts[at, now[at]], counts[at, chosen[at]]
    assert isinstance(after, Instructions)
    assert isinstance(before, Instructions)
    return after.count - before.count
