"""Compile each step of a plan: with `loading`, the only road from a plan to something that runs."""

from __future__ import annotations

import time

import numpy as np

from intarsia.backends import registry
from intarsia.backends.contract import EngineArtifact
from intarsia.config.settings import RunSettings
from intarsia.errors import PlanError
from intarsia.graph import Graph, SubModel, extract
from intarsia.runtime.compiled_partitions import CompiledPartitions
from intarsia.runtime.control_flow import compile_bodies
from intarsia.runtime.environment import applied, load_environment
from intarsia.runtime.executors.executor import Executor
from intarsia.runtime.executors.parallel_levels import step_settings
from intarsia.runtime.executors.private_weights import with_weights
from intarsia.runtime.loading import load_steps
from intarsia.runtime.main_engine import MainEngine, main_engine
from intarsia.runtime.nested_artifacts import joined
from intarsia.runtime.plan import Build, Plan, Step, inner_plan


def build(graph: Graph, plan: Plan, partitions: CompiledPartitions | None = None) -> Build:
    """Compile every step, or take it from ``partitions`` if it was compiled before.

    Raises:
        BackendUnavailableError: An engine of the plan is not installed.
        CompileError: An engine did not compile its step.
        PlanError: The plan is to be embedded, and no engine of it can hold the others' steps; or a node is to compute
            in a precision that it cannot have.
    """
    if plan.settings.embed and any(step.precision is not None for step in plan.steps):
        raise PlanError("partitions in less than fp32 cannot run inside another engine's session; leave out 'embed'")
    with applied(load_environment(plan.engines, plan.settings)):
        main = main_engine(plan) if plan.settings.embed else None
        compiled = [
            (EngineArtifact(files={}), 0.0)
            if main and main.holds(step)
            else _compiled(graph, step, settings, partitions)
            for step, settings in zip(plan.steps, step_settings(plan), strict=True)
        ]
        if main is not None:
            start = time.perf_counter()
            compiled[main.places[0]] = _embedded(main, graph), time.perf_counter() - start
    artifacts, seconds = zip(*compiled, strict=True)
    return Build(plan=plan, artifacts=artifacts, compile_s=sum(seconds))


def _compiled(
    graph: Graph, step: Step, settings: RunSettings, partitions: CompiledPartitions | None
) -> tuple[EngineArtifact, float]:
    if step.inside is not None:
        inner = build(graph, inner_plan(step, settings), partitions)
        return joined(inner.artifacts), inner.compile_s
    if step.bodies:
        return compile_bodies(graph, step, settings, build)
    backend = registry.of(step.target)
    known = partitions.get(backend, step, settings) if partitions else None
    if known is not None:
        return known
    start = time.perf_counter()
    model = extract(graph, step.nodes)
    reduced = in_precision(model, step)
    artifact = backend.compile(reduced, step.target, settings)
    if step.precision is not None:
        artifact = with_weights(artifact, reduced, model.graph)
    seconds = time.perf_counter() - start
    if partitions:
        partitions.put(backend, step, settings, artifact, seconds)
    return artifact, seconds


def in_precision(model: SubModel, step: Step) -> SubModel:
    """The sub-graph of a step as its engine is given it, with what the step computes in less than fp32."""
    if step.precision is None:
        return model
    from intarsia.graph.quantise import quantised
    from intarsia.target.reduced_precision import rounded_type

    reduced = quantised(model, step.precision, rounded_type(step.target))
    return registry.of(step.target).with_few_bits(reduced)


def load_build(graph: Graph, built: Build) -> Executor:
    """Load a fresh build with the weights of the graph it came from."""
    return load_steps(built.plan, built.artifacts, weights_of(graph, built))


def weights_of(graph: Graph, built: Build) -> dict[str, np.ndarray]:
    """The weights that a build's artifacts want handed over."""
    wanted = {name for artifact in built.artifacts for name in artifact.weights}
    return {name: graph.weights[name].array() for name in sorted(wanted)}


def can_embed(plan: Plan) -> bool:
    """Whether one engine of the plan can hold the others' steps, and has at least two of its own to join."""
    try:
        return len(main_engine(plan).places) > 1 and all(step.precision is None for step in plan.steps)
    except PlanError:
        return False


def main_places(plan: Plan) -> tuple[int, ...]:
    """Places of the steps of the engine that holds the others; a `PlanError` if none can."""
    return main_engine(plan).places


def _embedded(main: MainEngine, graph: Graph) -> EngineArtifact:
    """What the main engine makes of the whole model, with the others' steps inside."""
    steps = main.plan.steps
    whole = extract(graph, (node for step in steps for node in step.nodes))
    others = [step for step in steps if not main.holds(step)]
    able = [number for number, step in enumerate(others) if _follows_blocks(step)]
    partitions = [extract(graph, step.nodes) for step in others]
    return main.embedding.compile(whole, partitions, able, main.target, main.plan.settings)


def _follows_blocks(step: Step) -> bool:
    backend = registry.of(step.target)
    return backend.traits.follows_ports and backend.follows_blocks(step.target)
