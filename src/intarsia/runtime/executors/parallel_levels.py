"""Which steps of a plan may run at one time, and on how many threads each: pure order, nothing runs here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from intarsia.config.settings import RunSettings

if TYPE_CHECKING:
    from intarsia.runtime.plan import Plan, Step

Branch = tuple[int, ...]
"""Places of steps that run one after another."""
Section = tuple[Branch, ...]
"""Branches that do not depend on each other; a section is over when all of them are."""


def sections(plan: Plan) -> tuple[Section, ...]:
    """The plan as sections in running order; if it is not to run in parallel, each holds one step.

    A section lies between two steps on which every other step depends, or which depend on it; its branches are what
    hangs together there.
    """
    if not plan.settings.parallel or plan.settings.threads < 2:
        return tuple(((place,),) for place in range(len(plan.steps)))
    return tuple(_sections(plan.steps))


def moments(plan: Plan) -> tuple[int, ...]:
    """For each step when it runs, as the number of its section: values of one moment must not share memory."""
    order = {place: moment for moment, section in enumerate(sections(plan)) for branch in section for place in branch}
    return tuple(order[place] for place in range(len(plan.steps)))


def step_settings(plan: Plan) -> tuple[RunSettings, ...]:
    """What each step's engine obeys: the plan's settings, with its branch's share of the threads."""
    found = [plan.settings] * len(plan.steps)
    for section in sections(plan):
        for branch, threads in zip(section, _shares(plan.settings.threads, len(section)), strict=True):
            for place in branch:
                found[place] = replace(plan.settings, threads=threads)
    return tuple(found)


def width(plan: Plan) -> int:
    """Most branches that run at one time."""
    return max((min(len(section), plan.settings.threads) for section in sections(plan)), default=1)


def _shares(threads: int, branches: int) -> Iterator[int]:
    """Threads of each branch. Where there are more branches than threads, each has one while it runs."""
    for number in range(branches):
        yield max(1, threads // branches + (number < threads % branches))


def _sections(steps: Sequence[Step]) -> Iterator[Section]:
    needs = _direct_needs(steps)
    waists = _waists(needs)
    between: list[int] = []
    for place in range(len(steps)):
        if place in waists:
            yield from _branches(between, needs)
            between = []
            yield ((place,),)
        else:
            between.append(place)
    yield from _branches(between, needs)


def _direct_needs(steps: Sequence[Step]) -> list[frozenset[int]]:
    """For each step the earlier ones whose outputs it reads."""
    writer = {value.name: place for place, step in enumerate(steps) for value in step.outputs}
    return [frozenset(writer[value.name] for value in step.inputs if value.name in writer) for step in steps]


def _waists(needs: Sequence[Iterable[int]]) -> frozenset[int]:
    """Steps that every other one comes before or after, whichever order is taken."""
    before: list[frozenset[int]] = []
    for direct in needs:
        before.append(frozenset(direct).union(*(before[place] for place in direct)))
    after = [sum(place in earlier for earlier in before) for place in range(len(needs))]
    return frozenset(place for place in range(len(needs)) if len(before[place]) + after[place] == len(needs) - 1)


def _branches(places: Sequence[int], needs: Sequence[frozenset[int]]) -> Iterator[Section]:
    """The places as one section, parted into what hangs together; nothing for no places."""
    groups: list[set[int]] = []
    for place in places:
        touching = [group for group in groups if group & needs[place]]
        groups = [group for group in groups if group not in touching]
        groups.append({place}.union(*touching))
    if groups:
        yield tuple(tuple(sorted(group)) for group in sorted(groups, key=min))
