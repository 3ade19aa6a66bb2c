"""Counts what each candidate executes, many in one program: in a round, each instruction is computed by another one.

So every kernel meets the data that it will meet, and a board runs as many programs as an instruction has candidates at
most. What a program computes is held to the reference's answers, and to those of the round that comes nearest to them.
What fails is found by halving its round, beside the kernels of that one, and is a record like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from intarsia.backends.contract.failures import Cause
from intarsia.codegen.call_counts import Counted, count
from intarsia.cost.records.instruction_counts import Count, keep, key_of, recalled
from intarsia.cost.records.record import Failure, Instructions
from intarsia.errors import BackendError, BackendTimeoutError, CompileError, ConfigError, MismatchError

if TYPE_CHECKING:
    from intarsia.codegen.boards.board import Board
    from intarsia.codegen.toolchain import Toolchain
    from intarsia.cost.records.record import Key
    from intarsia.cost.records.store import Store
    from intarsia.search.boards.answers import Answers
    from intarsia.search.boards.candidates import Candidates

Trial = Mapping[int, int]
"""Which candidate computes an instruction, by the instruction's place."""
_PLACE = re.compile(r"v(\d+)")


@dataclass(slots=True, kw_only=True)
class Counting:
    """A board on which candidates are counted.

    Attributes:
        candidates: All of them.
        feeds: Inputs of the program, by interface name.
        answers: What the reference answers to them.
        board: Where it runs.
        tools: What compiles for it.
        library: The folder of the engines' own sources.
        store: Where counts are kept; nowhere if there is none.
        provenance: Kept beside each.
        counts: What each candidate executes, or how it failed, by place and number.
        runs: How many programs were run.
    """

    candidates: Candidates
    feeds: Mapping[str, np.ndarray]
    answers: Answers
    board: Board
    tools: Toolchain
    library: Path | None = None
    store: Store | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    counts: dict[tuple[int, int], Count] = field(default_factory=dict)
    runs: int = 0
    _right: Trial = field(default_factory=dict)
    _others: Mapping[str, np.ndarray] | None = None

    def count_all(self, *, anew: bool = False) -> bool:
        """Count every candidate that is not recorded, or all ``anew``. Two that are the same are counted once.

        Returns:
            Whether some were recorded.

        Raises:
            BackendUnavailableError: A compiler or the emulator is not installed.
            BackendError: No engine's candidates make a program that runs.
            ConfigError: It does not fit into the board.
            MismatchError: No engine's candidates make a program that answers rightly.
        """
        keys: dict[tuple[int, int], Key] = {}
        waiting: dict[str, list[tuple[int, int]]] = {}
        for place, found in self.candidates.of.items():
            for number in range(len(found)):
                key = keys[place, number] = self._key(place, number)
                known = None if anew else recalled(self.store, key)
                if known is None:
                    waiting.setdefault(key.digest, []).append((place, number))
                else:
                    self.counts[place, number] = known
        if waiting:
            self._count([same[0] for same in waiting.values()])
        for same in waiting.values():
            for each in same:
                self.counts[each] = self.counts[same[0]]
            counted = self.counts[same[0]]
            # A busy machine may be why one was late, and another network may allow what was wrong in this one.
            if not (isinstance(counted, Failure) and counted.stage in ("timeout", "verify")):
                keep(self.store, keys[same[0]], counted, self.provenance)
        return sum(map(len, waiting.values())) < len(keys)

    def whole(self, trial: Trial) -> Counted:
        """What a program with these candidates executes and computes.

        Raises:
            BackendError: It does not run.
            ConfigError: It does not fit into the board.
        """
        return self._counted(trial)

    def fault(self, results: Mapping[str, np.ndarray]) -> str:
        """How results are wrong; empty if they are right."""
        return self.answers.fault(results, self._others)

    def _count(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Count these in rounds, and those of a round that failed beside the kernels of the best one."""
        firsts = {place: number for place, number in pairs if number == 0}
        rounds = [firsts, *_rounds([(place, number) for place, number in pairs if number])]
        ran = [self._ran(self._filled(number)) for number in range(len(rounds))]
        self._right, best = self._nearest(ran)
        self._others = best.results[0]
        for number, (trial, found) in enumerate(zip(rounds, ran, strict=True)):
            if isinstance(found, Counted) and not self.fault(found.results[0]):
                self._note(trial, found, self._filled(number))
            elif trial:
                self._try(trial)

    def _filled(self, number: int) -> Trial:
        """The candidates of this number, and the last one where there are fewer."""
        return {place: min(number, len(of) - 1) for place, of in self.candidates.of.items()}

    def _ran(self, trial: Trial) -> Counted | BackendError | ConfigError:
        try:
            return self._counted(trial)
        except (BackendError, ConfigError) as error:
            return error

    def _nearest(self, ran: Sequence[Counted | BackendError | ConfigError]) -> tuple[Trial, Counted]:
        """The round nearest to the reference, of those that answer rightly; if none does, one engine wherever it can.

        Raises:
            BackendError: None of them runs.
            ConfigError: None of them fits into the board.
            MismatchError: None of them answers rightly.
        """
        every = [(self._filled(number), found) for number, found in enumerate(ran)]
        right = self._right_of(every)
        if not right:
            every += [(trial, self._ran(trial)) for trial in self._of_one_engine()]
            right = self._right_of(every)
        if right:
            return min(right, key=lambda each: self.answers.distance(each[1].results[0]))
        faults = [self.answers.fault(found.results[0]) for _, found in every if isinstance(found, Counted)]
        if faults:
            raise MismatchError(f"no engine's C answers rightly on QEMU's {self.board.name}: {faults[0]}")
        raise next(found for _, found in every if isinstance(found, Exception))

    def _right_of(
        self, every: Sequence[tuple[Trial, Counted | BackendError | ConfigError]]
    ) -> list[tuple[Trial, Counted]]:
        return [
            (trial, found)
            for trial, found in every
            if isinstance(found, Counted) and not self.answers.fault(found.results[0])
        ]

    def _of_one_engine(self) -> Iterator[Trial]:
        """Each engine's first candidates wherever it has some, the least preferred engine first."""
        every = self.candidates.of
        for engine in reversed(dict.fromkeys(each.engine for of in every.values() for each in of)):
            own = {place: [n for n, each in enumerate(of) if each.engine == engine] for place, of in every.items()}
            yield {place: numbers[0] if numbers else 0 for place, numbers in own.items()}

    def _try(self, trial: Trial) -> None:
        whole = {**self._right, **trial}
        try:
            found = self._counted(whole)
        except (BackendError, ConfigError) as error:
            failure = Failure(stage=_stage(error), reason=_first_line(error), cause=Cause.ENGINE)
        else:
            wrong = self.fault(found.results[0])
            if not wrong:
                self._note(trial, found, whole)
                return
            failure = Failure(stage="verify", reason=wrong, cause=Cause.ENGINE)
        if len(trial) == 1:
            self.counts[next(iter(trial.items()))] = failure
            return
        for half in _halves(trial):
            self._try(half)

    def _note(self, trial: Trial, found: Counted, whole: Trial) -> None:
        """Keep the counts of a trial, which was counted as a part of a whole one."""
        of = dict(zip(self._places(whole), found.calls, strict=True))
        for place, number in trial.items():
            self.counts[place, number] = Instructions(count=of[place])

    def _places(self, trial: Trial) -> list[int]:
        """The instruction that each call of the module computes; -1 of a copy."""
        module = self.candidates.module(trial)
        found = []
        for call in module.calls:
            name = _PLACE.fullmatch(call.writes[0]) if call.writes else None
            place = int(name[1]) if name else -1
            found.append(place if place in self.candidates.of else -1)
        return found

    def _counted(self, trial: Trial) -> Counted:
        self.runs += 1
        return count(self.candidates.module(trial), [self.feeds], self.board, library=self.library)

    def _key(self, place: int, number: int) -> Key:
        candidate, site = self.candidates.of[place][number], self.candidates.sites[place]
        operands = [(read.dtype, read.shape) for read in site.reads]
        return key_of(candidate.engine, candidate.kernel, operands, site.known, self.board, self.tools, self.library)


def _rounds(pairs: Sequence[tuple[int, int]]) -> list[dict[int, int]]:
    """Trials that hold each pair of place and number once, and each place at most once in a trial."""
    rounds: list[dict[int, int]] = []
    for place, number in pairs:
        free = next((each for each in rounds if place not in each), None)
        if free is None:
            rounds.append({place: number})
        else:
            free[place] = number
    return rounds


def _halves(trial: Trial) -> tuple[dict[int, int], dict[int, int]]:
    pairs = list(trial.items())
    return dict(pairs[: len(pairs) // 2]), dict(pairs[len(pairs) // 2 :])


def _stage(error: BackendError | ConfigError) -> str:
    if isinstance(error, CompileError | ConfigError):
        return "compile"
    return "timeout" if isinstance(error, BackendTimeoutError) else "run"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
