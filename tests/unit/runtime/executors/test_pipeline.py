"""The pipeline executor on engines that add: order, overlap, errors, bounds, and that nothing is left running."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.backends.contract import EngineArtifact
from intarsia.config import Pipeline, RunSettings
from intarsia.errors import ClosedError, FeedError, PlanError
from intarsia.runtime.executors.executor import Executor
from intarsia.runtime.executors.pinning import pinned
from intarsia.runtime.executors.pipeline import PipelineExecutor, load_pipeline, stage_cores
from intarsia.runtime.executors.stream import Stream
from tests.unit.runtime.chains import TRAITS, Adder, Watcher, expected, feed, our_threads, plan_of_reads, unwatched

READS = (["x"], ["v0"], ["v1", "x"], ["v2"])
LAST = "v3"
PATIENCE_S = 300.0
PIPELINES = [
    Pipeline(stages=(4,), threads=(1,), lanes=2, depth=4),
    Pipeline(stages=(2, 2), threads=(1, 1), depth=4),
    Pipeline(stages=(1, 1, 2), threads=(1, 1, 1), depth=2),
    Pipeline(stages=(1, 3), threads=(2, 1), lanes=3, depth=7),
]


def pipeline_executor(pipeline: Pipeline, watch: Watcher = unwatched) -> PipelineExecutor:
    plan = plan_of_reads(READS, RunSettings(threads=pipeline.busy, pipeline=pipeline), [LAST])
    lanes = []
    for _ in range(pipeline.lanes):
        engines = [Adder(step, watch) for step in plan.steps]
        frames = range(-(-pipeline.depth // pipeline.lanes))
        lanes.append([Executor(plan, engines, [TRAITS] * len(engines)) for _ in frames])
    return PipelineExecutor(plan, lanes, pipeline)


def serial_executor() -> Executor:
    plan = plan_of_reads(READS, RunSettings(threads=1), [LAST])
    return Executor(plan, [Adder(step) for step in plan.steps], [TRAITS] * len(plan.steps))


def answers(stream: Iterable[dict[str, np.ndarray]]) -> list[float]:
    return [float(result[LAST][1, 2]) for result in stream]


def right(numbers: Iterable[float]) -> list[float]:
    return [expected(READS, number)[LAST] for number in numbers]


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_results_come_in_the_order_of_the_requests(pipeline: Pipeline) -> None:
    runner = pipeline_executor(pipeline)
    numbers = range(40)
    assert answers(runner.stream(map(feed, numbers))) == right(numbers)
    assert answers(runner.stream([])) == []
    assert our_threads() == []


@given(st.lists(st.sampled_from([0.0, 0.0005, 0.002]), min_size=1, max_size=8), st.sampled_from(PIPELINES))
def test_order_holds_however_long_steps_take(delays: list[float], pipeline: Pipeline) -> None:
    pause = threading.Event()

    def watch(name: str, number: float) -> None:
        pause.wait(delays[int(number) % len(delays)])

    numbers = range(12)
    assert answers(pipeline_executor(pipeline, watch).stream(map(feed, numbers))) == right(numbers)


def test_a_stage_works_on_a_request_while_the_stage_before_works_on_the_next() -> None:
    begun = [threading.Event() for _ in range(5)]
    met = []

    def watch(name: str, number: float) -> None:
        if name == "v0":
            begun[int(number)].set()
        elif name == LAST and number < expected(READS, 4)["v2"]:
            request = next(n for n in range(4) if expected(READS, n)["v2"] == number)
            met.append(begun[request + 1].wait(PATIENCE_S))

    runner = pipeline_executor(PIPELINES[1], watch)
    assert answers(runner.stream(map(feed, range(5)))) == right(range(5))
    assert met == [True] * 4


def test_lanes_work_on_different_requests_at_one_time() -> None:
    both = threading.Barrier(2, timeout=PATIENCE_S)

    def watch(name: str, number: float) -> None:
        if name == "v0":
            both.wait()

    assert answers(pipeline_executor(PIPELINES[0], watch).stream(map(feed, range(6)))) == right(range(6))


@pytest.mark.parametrize("pipeline", [*PIPELINES, None])
def test_an_error_comes_in_the_place_of_its_result(pipeline: Pipeline | None) -> None:
    requests = [feed(0), feed(np.nan), feed(2), {"y": np.zeros(3)}, feed(4)]
    stream = serial_executor().stream(requests) if pipeline is None else pipeline_executor(pipeline).stream(requests)
    got: list[object] = []
    while len(got) < len(requests):
        try:
            got.append(answers([next(stream)])[0])
        except (ArithmeticError, FeedError) as error:
            got.append(type(error))
    assert got == [*right([0]), ArithmeticError, *right([2]), FeedError, *right([4])]
    with pytest.raises(StopIteration):
        next(stream)
    assert our_threads() == []


def test_an_error_of_the_source_of_feeds_comes_in_its_place() -> None:
    def source() -> Iterator[dict[str, np.ndarray]]:
        yield feed(1)
        raise OSError("the camera is gone")

    stream = pipeline_executor(PIPELINES[0]).stream(source())
    assert answers([next(stream)]) == right([1])
    with pytest.raises(OSError, match="camera"):
        next(stream)
    assert list(stream) == []


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_no_more_requests_are_taken_than_may_be_in_flight(pipeline: Pipeline) -> None:
    taken = []

    def source() -> Iterator[dict[str, np.ndarray]]:
        for number in range(100):
            taken.append(number)
            yield feed(number)

    with pipeline_executor(pipeline).stream(source()) as stream:
        for results in range(10):
            next(stream)
            assert len(taken) <= results + pipeline.depth
    assert our_threads() == []


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_closing_in_the_middle_leaves_no_threads(pipeline: Pipeline) -> None:
    runner = pipeline_executor(pipeline)
    stream = runner.stream(map(feed, range(100)))
    next(stream)
    assert len(our_threads()) == pipeline.lanes * len(pipeline.stages)
    stream.close()
    stream.close()
    assert our_threads() == []
    assert list(stream) == []
    assert answers(runner.stream(map(feed, range(9)))) == right(range(9))


def test_a_forgotten_stream_ends() -> None:
    runner = pipeline_executor(PIPELINES[1])
    next(runner.stream(map(feed, range(100))))
    assert our_threads() == []


def test_streams_side_by_side_keep_their_own_order() -> None:
    runner = pipeline_executor(PIPELINES[3])
    first, second = runner.stream(map(feed, range(20))), runner.stream(map(feed, range(50, 70)))
    pairs = list(zip(answers_of(first), answers_of(second), strict=True))
    assert pairs == list(zip(right(range(20)), right(range(50, 70)), strict=True))
    assert our_threads() == []


def answers_of(stream: Stream) -> Iterator[float]:
    for result in stream:
        yield from answers([result])


def test_what_a_request_holds_is_copied_when_it_is_taken() -> None:
    buffer = feed(0)

    def source() -> Iterator[dict[str, np.ndarray]]:
        for number in range(20):
            buffer["x"][...] = number
            yield buffer

    assert answers(pipeline_executor(PIPELINES[0]).stream(source())) == right(range(20))


@pytest.mark.parametrize("pipeline", [PIPELINES[0], None])
@pytest.mark.parametrize("feeds", [feed(1), 5, None])
def test_what_is_no_stream_is_refused(feeds: object, pipeline: Pipeline | None) -> None:
    stream = serial_executor().stream if pipeline is None else pipeline_executor(pipeline).stream
    with pytest.raises(FeedError, match="give an iterable of mappings"):
        stream(feeds)  # type: ignore[arg-type]
    assert our_threads() == []


def test_a_closed_model_streams_no_more_and_an_open_stream_says_so() -> None:
    runner = pipeline_executor(PIPELINES[0])
    stream = runner.stream(map(feed, range(100)))
    next(stream)
    runner.close()
    runner.close()
    assert our_threads() == []
    with pytest.raises(ClosedError, match="closed"):
        list(stream)
    with pytest.raises(ClosedError, match="closed"):
        runner.stream([])


def test_engines_that_lanes_share_are_freed_once_no_stage_runs() -> None:
    begun, over, running = threading.Event(), threading.Event(), []

    def watch(name: str, number: float) -> None:
        running.append(name)
        begun.set()
        assert over.wait(PATIENCE_S)
        assert not engines[0].is_closed
        running.remove(name)

    plan = plan_of_reads(READS, RunSettings(threads=2, pipeline=PIPELINES[1]), [LAST])
    engines = [Adder(step, watch) for step in plan.steps]
    runner = PipelineExecutor(plan, [[Executor(plan, engines, [TRAITS] * 4) for _ in range(4)]], PIPELINES[1])
    stream = runner.stream(map(feed, range(100)))
    threading.Thread(target=next, args=(stream,), daemon=True).start()
    assert begun.wait(PATIENCE_S)
    closers = [threading.Thread(target=runner.close) for _ in range(3)]
    for thread in closers:
        thread.start()
    over.set()
    for thread in closers:
        thread.join(PATIENCE_S)
    assert running == []
    assert all(engine.is_closed for engine in engines)
    assert our_threads() == []


@pytest.mark.parametrize("request_", [None, 5, [feed(1)], "x"])
@pytest.mark.parametrize("pipeline", [PIPELINES[0], None])
def test_a_request_that_is_no_mapping_is_an_error_in_its_place(pipeline: Pipeline | None, request_: object) -> None:
    requests: list[Any] = [request_, feed(2)]
    stream = serial_executor().stream(requests) if pipeline is None else pipeline_executor(pipeline).stream(requests)
    with pytest.raises(FeedError, match="a request is a mapping"):
        next(stream)
    assert answers(stream) == right([2])


def test_a_pipeline_that_does_not_fit_the_plan_is_refused() -> None:
    settings = RunSettings(threads=1, pipeline=PIPELINES[0])
    plan = plan_of_reads(READS, settings, [LAST])
    artifacts = [EngineArtifact(files={})] * len(plan.steps)
    with pytest.raises(PlanError, match="2 threads together, but the plan has 1"):
        load_pipeline(plan, artifacts, {})
    embedded = replace(plan, settings=replace(settings, threads=2, embed=True))
    with pytest.raises(PlanError, match="'embed' or 'pipeline'"):
        load_pipeline(embedded, artifacts, {})
    with pytest.raises(PlanError, match="no pipeline"):
        load_pipeline(replace(plan, settings=RunSettings(threads=1)), artifacts, {})


needs_two_cores = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="this takes two cores"
)
ON_TWO = Pipeline(stages=(1, 3), threads=(1, 1), depth=4, processors=(1, 0))


@needs_two_cores
def test_the_thread_of_each_stage_is_bound_to_its_processor_and_answers_are_right() -> None:
    seen: dict[str, set[int]] = {}

    def watch(name: str, number: float) -> None:
        seen[name] = os.sched_getaffinity(0)

    before = os.sched_getaffinity(0)
    plan = plan_of_reads(READS, RunSettings(threads=2, pipeline=ON_TWO), [LAST])
    engines = [Adder(step, watch) for step in plan.steps]
    frames = [Executor(plan, engines, [TRAITS] * len(engines)) for _ in range(ON_TWO.depth)]
    first, rest = stage_cores(ON_TWO)
    runner = PipelineExecutor(plan, [frames], ON_TWO, (first, rest))
    assert answers(runner.stream(map(feed, range(9)))) == right(range(9))
    assert seen == {"v0": first, "v1": rest, "v2": rest, "v3": rest}
    assert first.isdisjoint(rest)
    assert first | rest == before == os.sched_getaffinity(0)


@needs_two_cores
def test_threads_that_start_while_a_thread_is_bound_stay_there_and_it_does_not() -> None:
    before = os.sched_getaffinity(0)
    core = {min(before)}
    found: list[set[int]] = []
    with pinned(core):
        thread = threading.Thread(target=lambda: found.append(os.sched_getaffinity(0)))
        thread.start()
    thread.join()
    assert found == [core]
    assert os.sched_getaffinity(0) == before


def test_fewer_cores_than_processors_are_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3})
    with pytest.raises(PlanError, match=r"cpu:1: this process may use 1 core, and 2 processors need one each"):
        stage_cores(ON_TWO)
