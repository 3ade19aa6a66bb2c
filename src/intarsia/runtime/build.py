"""Compile each step of a plan, and load what was compiled: the only road from a plan to something that runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from intarsia.backends import registry
from intarsia.backends.base import EngineArtifact, Executable, Traits
from intarsia.config.settings import RunSettings
from intarsia.errors import PlanError
from intarsia.graph import Graph
from intarsia.runtime.compiled import CompiledPieces
from intarsia.runtime.embedded import EmbeddedExecutor, Piece, Visits
from intarsia.runtime.environment import applied, load_environment
from intarsia.runtime.executor import Executor
from intarsia.runtime.plan import Plan, Step
from intarsia.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """A plan with one engine artifact for each of its steps; of an embedding engine's steps the first has all."""

    plan: Plan
    artifacts: tuple[EngineArtifact, ...]


def build(graph: Graph, plan: Plan, pieces: CompiledPieces | None = None) -> Build:
    """Compile every step, or take it from ``pieces`` if it was compiled before.

    Raises:
        BackendUnavailableError: An engine of the plan is not installed.
        CompileError: An engine did not compile its step.
        PlanError: The plan is to be embedded, and no engine of it can hold the others' steps.
    """
    with applied(load_environment(plan.engines, plan.settings)):
        main = _main_target(plan) if plan.settings.embed else None
        artifacts = [
            EngineArtifact(files={}) if step.target == main else _compiled(graph, step, plan.settings, pieces)
            for step in plan.steps
        ]
        if main is not None:
            artifacts[_first(plan, main)] = _embedding(graph, plan, main)
    return Build(plan=plan, artifacts=tuple(artifacts))


def _compiled(graph: Graph, step: Step, settings: RunSettings, pieces: CompiledPieces | None) -> EngineArtifact:
    backend = registry.get(step.target.kind.name)
    known = pieces.get(backend, step, settings) if pieces else None
    if known is not None:
        return known
    artifact = backend.compile(graph.extract(step.nodes), step.target, settings)
    if pieces:
        pieces.put(backend, step, settings, artifact)
    return artifact


def load_steps(plan: Plan, artifacts: Sequence[EngineArtifact], weights: Mapping[str, np.ndarray]) -> Executor:
    """Load every step and bind it to the plan's buffers.

    Raises:
        LoadError: An engine did not load what it had compiled.
    """
    with applied(load_environment(plan.engines, plan.settings)):
        if plan.settings.embed:
            return _load_embedded(plan, artifacts, weights)
        executables = [
            _loaded(plan, step, artifact, weights) for step, artifact in zip(plan.steps, artifacts, strict=True)
        ]
    return Executor(plan, executables, [_traits(step) for step in plan.steps])


def load_build(graph: Graph, built: Build) -> Executor:
    """Load a fresh build with the weights of the graph it came from."""
    wanted = {name for artifact in built.artifacts for name in artifact.weights}
    weights = {name: graph.weights[name].array() for name in sorted(wanted)}
    return load_steps(built.plan, built.artifacts, weights)


def can_embed(plan: Plan) -> bool:
    """Whether one engine of the plan can hold the others' steps, and has at least two of its own to join."""
    try:
        main = _main_target(plan)
    except PlanError:
        return False
    return sum(step.target == main for step in plan.steps) > 1


def main_places(plan: Plan) -> tuple[int, ...]:
    """Places of the steps of the engine that holds the others.

    Raises:
        PlanError: No engine of the plan can.
    """
    main = _main_target(plan)
    return tuple(place for place, step in enumerate(plan.steps) if step.target == main)


def _main_target(plan: Plan) -> Target:
    """The target that takes part most often of those whose engine can hold all other steps."""
    steps = [step.target for step in plan.steps]
    for target in sorted(dict.fromkeys(steps), key=steps.count, reverse=True):
        embedding = registry.get(target.kind.name).embedding()
        others = [step for step in plan.steps if step.target != target]
        if embedding is not None and others and all(embedding.takes(step.inputs, step.outputs) for step in others):
            return target
    raise PlanError("no engine of this plan can hold the other partitions inside its session; leave out 'embed'")


def _first(plan: Plan, target: Target) -> int:
    return next(index for index, step in enumerate(plan.steps) if step.target == target)


def _embedding(graph: Graph, plan: Plan, main: Target) -> EngineArtifact:
    embedding = registry.get(main.kind.name).embedding()
    assert embedding is not None, "its target was chosen for having one"
    whole = graph.extract(node for step in plan.steps for node in step.nodes)
    others = [graph.extract(step.nodes) for step in plan.steps if step.target != main]
    return embedding.compile(whole, others, main, plan.settings)


def _load_embedded(plan: Plan, artifacts: Sequence[EngineArtifact], weights: Mapping[str, np.ndarray]) -> Executor:
    main = _main_target(plan)
    embedding = registry.get(main.kind.name).embedding()
    assert embedding is not None, "its target was chosen for having one"
    pieces = [
        Piece(step, _loaded(plan, step, artifact, weights), _traits(step))
        for step, artifact in zip(plan.steps, artifacts, strict=True)
        if step.target != main
    ]
    for name in dict.fromkeys(piece.step.target.kind.name for piece in pieces):
        files = registry.get(name).openmp_files()
        if files is not None:
            embedding.share_openmp(*files)
    visits = Visits(pieces)
    place = _first(plan, main)
    session = embedding.load(artifacts[place], weights, main, plan.settings, visits)
    return EmbeddedExecutor(plan, session, _traits(plan.steps[place]), pieces, visits)


def _loaded(plan: Plan, step: Step, artifact: EngineArtifact, weights: Mapping[str, np.ndarray]) -> Executable:
    return registry.get(step.target.kind.name).load(artifact, weights, step.target, plan.settings)


def _traits(step: Step) -> Traits:
    return registry.get(step.target.kind.name).traits
