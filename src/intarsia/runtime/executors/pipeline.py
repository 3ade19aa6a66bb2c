"""The ``pipeline`` executor: a stream of requests through stages that are at work on different requests at one time.

Each request in flight has a frame, buffers of its own for all values of the plan; stages hand frames on and copy
nothing. What stages there are, and that they beat one request after the other, is the plan's business.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from itertools import accumulate, pairwise
from queue import SimpleQueue
from typing import NamedTuple

import numpy as np

from intarsia.backends.contract import EngineArtifact
from intarsia.config.settings import Pipeline
from intarsia.errors import ClosedError, ConfigError, PlanError
from intarsia.forks import Forkable
from intarsia.runtime.executors.executor import Executor
from intarsia.runtime.executors.feeds import check_feeds
from intarsia.runtime.executors.pinning import pin
from intarsia.runtime.executors.stages_inside import with_stages_inside
from intarsia.runtime.executors.stream import Feeds, Results, Stream, checked_request, failed, requests_of
from intarsia.runtime.loading import load_executables, load_steps, traits_of
from intarsia.runtime.plan import Plan
from intarsia.target.processors import Processor, processors_here

_CLOSED = "the model was closed; load it again to stream"


class PipelineExecutor(Forkable):
    """A plan loaded for streams. Threads are there while a stream is open; streams share them and the frames."""

    def __init__(
        self,
        plan: Plan,
        lanes: Sequence[Sequence[Executor]],
        pipeline: Pipeline,
        cores: Sequence[Processor] = (),
    ) -> None:
        """Prepare. ``cores`` are those that the thread of each stage is bound to, if any is."""
        self.plan = plan
        self.first = lanes[0][0]
        """The executor of one frame, for checks while no stream is open."""
        self._pipeline = pipeline
        self._free: SimpleQueue[_Frame] = SimpleQueue()
        self._lanes = [_Lane(pipeline.stages, self._free, cores) for _ in lanes]
        self._executors = [executor for frames in lanes for executor in frames]
        # One frame of each lane in turn, so that the first requests go to different lanes.
        for row in zip(*lanes, strict=True):
            for lane, executor in zip(self._lanes, row, strict=True):
                self._free.put(_Frame(lane=lane, executor=executor))
        self._lock = threading.RLock()
        self._open = 0
        self._is_closed = False
        # At the end of the interpreter whoever streams on a daemon thread waits from then on (`Turns.finish`).
        ends = [executor.finish for executor in self._executors]
        self._finalizer = weakref.finalize(self, _end, self._lock, self._lanes, ends)

    def stream(self, feeds: Iterable[Feeds]) -> Stream:
        """Results for these requests, in order; a `FeedError` for what is none, a `ClosedError` once it was closed."""
        requests = requests_of(feeds)
        with self._lock:
            if self._is_closed:
                raise ClosedError(_CLOSED)
            self._open += 1
            if self._open == 1:
                for lane in self._lanes:
                    lane.start()
        return Stream(self._submit, requests, self._pipeline.depth, self._release)

    def close(self) -> None:
        """Finish what is in flight, end the threads and free what the engines hold. Calling it twice is fine."""
        with self._lock:
            self._is_closed = True
        _end(self._lock, self._lanes, [executor.close for executor in self._executors])

    def after_fork(self) -> None:
        """The threads are the parent's."""
        self._finalizer.detach()
        self._lock = threading.RLock()
        self._is_closed = True
        for lane in self._lanes:
            lane.forget()

    def _submit(self, feeds: Feeds) -> Future[Results]:
        frame = self._free.get()
        try:
            frame.executor.feed(check_feeds(self.plan.inputs, checked_request(feeds)))
            future: Future[Results] = Future()
            with self._lock:
                if self._is_closed:
                    raise ClosedError("the model was closed while a stream was open; load it again to go on")
                frame.lane.inbox.put(_Request(frame=frame, future=future))
        except BaseException as error:
            self._free.put(frame)
            return failed(error)
        return future

    def _release(self) -> None:
        with self._lock:
            self._open -= 1
            ended = [] if self._open else _stopped(self._lanes)
        _join(ended)


class _Frame(NamedTuple):
    """Buffers for one request, bound to the engines of one lane."""

    lane: _Lane
    executor: Executor


class _Request(NamedTuple):
    """A request in flight."""

    frame: _Frame
    future: Future[Results]


class _Lane:
    """A row of stages, each with a thread that takes requests from the stage before."""

    def __init__(self, stages: Sequence[int], free: SimpleQueue[_Frame], cores: Sequence[Processor]) -> None:
        self._cores = tuple(cores) or (frozenset[int](),) * len(stages)
        self._spans = tuple(pairwise(accumulate(stages, initial=0)))
        self._free = free
        self._threads: list[threading.Thread] = []
        self._ended: list[threading.Thread] = []
        self.inbox: SimpleQueue[_Request | None] = SimpleQueue()

    def start(self) -> None:
        """Have a thread for each stage."""
        self.inbox = SimpleQueue()  # that of threads which are about to end is theirs
        inboxes = [self.inbox, *(SimpleQueue[_Request | None]() for _ in self._spans[1:])]
        for number in range(len(self._spans)):
            after = inboxes[number + 1] if number + 1 < len(inboxes) else None
            thread = threading.Thread(
                target=self._serve, args=(number, inboxes[number], after), daemon=True, name=f"intarsia-stage-{number}"
            )
            self._threads.append(thread)
            thread.start()

    def stop(self) -> list[threading.Thread]:
        """Have the threads end once they have done what is in their inboxes; those that end are to be waited for."""
        if self._threads:
            self._ended, self._threads = self._threads, []
            self.inbox.put(None)
        return self._ended

    def forget(self) -> None:
        """In a child: there are no threads."""
        self._threads, self._ended = [], []

    def _serve(
        self, stage: int, inbox: SimpleQueue[_Request | None], after: SimpleQueue[_Request | None] | None
    ) -> None:
        pin(self._cores[stage])
        while (request := inbox.get()) is not None:
            if self._advance(request, stage) and after is not None:
                after.put(request)
            else:
                self._free.put(request.frame)
            del request  # while it waits it must not keep alive what was asked and answered
        if after is not None:
            after.put(None)

    def _advance(self, request: _Request, stage: int) -> bool:
        """Run one stage of a request; whether the request is to go on."""
        executor, future = request.frame.executor, request.future
        if stage == 0 and not future.set_running_or_notify_cancel():
            return False
        start, end = self._spans[stage]
        try:
            executor.call_steps(start, end)
            if stage == len(self._spans) - 1:
                future.set_result(executor.results())
        except BaseException as error:
            future.set_exception(error)
            return False
        return True


def _end(lock: threading.RLock, lanes: Sequence[_Lane], ends: Sequence[Callable[[], None]]) -> None:
    """End the threads, then free the engines, which the executors share."""
    with lock:
        ended = _stopped(lanes)
    if threading.current_thread() in ended:  # a finaliser, inside of a stage, which has to go on first
        threading.Thread(target=_end, args=(lock, lanes, ends), name="intarsia-end").start()
        return
    _join(ended)
    for end in ends:
        end()


def _stopped(lanes: Sequence[_Lane]) -> list[threading.Thread]:
    return [thread for lane in lanes for thread in lane.stop()]


def _join(threads: Iterable[threading.Thread]) -> None:
    """Wait for their end; never under a lock, since a stream may be collected, and so closed, on any thread."""
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join()


def load_pipeline(
    plan: Plan, artifacts: Sequence[EngineArtifact], weights: Mapping[str, np.ndarray]
) -> PipelineExecutor:
    """Load the engines of each lane, each stage's on its threads.

    Raises:
        PlanError: The plan's pipeline does not fit its steps or its threads.
        LoadError: An engine did not load what it had compiled.
    """
    if any(step.inside is not None and step.inside.has_pipeline for step in plan.steps):
        plan, artifacts = with_stages_inside(plan, artifacts)
    pipeline = plan.settings.pipeline
    fault = "it has no pipeline" if pipeline is None else pipeline.fault(len(plan.steps), plan.settings.threads)
    if pipeline is None or fault is not None:
        raise PlanError(f"this plan cannot drive a stream: {fault}")
    if plan.settings.embed:
        raise PlanError("partitions inside one engine's session run one request after another: 'embed' or 'pipeline'")
    cores = stage_cores(pipeline)
    frames = [_frames(plan, pipeline, cores, artifacts, weights) for _ in range(pipeline.lanes)]
    return PipelineExecutor(plan, frames, pipeline, cores)


def stage_cores(pipeline: Pipeline) -> tuple[Processor, ...]:
    """The cores that each stage is bound to; none where stages run on any.

    Raises:
        PlanError: This process may use fewer cores than there are processors.
    """
    if not pipeline.processors:
        return ()
    try:
        processors = processors_here(max(pipeline.processors) + 1)
    except ConfigError as error:
        raise PlanError(f"this plan cannot drive a stream: {error}; compile it here") from error
    return tuple(processors[index] for index in pipeline.processors)


def load_streams(
    plan: Plan, artifacts: Sequence[EngineArtifact], weights: Mapping[str, np.ndarray]
) -> PipelineExecutor | Executor:
    """Load the engines for a stream, driven as the plan says. Errors are those of `load_pipeline`."""
    if not plan.has_pipeline:
        return load_steps(plan, artifacts, weights)
    return load_pipeline(plan, artifacts, weights)


def _frames(
    plan: Plan,
    pipeline: Pipeline,
    cores: Sequence[Processor],
    artifacts: Sequence[EngineArtifact],
    weights: Mapping[str, np.ndarray],
) -> list[Executor]:
    """Executors on buffers of their own over one set of engines; inside a stage, steps run one after the other."""
    plain = replace(plan, settings=replace(plan.settings, parallel=False))
    threads = [count for steps, count in zip(pipeline.stages, pipeline.threads, strict=True) for _ in range(steps)]
    settings = [replace(plain.settings, threads=count) for count in threads]
    bound = [own for steps, own in zip(pipeline.stages, cores, strict=True) for _ in range(steps)] if cores else None
    executables = load_executables(plain, artifacts, weights, settings, bound)
    traits = [traits_of(step) for step in plan.steps]
    return [Executor(plain, executables, traits) for _ in range(-(-pipeline.depth // pipeline.lanes))]
