"""The ``vm`` executor: a plan for each bucket of sizes, of which every call runs the one that its feeds belong to.

Buckets with equal plans share the engines' memory. The steps themselves are run by `Executor`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from intarsia.runtime.buckets import Door
from intarsia.runtime.executor import Executor
from intarsia.runtime.plan import Plan, Step


class VmExecutor(Executor):
    """Runs a model with open dimensions. Its ``plan`` is that of the largest sizes until feeds choose another."""

    def __init__(self, door: Door, load: Callable[[Plan], Executor]) -> None:
        self._door = door
        self._by_plan: dict[str, Executor] = {}
        last = door.buckets[-1].plan
        super().__init__(replace(last, steps=()), (), ())
        for bucket in door.buckets:
            if bucket.plan.fingerprint not in self._by_plan:
                self._by_plan[bucket.plan.fingerprint] = load(bucket.plan)
        self._choose(last)

    def run(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Results for these feeds, as arrays of their own.

        Raises:
            FeedError: A feed is missing, unknown, of another dtype or rank, or of a size outside of its range.
            ExecutionError: An engine failed.
        """
        arrays = self._door.checked(feeds)
        plan = self._door.bucket(arrays).plan
        with self._lock:
            self._choose(plan)
            return self._chosen.run(arrays)

    def feed(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Choose the plan for these arrays, and copy them into its input buffers.

        Raises:
            FeedError: A size is outside of its range.
        """
        self._choose(self._door.bucket(arrays).plan)
        self._chosen.feed(arrays)

    def call(self) -> None:
        """Run all steps once on what the buffers hold."""
        self._chosen.call()

    def timed_call(self) -> list[int]:
        """Run all steps once; the nanoseconds of each."""
        return self._chosen.timed_call()

    def trace(self) -> Iterator[tuple[Step, dict[str, np.ndarray]]]:
        """Run step by step; after each, copies of what it wrote."""
        return self._chosen.trace()

    def results(self) -> dict[str, np.ndarray]:
        """Copies of the outputs of the last run."""
        return self._chosen.results()

    def value(self, name: str) -> np.ndarray:
        """The buffer of an input or output after a run."""
        return self._chosen.value(name)

    def close(self) -> None:
        """Free what the engines hold. Calling it twice is fine."""
        for executor in self._by_plan.values():
            executor.close()

    def _choose(self, plan: Plan) -> None:
        self._chosen = self._by_plan[plan.fingerprint]
        self.plan = plan
