"""The stages of pipelines inside of a plan's steps as stages of the plan, so that they are at work at one time.

A stream comes from outside of the plan. So a step whose nested configuration has a pipeline is replaced by its stages,
each on its own threads; what is before and behind it is a stage each, on the threads that it had.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from intarsia.backends.contract import EngineArtifact
from intarsia.config.settings import Pipeline
from intarsia.runtime.nested_artifacts import parted
from intarsia.runtime.plan import Plan, Step


class _Placed(NamedTuple):
    """A step with what was compiled for it, the stage that it is in, and the threads of that."""

    step: Step
    artifact: EngineArtifact
    stage: tuple[int, ...]
    threads: int


def with_stages_inside(plan: Plan, artifacts: Sequence[EngineArtifact]) -> tuple[Plan, tuple[EngineArtifact, ...]]:
    """The plan with its pipeline made of all stages, and what was compiled for each of its steps.

    As many requests are in flight as the deepest of the pipelines takes. Stages that are at work at one time may have
    more threads together than the plan: its own are idle while those inside are busy, or wait for their turn.
    """
    own = plan.settings.pipeline
    threads, depth = plan.settings.threads, 1 if own is None else own.depth
    placed: list[_Placed] = []
    for at, (step, artifact) in enumerate(zip(plan.steps, artifacts, strict=True)):
        outer = 0 if own is None else _stage_of(at, own.stages)
        share = threads if own is None else own.threads[outer]
        placed += _placed(step, artifact, (outer, at), share)
        depth = max(depth, _depth(step))
    stages, shares, processors = [], [], []
    for _, several in groupby(_numbered(placed), key=lambda pair: pair[0]):
        members = [each for _, each in several]
        stages.append(len(members))
        shares.append(members[0].threads)
        if own is not None and own.processors:
            processors.append(own.processors[members[0].stage[0]])
    lanes = 1 if own is None else own.lanes
    pipeline = Pipeline(
        stages=tuple(stages), threads=tuple(shares), lanes=lanes, depth=depth, processors=tuple(processors)
    )
    settings = replace(plan.settings, pipeline=pipeline, threads=max(threads, pipeline.busy))
    steps = tuple(each.step for each in placed)
    return replace(plan, steps=steps, settings=settings), tuple(each.artifact for each in placed)


def _placed(step: Step, artifact: EngineArtifact, stage: tuple[int, ...], threads: int) -> Iterator[_Placed]:
    """A step by itself, or the steps of the pipeline inside, each in its stage."""
    if step.inside is None or not step.inside.has_pipeline:
        yield _Placed(step, artifact, stage, threads)
        return
    own = step.inside.settings.pipeline
    for at, (inner, compiled) in enumerate(zip(step.inside.steps, parted(artifact), strict=True)):
        if own is None:
            yield from _placed(inner, compiled, (*stage, at), min(threads, step.inside.settings.threads))
        else:
            number = _stage_of(at, own.stages)
            yield from _placed(inner, compiled, (*stage, number), min(threads, own.threads[number]))


def _numbered(placed: Sequence[_Placed]) -> Iterator[tuple[tuple[int, ...], _Placed]]:
    """Each with its stage: outer steps that follow each other are in one, up to a step with stages inside."""
    stage: tuple[int, ...] = ()
    for each in placed:
        is_plain = len(each.stage) == 2
        if not (is_plain and len(stage) == 2 and stage[0] == each.stage[0]):
            stage = each.stage
        yield stage, each


def _stage_of(step: int, stages: Sequence[int]) -> int:
    """The number of the stage that a step is in."""
    for number, size in enumerate(stages):
        if step < size:
            return number
        step -= size
    raise AssertionError("a pipeline has as many steps as its plan")


def _depth(step: Step) -> int:
    """Requests in flight in the deepest pipeline inside of a step."""
    if step.inside is None:
        return 1
    own = step.inside.settings.pipeline
    return max([1 if own is None else own.depth, *map(_depth, step.inside.steps)])
