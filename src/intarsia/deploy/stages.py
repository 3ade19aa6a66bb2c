"""Runs the stages of a model one after the other, each on its machine; values go through the process that calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import numpy as np

from intarsia.backends.contract import Signature
from intarsia.remote.model import AT_ONE_TIME
from intarsia.runtime import CompiledModel
from intarsia.runtime.executors.feeds import check_feeds
from intarsia.runtime.executors.stream import Stream, failed, requests_of, taken

Values = Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedStage:
    """A stage that is loaded on its machine.

    Attributes:
        machine: The name of its machine.
        model: What is called.
        drops: Values that nobody needs behind it.
    """

    machine: str
    model: CompiledModel
    drops: frozenset[str]


class StageRunner:
    """The stages of one model, loaded. Several threads may call it."""

    def __init__(
        self,
        stages: Sequence[LoadedStage],
        inputs: Sequence[Signature],
        outputs: Sequence[Signature],
    ) -> None:
        """Take them over.

        Args:
            stages: In the order in which they run.
            inputs: Of the model.
            outputs: Of the model.
        """
        self._stages = tuple(stages)
        self._inputs = tuple(inputs)
        self._outputs = tuple(value.name for value in outputs)

    def run(self, feeds: Values) -> dict[str, np.ndarray]:
        """Run once; errors are those of a `CompiledModel`, or a `RemoteError`."""
        values = dict(check_feeds(self._inputs, feeds))
        for stage in self._stages:
            values = _step(stage, values)
        return {name: values[name] for name in self._outputs}

    def stream(self, feeds: Iterable[Values]) -> Stream:
        """Run once for each request; machines work on different requests at one time."""
        with ExitStack() as undo:
            pools = [
                undo.enter_context(ThreadPoolExecutor(AT_ONE_TIME, f"stage on {stage.machine}"))
                for stage in self._stages
            ]
            requests: Iterator[Values] = requests_of(feeds)
            opened = undo.pop_all()

        def submit(request: Values) -> Future[dict[str, np.ndarray]]:
            try:
                values = taken(request, partial(check_feeds, self._inputs))
            except Exception as error:
                return failed(error)
            result: Future[dict[str, np.ndarray]] = Future()
            self._pass_on(pools, 0, values, result)
            return result

        return Stream(submit, requests, AT_ONE_TIME * len(self._stages), opened.close)

    def close(self) -> None:
        """Free all stages."""
        for stage in self._stages:
            stage.model.close()

    def _pass_on(
        self,
        pools: Sequence[ThreadPoolExecutor],
        number: int,
        values: dict[str, np.ndarray],
        result: Future[dict[str, np.ndarray]],
    ) -> None:
        """Have a stage work on the values of one request, and the next one on what comes of it."""

        def act() -> None:
            if result.cancelled():
                return
            try:
                found = _step(self._stages[number], values)
                if number + 1 < len(self._stages):
                    self._pass_on(pools, number + 1, found, result)
                    return
                outcome = {name: found[name] for name in self._outputs}
            except BaseException as error:
                if result.set_running_or_notify_cancel():
                    result.set_exception(error)
            else:
                if result.set_running_or_notify_cancel():
                    result.set_result(outcome)

        pools[number].submit(act)


def _step(stage: LoadedStage, values: Values) -> dict[str, np.ndarray]:
    feeds = {value.name: values[value.name] for value in stage.model.inputs}
    found = {**values, **stage.model(feeds)}
    return {name: array for name, array in found.items() if name not in stage.drops}
