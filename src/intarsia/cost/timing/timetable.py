"""Is there time for this? What things took tells what they will take, and the end of a compile has its share kept.

Everything that takes long asks here before it begins. What there was no time for is written down by budget, so that
the same question, asked again of the same records, has the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from intarsia.backends.contract.failures import Cause
from intarsia.cost.records.record import Failure, Key
from intarsia.cost.records.store import Store
from intarsia.cost.thresholds import DURATIONS
from intarsia.cost.timing.statistics import median
from intarsia.cost.worker.deadline import NO_END, Deadline
from intarsia.cost.worker.progress import TIME, Progress, Watcher, unwatched

NO_TIME: Final = "no time"
"""Stage of a `Failure` that says that the time did not do for something."""


class Timetable:
    """What is known of the time of one compile.

    Attributes:
        process_s: Seconds that a fresh process takes until it can be asked.
        kept_s: Seconds for what comes behind everything that asks from now on, beside the end itself.
        last_s: Seconds for what comes behind the decision.

    Args:
        store: Keeps what there was no time for.
        facts: What else such an answer depends on: the model and the machine.
        watch: Told if it takes longer than was stated.
    """

    def __init__(
        self,
        deadline: Deadline = NO_END,
        store: Store | None = None,
        facts: Mapping[str, Any] | None = None,
        watch: Watcher = unwatched,
        weight_bytes: int = 0,
    ) -> None:
        self.deadline = deadline
        self._store = store
        self._facts = dict(facts or {})
        self._watch = watch
        self._gigabytes = weight_bytes / 1e9
        self._save_s = DURATIONS.save_s_per_gigabyte * self._gigabytes
        self.process_s = DURATIONS.process_s
        self.kept_s = self.last_s = 0.0
        self._whole_s: dict[str, float] = {}
        self._open_s: dict[str, float] = {}

    @property
    def is_endless(self) -> bool:
        """Whether there is no end, so that there is time for everything."""
        return math.isinf(self.deadline.seconds)

    def whole_took(self, engine: str, seconds: float, timed_s: float = 0.0) -> None:
        """Measuring the whole model on an engine took so long, compiling and checking it included.

        What is left without the seconds in which it was timed is what opening takes.
        """
        self._whole_s[engine] = min(seconds, self._whole_s.get(engine, math.inf))
        open_s = max(seconds - timed_s, DURATIONS.open_s)
        self._open_s[engine] = min(open_s, self._open_s.get(engine, math.inf))

    def saving_took(self, seconds: float) -> None:
        """Writing the graph took so long, and its weights are most of an artifact."""
        self._save_s = min(self._save_s, DURATIONS.save_by_graph * seconds)

    def whole_s(self, engines: Iterable[str] = ()) -> float:
        """Seconds that one of these engines, or any of those known, needs for the whole model."""
        own = [self._whole_s[name] for name in engines if name in self._whole_s]
        if own:
            return max(own)
        known = sorted(self._whole_s.values())
        return median(known) if known else DURATIONS.whole_s + DURATIONS.whole_s_per_gigabyte * self._gigabytes

    def open_s(self, engines: Iterable[str]) -> float:
        """Seconds in which a process that has started loads, runs and checks an artifact of these engines."""
        several = tuple(engines)
        own = [self._open_s[name] for name in several if name in self._open_s]
        return max(own) if own else self.whole_s(several)

    @property
    def end_s(self) -> float:
        """Seconds that the end needs: a plan is written, opened and checked in a fresh process, and saved."""
        least = min(self._open_s.values(), default=self.whole_s())
        return DURATIONS.slack * (self.process_s + least + DURATIONS.open_s) + self._saving_s

    @property
    def _saving_s(self) -> float:
        return DURATIONS.slack * (DURATIONS.open_s + self._save_s)

    def writing_s(self, plans: int) -> float:
        """Seconds that writing the artifacts of so many plans for a benchmark takes."""
        return plans * (DURATIONS.write_s + self._save_s)

    def set_s(self, engines: Sequence[Collection[str]], ms: Sequence[float], rounds_s: float = 0.0) -> float:
        """Seconds that a set of a paired benchmark takes: processes start together, open in turn, and run in rounds.

        Args:
            engines: For each plan, with the control, the engines that it runs on.
            ms: For each what a call takes.
            rounds_s: What the rounds may take.
        """
        open_s = sum(DURATIONS.process_share * self.process_s + self.open_s(names) for names in engines)
        turns = [max(2 * each, 2 * DURATIONS.turn_ms) + DURATIONS.settle_ms for each in ms]
        round_s = sum(turns) / 1e3
        return open_s + min(max(DURATIONS.least_rounds * round_s, rounds_s), DURATIONS.most_rounds * round_s)

    @property
    def left(self) -> float:
        """Seconds that are left before the end has to begin."""
        return self.deadline.left - self.end_s - self.kept_s - self.last_s

    @property
    def left_to_benchmark(self) -> float:
        """As `left`, for a benchmark: it opens and checks what ships, so that only saving it comes behind."""
        return self.deadline.left - self._saving_s - self.kept_s - self.last_s

    def may_benchmark(self, question: Mapping[str, Any], seconds: float) -> bool:
        """As `may`, for a benchmark."""
        return self.granted(question, fits=self.is_endless or seconds <= self.left_to_benchmark)

    def fits(self, seconds: float, until: float = 1.0) -> bool:
        """Whether something that takes so long may begin; nothing of its kind is begun behind the share ``until``."""
        return self.is_endless or (not self.deadline.is_over(until) and seconds <= self.left)

    def has_refused(self, question: Mapping[str, Any]) -> bool:
        """Whether there was no time for this when it was asked with the same budget before."""
        if self.is_endless or self._store is None:
            return False
        return self._store.get(self._key(question), NO_TIME) is not None

    def refuse(self, question: Mapping[str, Any]) -> None:
        """Write down that there was no time for this."""
        if self._store is not None and not self.is_endless:
            self._store.put(NO_TIME, self._key(question), {"budget_s": self.deadline.stated}, {})

    def may(self, question: Mapping[str, Any], seconds: float, until: float = 1.0) -> bool:
        """Whether there is time for something, as `fits`; a refusal is written down."""
        return self.granted(question, fits=self.fits(seconds, until))

    def granted(self, question: Mapping[str, Any], *, fits: bool) -> bool:
        """Whether something may begin, as it fits the time: a refusal is written down, and holds the next time too."""
        if self.has_refused(question):
            return False
        if not fits:
            self.refuse(question)
        return fits

    def refusal(self) -> Failure:
        """What stands in the place of a figure."""
        reason = f"not measured in the {self.deadline.seconds:.0f} s that there were; --budget gives more"
        return Failure(stage=NO_TIME, reason=reason, cause=Cause.NOT_ASKED)

    def announce(self, because: str, more_s: float = 0.0) -> None:
        """Say how long it will take, and take so long, if what is left does not do for ``more_s`` and the end."""
        if self.is_endless:
            return
        needed = self.deadline.spent + more_s + self.end_s
        if needed <= self.deadline.seconds:
            return
        total = math.ceil(DURATIONS.slack * needed + DURATIONS.announced_s)
        self.deadline.announce(total, because)
        self._watch(Progress(stage=TIME, note=f"about {total} s in all, because {because}"))

    def _key(self, question: Mapping[str, Any]) -> Key:
        return Key(facts={"no time": 1, "budget_s": self.deadline.stated, **self._facts, **question})
