"""Which steps may run at one time: laws over random plans, and the cases a reader can draw."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intarsia.config import RunSettings
from intarsia.runtime.executors.parallel_levels import moments, sections, step_settings, width
from intarsia.runtime.plan import Plan
from tests.unit.runtime.chains import plan_of_reads

PARALLEL = RunSettings(threads=4, parallel=True)
DIAMOND = (["x"], ["v0"], ["v1"], ["v0"], ["v2", "v3"])


def plan(reads: Sequence[Sequence[str]], settings: RunSettings = PARALLEL) -> Plan:
    return plan_of_reads(reads, settings, [f"v{len(reads) - 1}"])


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Each step reads the input or up to three of the steps before it."""
    reads = []
    for place in range(draw(st.integers(1, 9))):
        earlier = draw(st.lists(st.integers(-1, place - 1), min_size=1, max_size=3, unique=True))
        reads.append(["x" if number < 0 else f"v{number}" for number in earlier])
    return plan(reads, RunSettings(threads=draw(st.integers(1, 6)), parallel=draw(st.booleans())))


@pytest.mark.parametrize(
    ("reads", "expected"),
    [
        (DIAMOND, (((0,),), ((1, 2), (3,)), ((4,),))),
        ((["x"], ["x"], ["x"]), (((0,), (1,), (2,)),)),
        ((["x"], ["v0"], ["v1"]), (((0,),), ((1,),), ((2,),))),
        # Two sections of two branches with no step between them hang together crosswise: nothing to part.
        ((["x"], ["x"], ["v0", "v1"], ["v0", "v1"]), (((0, 1, 2, 3),),)),
    ],
)
def test_sections_of(reads: Sequence[Sequence[str]], expected: tuple[tuple[tuple[int, ...], ...], ...]) -> None:
    assert sections(plan(reads)) == expected


@given(plans())
def test_every_step_is_in_one_branch_and_finds_what_it_reads(some: Plan) -> None:
    order = sections(some)
    placed = [place for section in order for branch in section for place in branch]
    assert sorted(placed) == list(range(len(some.steps)))
    written = {"x"}
    for section in order:
        for branch in section:
            own = set(written)
            for place in branch:
                assert {read.name for read in some.steps[place].inputs} <= own
                own.add(f"v{place}")
        written |= {f"v{place}" for branch in section for place in branch}


@given(plans())
def test_threads_of_steps_that_run_at_one_time_stay_within_the_budget(some: Plan) -> None:
    settings = step_settings(some)
    for section in sections(some):
        shares = sorted((max(settings[place].threads for place in branch) for branch in section), reverse=True)
        at_once = min(len(section), some.settings.threads)
        assert sum(shares[:at_once]) <= some.settings.threads
        assert min(shares) >= 1
        assert at_once <= width(some)
    assert all(own.spin is some.settings.spin for own in settings)


@given(plans())
def test_moments_follow_the_order(some: Plan) -> None:
    times = moments(some)
    assert list(times) == sorted(times)
    if not some.settings.parallel:
        assert list(times) == list(range(len(some.steps)))


def test_threads_are_shared_out() -> None:
    assert [own.threads for own in step_settings(plan(DIAMOND))] == [4, 2, 2, 2, 4]
    odd = RunSettings(threads=3, parallel=True)
    assert [own.threads for own in step_settings(plan(DIAMOND, odd))] == [3, 2, 2, 1, 3]
    assert [own.threads for own in step_settings(plan(DIAMOND, RunSettings(threads=4)))] == [4] * 5
