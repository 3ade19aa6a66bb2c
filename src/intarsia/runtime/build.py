"""Compile each step of a plan, and load what was compiled: the only road from a plan to something that runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from intarsia.backends import registry
from intarsia.backends.base import EngineArtifact
from intarsia.config.settings import RunSettings
from intarsia.graph import Graph
from intarsia.runtime.compiled import CompiledPieces
from intarsia.runtime.environment import applied, load_environment
from intarsia.runtime.executor import Executor
from intarsia.runtime.plan import Plan, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """A plan with one engine artifact for each of its steps."""

    plan: Plan
    artifacts: tuple[EngineArtifact, ...]


def build(graph: Graph, plan: Plan, pieces: CompiledPieces | None = None) -> Build:
    """Compile every step, or take it from ``pieces`` if it was compiled before.

    Raises:
        BackendUnavailableError: An engine of the plan is not installed.
        CompileError: An engine did not compile its step.
    """
    with applied(load_environment(plan.engines, plan.settings)):
        artifacts = tuple(_compiled(graph, step, plan.settings, pieces) for step in plan.steps)
    return Build(plan=plan, artifacts=artifacts)


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
        executables = [
            registry.get(step.target.kind.name).load(artifact, weights, step.target, plan.settings)
            for step, artifact in zip(plan.steps, artifacts, strict=True)
        ]
    traits = [registry.get(step.target.kind.name).traits for step in plan.steps]
    return Executor(plan, executables, traits)


def load_build(graph: Graph, built: Build) -> Executor:
    """Load a fresh build with the weights of the graph it came from."""
    wanted = {name for artifact in built.artifacts for name in artifact.weights}
    weights = {name: graph.weights[name].array() for name in sorted(wanted)}
    return load_steps(built.plan, built.artifacts, weights)
