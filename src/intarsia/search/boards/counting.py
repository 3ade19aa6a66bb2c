"""Counts what each candidate executes, many in one program: in a round, each instruction is computed by another one.

So every kernel meets the data that it will meet, and a board runs as many programs as an instruction has candidates at
most. What a program computes is held to the reference's answers. What fails is found by halving the round, beside
kernels that were seen to answer rightly, and is a record like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

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
    provenance: Mapping[str, str] = field(default_factory=dict)
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
        """Count these: first some that answer rightly all at once, and then the others beside those."""
        self._right, found = self._first_right()
        self._others = found.results[0]
        now = {place: self._right.get(place, 0) for place in self.candidates.of}
        self._note({place: number for place, number in pairs if number == now[place]}, found)
        for trial in _rounds([(place, number) for place, number in pairs if number != now[place]]):
            self._try(trial)

    def _first_right(self) -> tuple[Trial, Counted]:
        """The first trial that answers rightly, and what it gave.

        Raises:
            BackendError: None of them runs.
            ConfigError: None of them fits into the board.
            MismatchError: None of them answers rightly.
        """
        problem: BackendError | ConfigError | MismatchError | None = None
        for trial in self._whole_trials():
            try:
                found = self._counted(trial)
            except (BackendError, ConfigError) as error:
                problem = problem or error
                continue
            wrong = self.answers.fault(found.results[0])
            if not wrong:
                return trial, found
            if not isinstance(problem, MismatchError):
                problem = MismatchError(f"no engine's C answers rightly on QEMU's {self.board.name}: {wrong}")
        assert problem is not None
        raise problem

    def _whole_trials(self) -> Iterator[Trial]:
        """All first candidates, then each engine's wherever it has some, then all second candidates, and so on."""
        every = self.candidates.of
        yield {}
        for engine in reversed(dict.fromkeys(each.engine for of in every.values() for each in of)):
            own = {place: [n for n, each in enumerate(of) if each.engine == engine] for place, of in every.items()}
            yield {place: numbers[0] for place, numbers in own.items() if numbers}
        for number in range(1, max(map(len, every.values()), default=1)):
            yield {place: min(number, len(of) - 1) for place, of in every.items()}

    def _try(self, trial: Trial) -> None:
        try:
            found = self._counted({**self._right, **trial})
        except (BackendError, ConfigError) as error:
            failure = Failure(stage=_stage(error), reason=_first_line(error), cause=Cause.ENGINE)
        else:
            wrong = self.fault(found.results[0])
            if not wrong:
                self._note(trial, found)
                return
            failure = Failure(stage="verify", reason=wrong, cause=Cause.ENGINE)
        if len(trial) == 1:
            self.counts[next(iter(trial.items()))] = failure
            return
        for half in _halves(trial):
            self._try(half)

    def _note(self, trial: Trial, found: Counted) -> None:
        of = dict(zip(self._places(trial), found.calls, strict=True))
        for place, number in trial.items():
            self.counts[place, number] = Instructions(count=of[place])

    def _places(self, trial: Trial) -> list[int]:
        """The instruction that each call of the module computes; -1 of a copy."""
        module = self.candidates.module({**self._right, **trial})
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
