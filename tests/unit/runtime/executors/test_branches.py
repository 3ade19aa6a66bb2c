"""Plans in branches on engines that add: the same results, at one time, on memory that is not shared."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given

from intarsia.config import RunSettings
from intarsia.runtime.executors.branches import BranchExecutor, ThreadPool
from intarsia.runtime.executors.parallel_levels import width
from intarsia.runtime.plan import Plan
from tests.unit.runtime.chains import TRAITS, Adder, Watcher, expected, feed, our_threads, unwatched
from tests.unit.runtime.executors.test_parallel_levels import DIAMOND, plan, plans

PATIENCE_S = 300.0


def branch_executor(some: Plan, watch: Watcher = unwatched) -> BranchExecutor:
    return BranchExecutor(some, [Adder(step, watch) for step in some.steps], [TRAITS] * len(some.steps))


def reads_of(some: Plan) -> list[list[str]]:
    return [[value.name for value in step.inputs] for step in some.steps]


@given(plans())
def test_results_are_those_of_one_step_after_another(some: Plan) -> None:
    runner = branch_executor(some)
    output = some.outputs[0].name
    for number in (1.0, 5.0):
        assert (runner.run(feed(number))[output] == expected(reads_of(some), number)[output]).all()
        runner.timed_call()
        assert (runner.results()[output] == expected(reads_of(some), number)[output]).all()
    runner.close()
    runner.close()
    assert our_threads() == []


def test_one_that_nobody_closes_is_freed() -> None:
    both = threading.Barrier(2, timeout=PATIENCE_S)

    def watch(name: str, number: float) -> None:
        if name in ("v1", "v3"):
            both.wait()

    runner = branch_executor(plan(DIAMOND), watch)
    runner.run(feed(0))
    known = weakref.ref(runner)
    del runner
    end = time.monotonic() + PATIENCE_S
    while (known() is not None or our_threads()) and time.monotonic() < end:
        gc.collect()
        time.sleep(0.01)
    assert known() is None
    assert our_threads() == []


def test_branches_run_at_one_time() -> None:
    both = threading.Barrier(2, timeout=PATIENCE_S)

    def watch(name: str, number: float) -> None:
        if name in ("v1", "v3"):
            both.wait()

    runner = branch_executor(plan(DIAMOND), watch)
    runner.run(feed(0))
    (start, end), (other_start, other_end) = runner.spans[1], runner.spans[3]
    assert max(start, other_start) < min(end, other_end)
    runner.close()


def test_no_more_branches_run_at_one_time_than_there_are_threads() -> None:
    lock, running, most = threading.Lock(), 0, 0
    pause = threading.Event()

    def watch(name: str, number: float) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        pause.wait(0.002)
        with lock:
            running -= 1

    fan = plan([["x"]] * 7, RunSettings(threads=3, parallel=True))
    runner = branch_executor(fan, watch)
    for _ in range(5):
        runner.run(feed(0))
    runner.close()
    assert width(fan) == 3
    assert most <= 3


@pytest.mark.parametrize("kind", ["call", "timed_call"])
@pytest.mark.parametrize("failing", ["v1", "v3"])
def test_an_error_in_a_branch_is_raised_when_all_branches_are_over(failing: str, kind: str) -> None:
    seen = []

    def watch(name: str, number: float) -> None:
        seen.append(name)
        if name == failing and len(seen) < 5:
            raise ArithmeticError(f"{name} on purpose")

    runner = branch_executor(plan((["x"], ["v0"], ["v0"], ["v0"], ["v1", "v2", "v3"])), watch)
    runner.feed(feed(1))
    with pytest.raises(ArithmeticError, match=failing):
        getattr(runner, kind)()
    assert sorted(seen) == ["v0", "v1", "v2", "v3"]
    assert runner.run(feed(1))["v4"][0, 0] == 10
    runner.close()


@given(plans())
def test_values_of_one_section_share_no_memory(some: Plan) -> None:
    runner = branch_executor(some)
    for section in runner.sections:
        steps = [some.steps[place] for branch in section for place in branch]
        names = {value.name for step in steps for value in (*step.inputs, *step.outputs)}
        for one, other in combinations(sorted(names), 2):
            assert not np.shares_memory(runner.value(one), runner.value(other))
    runner.close()


def test_times_of_steps_add_up_to_the_call() -> None:
    runner = branch_executor(plan(DIAMOND))
    runner.feed(feed(0))
    before = time.perf_counter_ns()
    spent = runner.timed_call()
    passed = time.perf_counter_ns() - before
    own = [[runner.spans[place] for branch in section for place in branch] for section in runner.sections]
    computing = sum(max(end for _, end in spans) - min(start for start, _ in spans) for spans in own)
    assert len(spent) == len(DIAMOND)
    assert computing - len(spent) <= sum(spent) <= passed  # each figure is rounded down
    runner.close()


@pytest.mark.parametrize("size", [0, 1, 3])
@pytest.mark.parametrize("jobs", [1, 2, 9])
def test_a_crew_does_every_job_once(size: int, jobs: int) -> None:
    pool = ThreadPool(size)
    done: list[int] = []
    for _ in range(3):
        done.clear()
        pool.run([lambda number=number: done.append(number) for number in range(jobs)])  # type: ignore[misc]
        assert sorted(done) == list(range(jobs))
    pool.close()
