"""The ``vm`` executor: a plan for each bucket of sizes, of which every call runs the one that its feeds belong to.

Buckets with equal plans share the engines' memory. The steps themselves are run by `Executor`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from intarsia.runtime.buckets import InputSpec
from intarsia.runtime.executors.executor import Executor, Storage
from intarsia.runtime.plan import Plan, Step


class VmExecutor(Executor):
    """Runs a model with open dimensions. Its ``plan`` is that of the largest sizes until feeds choose another."""

    def __init__(
        self, input_spec: InputSpec, load: Callable[[Plan], Executor], given: Mapping[str, Storage] | None = None
    ) -> None:
        self._input_spec = input_spec
        self._by_plan: dict[str, Executor] = {}
        last = input_spec.buckets[-1].plan
        super().__init__(replace(last, steps=()), (), (), given)
        for bucket in input_spec.buckets:
            if bucket.plan.fingerprint not in self._by_plan:
                executor = self._by_plan[bucket.plan.fingerprint] = load(bucket.plan)
                executor.put_inside()
                self._turns.owns(executor.close)
        weakref.finalize(self, self._turns.finish)  # once more: the last is called first, and those inside come behind
        self._choose(last)

    def run(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """As `Executor.run`; a size outside of its range is a `FeedError` too."""
        arrays = self._input_spec.checked(feeds)
        plan = self._input_spec.bucket(arrays).plan
        return self._turns.run(partial(self._run, plan, arrays))

    def _run(self, plan: Plan, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        self._choose(plan)
        return self._chosen.run(arrays)

    def _feed(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Choose the plan for these arrays, and copy them into its input buffers."""
        self._choose(self._input_spec.bucket(arrays).plan)
        self._chosen.feed(arrays)

    def _call(self) -> None:
        self._chosen.call()

    def _timed_call(self) -> list[int]:
        return self._chosen.timed_call()

    def _trace(self) -> Iterator[tuple[Step, dict[str, np.ndarray]]]:
        return self._chosen.trace()

    def _results(self) -> dict[str, np.ndarray]:
        return self._chosen.results()

    def _value(self, name: str) -> np.ndarray:
        return self._chosen.value(name)

    def _choose(self, plan: Plan) -> None:
        self._chosen = self._by_plan[plan.fingerprint]
        self.plan = plan
