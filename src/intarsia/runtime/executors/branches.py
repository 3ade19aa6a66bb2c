"""The ``graph`` executor for plans whose independent steps run at one time, each branch on its share of the threads.

What may run when is `intarsia.runtime.executors.parallel_levels`; that it pays is for a measurement to show.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue

from intarsia.backends.contract import Executable, Traits
from intarsia.runtime.executors.executor import Executor, Storage
from intarsia.runtime.executors.parallel_levels import Branch, Section, sections, width
from intarsia.runtime.plan import Plan


class BranchExecutor(Executor):
    """Runs one plan, section by section: the branches of a section at one time, one of them on the calling thread."""

    def __init__(
        self,
        plan: Plan,
        executables: Sequence[Executable],
        traits: Sequence[Traits],
        given: Mapping[str, Storage] | None = None,
    ) -> None:
        super().__init__(plan, executables, traits, given)
        self.sections = sections(plan)
        self._pool = ThreadPool(width(plan) - 1)
        self._turns.owns(self._pool.close)
        self._spans = [(0, 0)] * len(plan.steps)

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """When each step of the last call began and ended, in nanoseconds of one clock."""
        return tuple(self._spans)

    def _call(self) -> None:
        for section in self.sections:
            self._run_section(section)

    def _run_section(self, section: Section) -> None:
        self._pool.run([partial(self._run_branch, branch) for branch in section])

    def _timed_call(self) -> list[int]:
        """Steps that run at one time share the time of their section by how long each takes."""
        spent = [0] * len(self.plan.steps)
        for section in self.sections:
            before = time.perf_counter_ns()
            self._run_section(section)
            passed = time.perf_counter_ns() - before
            own = {place: self._spans[place][1] - self._spans[place][0] for branch in section for place in branch}
            total = sum(own.values()) or 1
            for place, ns in own.items():
                spent[place] = passed * ns // total
        return spent

    def _run_branch(self, branch: Branch) -> None:
        for place in branch:
            begun = time.perf_counter_ns()
            self._call_steps(place, place + 1)
            self._spans[place] = (begun, time.perf_counter_ns())


class ThreadPool:
    """Threads that wait for jobs beside the one that hands them out. They sleep meanwhile: cores are for engines."""

    def __init__(self, size: int) -> None:
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._done: SimpleQueue[BaseException | None] = SimpleQueue()
        self._threads = [threading.Thread(target=self._serve, daemon=True, name="intarsia-branch") for _ in range(size)]
        for thread in self._threads:
            thread.start()

    def run(self, jobs: Sequence[Callable[[], None]]) -> None:
        """Run all jobs, the first on this thread; the first error among them is raised when all are over."""
        for job in jobs[1:]:
            self._jobs.put(job)
        errors = [_error_of(jobs[0])]
        with suppress(Empty):
            while len(errors) < len(jobs):
                waiting = self._jobs.get_nowait()
                assert waiting is not None, "a pool is closed when nothing runs any more"
                errors.append(_error_of(waiting))
        while len(errors) < len(jobs):
            errors.append(self._done.get())
        error = next(filter(None, errors), None)
        if error is not None:
            raise error

    def close(self) -> None:
        """End the threads. Calling it twice is fine."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()
        self._threads = []

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._done.put(_error_of(job))
            del job  # while it waits it must not keep alive whose job that was


def _error_of(job: Callable[[], None]) -> BaseException | None:
    """What a job raised. Whatever it is, it belongs to the caller: a thread of ours must neither end nor swallow it."""
    try:
        job()
    except BaseException as error:
        return error
    return None
