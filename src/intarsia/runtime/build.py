"""Compile each step of a plan, and load what was compiled: the only road from a plan to something that runs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from intarsia.backends import registry
from intarsia.backends.contract import Embedding, EngineArtifact, Executable, Traits
from intarsia.backends.contract.forked import LoadedLibraries
from intarsia.config.settings import RunSettings
from intarsia.errors import PlanError
from intarsia.graph import Graph, extract
from intarsia.runtime.aot.loading import load_program
from intarsia.runtime.compiled_partitions import CompiledPartitions
from intarsia.runtime.environment import applied, load_environment
from intarsia.runtime.executors.branches import BranchExecutor
from intarsia.runtime.executors.embedded import EmbeddedExecutor, EmbeddedPartition, Visits
from intarsia.runtime.executors.executor import Executor
from intarsia.runtime.executors.parallel_levels import step_settings, width
from intarsia.runtime.executors.private_weights import as_compiled, own_weights, with_weights
from intarsia.runtime.plan import Plan, Step
from intarsia.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """A plan with one engine artifact for each of its steps; of an embedding engine's steps the first has all."""

    plan: Plan
    artifacts: tuple[EngineArtifact, ...]
    compile_s: float = 0.0
    """Seconds that compiling the steps took, whenever that was."""


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
        main = _main(plan) if plan.settings.embed else None
        compiled = [
            (EngineArtifact(files={}), 0.0)
            if main and main.holds(step)
            else _compiled(graph, step, settings, partitions)
            for step, settings in zip(plan.steps, step_settings(plan), strict=True)
        ]
        if main is not None:
            start = time.perf_counter()
            compiled[main.places[0]] = main.compile(graph), time.perf_counter() - start
    artifacts, seconds = zip(*compiled, strict=True)
    return Build(plan=plan, artifacts=artifacts, compile_s=sum(seconds))


def _compiled(
    graph: Graph, step: Step, settings: RunSettings, partitions: CompiledPartitions | None
) -> tuple[EngineArtifact, float]:
    backend = registry.of(step.target)
    known = partitions.get(backend, step, settings) if partitions else None
    if known is not None:
        return known
    start = time.perf_counter()
    model = extract(graph, step.nodes)
    if step.precision is None:
        artifact = backend.compile(model, step.target, settings)
    else:
        from intarsia.graph.quantise import quantised

        reduced = quantised(model, step.precision)
        artifact = with_weights(backend.compile(reduced, step.target, settings), reduced, model.graph)
    seconds = time.perf_counter() - start
    if partitions:
        partitions.put(backend, step, settings, artifact, seconds)
    return artifact, seconds


def load_steps(plan: Plan, artifacts: Sequence[EngineArtifact], weights: Mapping[str, np.ndarray]) -> Executor:
    """Load every step and bind it to the plan's buffers.

    Raises:
        BackendUnavailableError: An engine does not work in a process that was forked from one that had loaded it.
        LoadError: An engine did not load what it had compiled.
    """
    if plan.settings.ahead_of_time:
        return load_program(plan, artifacts[0])
    if plan.settings.embed:
        _note(plan)
        with applied(load_environment(plan.engines, plan.settings)):
            return _load_embedded(plan, artifacts, weights)
    executables = load_executables(plan, artifacts, weights, step_settings(plan))
    kind = BranchExecutor if width(plan) > 1 else Executor
    return kind(plan, executables, [_traits(step) for step in plan.steps])


def load_executables(
    plan: Plan, artifacts: Sequence[EngineArtifact], weights: Mapping[str, np.ndarray], settings: Sequence[RunSettings]
) -> list[Executable]:
    """Load every step's engine, each with settings of its own. Errors are those of `load_steps`."""
    _note(plan)
    with applied(load_environment(plan.engines, plan.settings)):
        return [
            registry.of(step.target).load(as_compiled(artifact), {**weights, **own_weights(artifact)}, step.target, own)
            for step, artifact, own in zip(plan.steps, artifacts, settings, strict=True)
        ]


def _note(plan: Plan) -> None:
    for name in plan.engines:
        LoadedLibraries.of_this_process().note(registry.get(name))


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
        return len(_main(plan).places) > 1 and all(step.precision is None for step in plan.steps)
    except PlanError:
        return False


def main_places(plan: Plan) -> tuple[int, ...]:
    """Places of the steps of the engine that holds the others; a `PlanError` if none can."""
    return _main(plan).places


@dataclass(frozen=True, slots=True, kw_only=True)
class _Main:
    """The target whose engine holds all other steps of a plan."""

    plan: Plan
    target: Target
    embedding: Embedding

    @property
    def places(self) -> tuple[int, ...]:
        return tuple(place for place, step in enumerate(self.plan.steps) if self.holds(step))

    def holds(self, step: Step) -> bool:
        """Whether a step is this engine's own."""
        return step.target == self.target

    def compile(self, graph: Graph) -> EngineArtifact:
        whole = extract(graph, (node for step in self.plan.steps for node in step.nodes))
        others = [step for step in self.plan.steps if not self.holds(step)]
        able = [number for number, step in enumerate(others) if _follows_blocks(step)]
        partitions = [extract(graph, step.nodes) for step in others]
        return self.embedding.compile(whole, partitions, able, self.target, self.plan.settings)


def _main(plan: Plan, *, loading: bool = False) -> _Main:
    """The target that takes part most often of those whose engine can hold all other steps."""
    steps = [step.target for step in plan.steps]
    for target in sorted(dict.fromkeys(steps), key=steps.count, reverse=True):
        embedding = registry.of(target).embedding(loading=loading)
        others = [step for step in plan.steps if step.target != target]
        if embedding is not None and others and all(embedding.takes(step.inputs, step.outputs) for step in others):
            return _Main(plan=plan, target=target, embedding=embedding)
    raise PlanError("no engine of this plan can hold the other partitions inside its session; leave out 'embed'")


def _load_embedded(plan: Plan, artifacts: Sequence[EngineArtifact], weights: Mapping[str, np.ndarray]) -> Executor:
    main = _main(plan, loading=True)
    place = main.places[0]
    others = [at for at, step in enumerate(plan.steps) if not main.holds(step)]
    partitions = []
    for at, blocks in zip(others, main.embedding.blocks(artifacts[place]), strict=True):
        step = plan.steps[at]
        executable = registry.of(step.target).load(artifacts[at], weights, step.target, plan.settings)
        partitions.append(EmbeddedPartition(step, executable, _traits(step), blocks))
    for name in dict.fromkeys(registry.engine_of(partition.step.target) for partition in partitions):
        files = registry.get(name).openmp_files()
        if files is not None:
            main.embedding.share_openmp(artifacts[place], *files)
    visits = Visits(partitions)
    session = main.embedding.load(artifacts[place], weights, main.target, plan.settings, visits)
    return EmbeddedExecutor(plan, session, _traits(plan.steps[place]), partitions, visits)


def _follows_blocks(step: Step) -> bool:
    backend = registry.of(step.target)
    return backend.traits.follows_ports and backend.follows_blocks(step.target)


def _traits(step: Step) -> Traits:
    return registry.of(step.target).traits
