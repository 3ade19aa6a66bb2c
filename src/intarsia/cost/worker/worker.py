"""The child process in which engines compile and run.

Names of `runtime` load what they need when they are first used, as in a process that only runs artifacts. It times a
workload through the same `runtime` code as the product, so measuring is running. Whatever an engine does to it, the
parent only sees an answer that does not come. It dies with its parent.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeVar

import numpy as np

from intarsia import runtime
from intarsia.backends import registry
from intarsia.backends.contract import ProfileRequest
from intarsia.backends.contract.failures import Cause, cause_of
from intarsia.cost.reference.reference_io import VALUES, record_values, recorded_tolerances, recorded_values
from intarsia.cost.timing.clients import Clients
from intarsia.cost.timing.clock_calibration import ClockProbe, probe_file
from intarsia.cost.timing.memory import MemoryGauge
from intarsia.cost.timing.node_times import node_times
from intarsia.cost.timing.sampling import Effort, Samples, sample, sample_load, sample_stream
from intarsia.cost.timing.statistics import median
from intarsia.cost.worker import protocol
from intarsia.cost.worker.deadline import process_age
from intarsia.errors import BackendError, IntarsiaError, MismatchError
from intarsia.files import replacing, temporary_cache, temporary_root
from intarsia.runtime import Artifact, CompiledModel, Executor
from intarsia.runtime.compiled_partitions import CompiledPartitions
from intarsia.runtime.environment import applied, bind_to_cores, load_environment
from intarsia.runtime.executors.embedded import EmbeddedExecutor
from intarsia.runtime.executors.pipeline import load_streams
from intarsia.runtime.verify import Judgement, verify_plan
from intarsia.target import Target

if TYPE_CHECKING:
    from intarsia.graph import Graph
    from intarsia.runtime import Build, Plan

PR_SET_PDEATHSIG = 1
Found = TypeVar("Found")
_Timed = tuple[float, Judgement | None, Samples]
"""Seconds to load, what came of checking, and the samples."""


class Worker:
    """Answers requests about one saved graph."""

    def __init__(self, folder: Path, started_s: float = 0.0, shared: Path | None = None) -> None:
        self._folder = folder
        self._shared = shared
        self._started_s = started_s
        self._opened: Executor | None = None
        self._clients: Clients[Executor] | None = None
        self._evaluated: protocol.Workload | None = None

    @cached_property
    def _partitions(self) -> CompiledPartitions:
        return CompiledPartitions(self._folder / "compiled")

    @cached_property
    def _probe(self) -> ClockProbe:
        return ClockProbe(probe_file(self._shared))

    @cached_property
    def _graph(self) -> Graph:
        from intarsia.graph import open_graph

        return open_graph((self._folder / "graph.onnx").read_bytes(), self._folder / "weights.bin")

    def answer(self, request: protocol.Request) -> protocol.Answer:
        """Do what is asked, by the method called after the verb; a failure is an answer that says whose doing it is."""
        try:
            answer: protocol.Answer = getattr(self, f"_{request.verb}")(request)
            return answer
        except MismatchError as error:
            return protocol.Failed(stage="verify", reason=str(error), cause=Cause.ENGINE)
        except BackendError as error:
            return protocol.Failed(stage=error.stage, reason=error.detail, cause=cause_of(error))
        except IntarsiaError as error:
            return protocol.Failed(stage="prepare", reason=str(error), cause=cause_of(error))
        except Exception as error:  # an engine's exception that no guard caught is still only data
            return protocol.Failed(stage="run", reason=f"{type(error).__name__}: {error}"[:2000], cause=cause_of(error))

    def _wait(self, _: protocol.Wait) -> protocol.Waited:
        return protocol.Waited(started_s=self._started_s)

    def _measure(self, request: protocol.Measure) -> protocol.Measured:
        plan = _plan(self._graph, request.workload)
        built = runtime.build(self._graph, plan, self._partitions)
        effort = Effort(seconds=request.seconds, min_runs=request.min_runs, hopeless_ms=request.hopeless_ms)
        if request.timed == "stream":
            load_s, judged, (samples, complete) = self._streamed(built, effort)
        elif request.timed == "load":
            load_s, judged, (samples, complete) = self._under_load(built, effort)
        else:
            load_s, judged, (samples, complete) = self._called(built, request, effort)
        return protocol.Measured(
            samples_ms=samples,
            compile_s=built.compile_s,
            load_s=load_s,
            error=None if judged is None else judged.error,
            allowed=None if judged is None else judged.allowed,
            is_complete=complete,
        )

    def _called(self, built: Build, request: protocol.Measure, effort: Effort) -> _Timed:
        start = time.perf_counter()
        executor = runtime.load_build(self._graph, built)
        load_s = time.perf_counter() - start
        with closing(executor):
            judged = self._check(executor, self._judged(executor.plan))
            steps = self._timed_steps(executor, request)
            return load_s, judged, sample(lambda: _milliseconds(executor.timed_call(), steps), effort, self._probe)

    def _streamed(self, built: Build, effort: Effort) -> _Timed:
        start = time.perf_counter()
        streams = load_streams(built.plan, built.artifacts, runtime.weights_of(self._graph, built))
        load_s = time.perf_counter() - start
        with closing(streams):
            first = streams if isinstance(streams, Executor) else streams.first
            judged = self._check(first, self._judged(first.plan))
            with streams.stream(repeat(self._feeds(built.plan))) as stream:
                return load_s, judged, sample_stream(stream, effort, self._probe)

    def _under_load(self, built: Build, effort: Effort) -> _Timed:
        start = time.perf_counter()
        with ExitStack() as stack:
            executors = [
                stack.enter_context(closing(runtime.load_build(self._graph, built)))
                for _ in range(built.plan.settings.instances)
            ]
            load_s = time.perf_counter() - start
            clients = stack.enter_context(Clients(executors))
            judged = _worst(clients.each(lambda executor: self._check(executor, self._judged(executor.plan))))
            return load_s, judged, sample_load(clients, effort, self._probe)

    def _observe(self, request: protocol.Observe) -> protocol.Observed:
        from intarsia.graph import extract
        from intarsia.runtime.executors.drawn_feeds import graph_feeds

        target, model = Target(request.target), extract(self._graph, self._graph.position)
        feeds = graph_feeds(self._graph, request.seed)
        backend = registry.of(target)
        with applied(load_environment([backend.name], protocol.OBSERVING)):
            arrays = backend.observe(model, request.names, feeds, target, protocol.OBSERVING)
        if arrays is None:
            return protocol.Observed(types=None)
        values = dict(zip(request.names, arrays, strict=True))
        record_values(Path(request.folder), values)
        return protocol.Observed(types={name: (_dtype_name(array), array.shape) for name, array in values.items()})

    def _expose(self, request: protocol.Expose) -> protocol.Evaluated:
        """What an engine makes of values inside the graph, through the road that every plan takes."""
        from intarsia.graph.reference.stages import exposing

        graph = exposing(self._graph, request.names)
        plan = _plan(graph, request.workload)
        with closing(runtime.load_build(graph, runtime.build(graph, plan))) as executor:
            record_values(Path(request.folder), executor.run(self._feeds(plan)))
        return protocol.Evaluated()

    def _inspect(self, request: protocol.Inspect) -> protocol.NodeTimes:
        plan = _plan(self._graph, request.workload)
        built = runtime.build(self._graph, plan, self._partitions)
        artifact, target = built.artifacts[0], plan.steps[0].target
        profile = ProfileRequest(
            artifact=artifact,
            weights={name: self._graph.weights[name].array() for name in artifact.weights},
            feeds=self._feeds(plan),
            target=target,
            settings=plan.settings,
            runs=request.runs,
        )
        with applied(load_environment(plan.engines, plan.settings)):
            runs = registry.of(target).kernel_times(profile)
        inside = frozenset(plan.steps[0].nodes)
        nodes = [node for node in self._graph.nodes if node.id in inside]
        return protocol.NodeTimes(ms=dict(node_times(runs or (), nodes)))

    def _timed_steps(self, executor: Executor, request: protocol.Measure) -> range | tuple[int, ...]:
        """Places of the steps whose time is asked for; what is not to compute plays back from now on."""
        count = len(executor.plan.steps)
        if request.timed in ("last", "all"):
            return range(count - 1, count) if request.timed == "last" else range(count)
        if not isinstance(executor, EmbeddedExecutor):
            raise MismatchError("nothing is embedded in this plan, so no part of it can be timed by itself")
        borders = {value.name for step in executor.plan.steps for value in step.outputs}
        live = () if request.partition is None else (request.partition,)
        executor.play(recorded_values(self._folder / VALUES, borders), live)
        return live if request.timed == "partition" else executor.main_places

    def _write(self, request: protocol.Write) -> protocol.Written:
        plan = _plan(self._graph, request.workload)
        built = runtime.build(self._graph, plan, self._partitions)
        runtime.write_artifact(Path(request.path), self._graph, built)
        return protocol.Written(compile_s=built.compile_s)

    def _open(self, request: protocol.Open) -> protocol.Opened:
        gauge = MemoryGauge()
        start = time.perf_counter()
        trust = replace(request.trust, trusted=True)  # this process may die
        count = request.instances
        loaded = [CompiledModel(Artifact(Path(request.path), trust)).load() for _ in range(count or 1)]
        load_s = time.perf_counter() - start
        self._opened, self._clients = loaded[0], None if count is None else Clients(loaded)
        feeds = self._feeds(self._opened.plan)
        start = time.perf_counter()
        for executor in loaded:
            executor.feed(feeds)
        self._each_opened(Executor.call)
        first_run_s = time.perf_counter() - start
        self._each_opened(Executor.call)  # some engines settle in their second run
        memory = gauge.read()
        judged = _worst(self._each_opened(self._check))
        return protocol.Opened(
            load_s=load_s,
            first_run_s=first_run_s,
            memory=memory,
            error=None if judged is None else judged.error,
            allowed=None if judged is None else judged.allowed,
        )

    def _round(self, request: protocol.Round) -> protocol.Times:
        executor = self._executor()
        for _ in range(request.warm):
            executor.call()
        spent = []
        for _ in range(request.runs):
            start = time.perf_counter_ns()
            executor.call()
            spent.append((time.perf_counter_ns() - start) / 1e6)
        return protocol.Times(ms=tuple(spent))

    def _load(self, request: protocol.Load) -> protocol.Times:
        if self._clients is None:
            raise MismatchError("no artifact was opened")
        if request.warm:
            self._clients.burst(request.warm)
        burst = self._clients.burst(request.runs)
        return protocol.Times(ms=burst.calls_ms, between_ms=burst.between_ms)

    def _respond(self, request: protocol.Respond) -> protocol.Evaluated:
        executor = self._executor()
        record_values(Path(request.folder), executor.run(self._feeds(executor.plan)))
        return protocol.Evaluated()

    def _evaluate(self, request: protocol.Evaluate) -> protocol.Evaluated:
        if request.workload is not None and request.workload != self._evaluated:
            plan = _plan(self._graph, request.workload)
            if self._opened is not None:
                self._opened.close()
            self._opened = runtime.load_build(self._graph, runtime.build(self._graph, plan, self._partitions))
            self._evaluated = request.workload
        executor = self._executor()
        more = {name: np.array(numbers, np.float32) for name, numbers in request.more.items()}
        for source, place in zip(request.inputs, request.outputs, strict=True):
            with np.load(source) as drawn:
                answers = executor.run({**drawn, **more})
            with replacing(Path(place), lasts=False) as draft, draft.open("wb") as file:
                np.savez(file, *answers.values())
        return protocol.Evaluated()

    def _profile(self, request: protocol.Profile) -> protocol.Times:
        executor = self._executor()
        runs = [executor.timed_call() for _ in range(request.runs)]
        moved = [executor.timed_transfers() for _ in range(request.runs)] if executor.transfer_count else []
        return protocol.Times(ms=_medians(runs), transfers_ms=_medians(moved))

    def _judged(self, plan: Plan) -> Collection[str] | None:
        """The values that are compared; in reduced precision only the outputs, as errors inside may cancel out."""
        return None if plan.settings.max_error is None else self._graph.outputs

    def _check(self, executor: Executor, judged: Collection[str] | None = None) -> Judgement | None:
        """Feed recorded values and compare all that has a recorded answer; the worst of the outputs."""
        plan = executor.plan
        feeds = self._feeds(plan)
        borders = {value.name for step in plan.steps for value in step.outputs}
        if judged is not None:
            borders &= set(judged)
        reference = recorded_values(self._folder / VALUES, borders)
        worst = verify_plan(executor, feeds, reference, recorded_tolerances(self._folder / VALUES))
        return worst if any(value.name in reference for value in plan.outputs) else None

    def _feeds(self, plan: Plan) -> Mapping[str, np.ndarray]:
        recorded = recorded_values(self._folder / VALUES, [value.name for value in plan.inputs])
        missing = [value for value in plan.inputs if value.name not in recorded]
        return {**recorded, **runtime.random_feeds(missing, seed=0)}

    def _each_opened(self, act: Callable[[Executor], Found]) -> list[Found]:
        """Act on what was opened; on threads of their own under load, as engines keep threads for who calls them."""
        return [act(self._executor())] if self._clients is None else self._clients.each(act)

    def _executor(self) -> Executor:
        if self._opened is None:
            raise MismatchError("no artifact was opened")
        return self._opened


def _worst(several: Sequence[Judgement | None]) -> Judgement | None:
    """What came of checking the instance that is furthest off."""
    known = [judged for judged in several if judged is not None]
    return max(known, key=lambda judged: judged.error, default=None)


def _plan(graph: Graph, workload: protocol.Workload) -> Plan:
    return runtime.plan_of(graph, [partition.partition() for partition in workload.partitions], workload.settings)


def _dtype_name(array: np.ndarray) -> str:
    return "string" if array.dtype.hasobject else array.dtype.name


def _milliseconds(spent: Sequence[int], steps: Iterable[int]) -> float:
    return sum(spent[step] for step in steps) / 1e6


def _medians(runs: Sequence[Sequence[int]]) -> tuple[float, ...]:
    """The median of each place over the runs, in milliseconds of nanoseconds; nothing for no runs."""
    return tuple(median(column) / 1e6 for column in zip(*runs, strict=True))


def load_graphs() -> None:
    """Import what reads graphs and draws their inputs, before what an artifact needs beside it is timed and weighed."""
    from intarsia.graph import open_graph  # noqa: F401
    from intarsia.runtime.executors import drawn_feeds  # noqa: F401


def die_with_parent() -> None:
    """Ask the kernel to end this process when its parent ends, even by SIGKILL (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def private_output() -> IO[str]:
    """The pipe to the parent, taken away from the libraries: what they print goes to standard error."""
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return pipe


def main() -> None:
    """Answer requests until the parent closes the pipe."""
    die_with_parent()
    bind_to_cores()
    pipe = private_output()
    root = temporary_root()
    # Whatever is put there while this works, who ends this process by force removes the folder.
    tempfile.tempdir = os.environ["TMPDIR"] = sys.argv[2]
    worker = Worker(Path(sys.argv[1]), process_age(), temporary_cache(root))
    for line in sys.stdin:
        pipe.write(worker.answer(protocol.REQUEST.validate_json(line)).model_dump_json() + "\n")
        pipe.flush()
