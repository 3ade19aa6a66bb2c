"""Counts what each candidate executes, many in one program: in a round, each instruction is computed by another one.

So every kernel meets the data that it will meet, and a board runs as many programs as an instruction has candidates at
most. What fails is found by halving the round, and is a record like any other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from intarsia.backends.contract.failures import Cause
from intarsia.codegen.call_counts import Counted, count
from intarsia.cost.records.instruction_counts import Count, keep, key_of, recalled
from intarsia.cost.records.record import Failure, Instructions
from intarsia.errors import BackendError, BackendTimeoutError, CompileError, ConfigError

if TYPE_CHECKING:
    from intarsia.codegen.boards.board import Board
    from intarsia.codegen.toolchain import Toolchain
    from intarsia.cost.records.record import Key
    from intarsia.cost.records.store import Store
    from intarsia.search.boards.candidates import Candidates

Trial = Mapping[int, int]
"""Which candidate computes an instruction, by the instruction's place."""
MOST_STEPS = 3
"""How far an integer may be from that of the first candidates: roundings differ by a step, and add up over layers."""
MOST_ERROR = 0.05
"""The same for what is larger, as a part of the range of the output."""
_PLACE = re.compile(r"v(\d+)")


@dataclass(slots=True, kw_only=True)
class Counting:
    """A board on which candidates are counted.

    Attributes:
        candidates: All of them.
        feeds: Inputs of the program, by interface name.
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
    board: Board
    tools: Toolchain
    library: Path | None = None
    store: Store | None = None
    provenance: Mapping[str, str] = field(default_factory=dict)
    counts: dict[tuple[int, int], Count] = field(default_factory=dict)
    runs: int = 0
    _answers: Mapping[str, np.ndarray] | None = None

    def count_all(self) -> None:
        """Count every candidate that is not recorded. Two that are the same are counted once.

        Raises:
            BackendUnavailableError: A compiler or the emulator is not installed.
            BackendError: What the first candidates make does not run.
            ConfigError: It does not fit into the board.
        """
        keys: dict[tuple[int, int], Key] = {}
        waiting: dict[str, list[tuple[int, int]]] = {}
        for place, found in self.candidates.of.items():
            for number in range(len(found)):
                key = keys[place, number] = self._key(place, number)
                known = recalled(self.store, key)
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
            if not (isinstance(counted, Failure) and counted.stage == "timeout"):  # a busy machine may be why
                keep(self.store, keys[same[0]], counted, self.provenance)

    def whole(self, trial: Trial) -> Counted:
        """What a program with these candidates executes and computes.

        Raises:
            BackendError: It does not run.
            ConfigError: It does not fit into the board.
        """
        return self._counted(trial)

    def _count(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Count these: the first candidates all at once, and what they compute is what the others are held to."""
        first = self._counted({})
        self._answers = first.results[0]
        self._note({place: number for place, number in pairs if number == 0}, first)
        for trial in _rounds([(place, number) for place, number in pairs if number]):
            self._try(trial)

    def _try(self, trial: Trial) -> None:
        try:
            found = self._counted(trial)
        except (BackendError, ConfigError) as error:
            failure = Failure(stage=_stage(error), reason=_first_line(error), cause=Cause.ENGINE)
        else:
            wrong = self._fault(found.results[0])
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

    def _fault(self, results: Mapping[str, np.ndarray]) -> str:
        """How results differ too much from those of the first candidates; empty if they do not."""
        assert self._answers is not None
        for name, right in self._answers.items():
            error, most = _difference(results[name], right)
            if not error <= most:  # nor is it if it is no number
                return f"{name} differs by {error:.3g} from what the other kernels compute"
        return ""

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


def _difference(found: np.ndarray, right: np.ndarray) -> tuple[float, float]:
    """The largest difference, and how large it may be."""
    if not right.size:
        return 0.0, 0.0
    wide, other = right.astype(np.float64), found.astype(np.float64)
    span = float(np.ptp(wide[np.isfinite(wide)])) if np.isfinite(wide).any() else 0.0
    least = MOST_STEPS if right.dtype.kind in "iub" else 1e-5
    same = (wide == other) | (np.isnan(wide) & np.isnan(other))
    with np.errstate(invalid="ignore"):
        return float(np.where(same, 0.0, np.abs(wide - other)).max()), max(least, MOST_ERROR * span)


def _stage(error: BackendError | ConfigError) -> str:
    if isinstance(error, CompileError | ConfigError):
        return "compile"
    return "timeout" if isinstance(error, BackendTimeoutError) else "run"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
