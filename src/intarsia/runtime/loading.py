"""Load what was compiled for the steps of a plan. Running an artifact needs this, and nothing of what compiles."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from intarsia.backends import registry
from intarsia.backends.contract import EngineArtifact, Executable, Traits
from intarsia.backends.contract.forked import LoadedLibraries
from intarsia.config.settings import RunSettings
from intarsia.runtime.environment import applied, load_environment
from intarsia.runtime.executors.executor import Executor
from intarsia.runtime.executors.parallel_levels import step_settings, width
from intarsia.runtime.executors.pinning import pinned
from intarsia.runtime.executors.private_weights import as_compiled, own_weights
from intarsia.runtime.nested_artifacts import parted
from intarsia.runtime.plan import Plan, Step, body_plan, inner_plan


def load_steps(plan: Plan, artifacts: Sequence[EngineArtifact], weights: Mapping[str, np.ndarray]) -> Executor:
    """Load every step and bind it to the plan's buffers.

    Raises:
        BackendUnavailableError: An engine does not work in a process that was forked from one that had loaded it.
        LoadError: An engine did not load what it had compiled.
    """
    if plan.settings.ahead_of_time:
        from intarsia.runtime.aot.loading import load_program

        return load_program(plan, artifacts[0])
    if plan.settings.embed:
        _note(plan)
        with applied(load_environment(plan.engines, plan.settings)):
            return _load_embedded(plan, artifacts, weights)
    executables = load_executables(plan, artifacts, weights, step_settings(plan))
    traits = [traits_of(step) for step in plan.steps]
    if width(plan) == 1:
        return Executor(plan, executables, traits)
    from intarsia.runtime.executors.branches import BranchExecutor

    return BranchExecutor(plan, executables, traits)


def load_executables(
    plan: Plan,
    artifacts: Sequence[EngineArtifact],
    weights: Mapping[str, np.ndarray],
    settings: Sequence[RunSettings],
    cores: Sequence[Collection[int]] | None = None,
) -> list[Executable]:
    """Load every step's engine, each with settings of its own. Errors are those of `load_steps`.

    ``cores`` are those that the threads of each step's engine are bound to; an empty collection binds none.
    """
    _note(plan)
    with applied(load_environment(plan.engines, plan.settings)):
        return [
            _loaded(step, artifact, weights, own, bound)
            for step, artifact, own, bound in zip(
                plan.steps, artifacts, settings, cores or [()] * len(plan.steps), strict=True
            )
        ]


def _loaded(
    step: Step,
    artifact: EngineArtifact,
    weights: Mapping[str, np.ndarray],
    settings: RunSettings,
    cores: Collection[int],
) -> Executable:
    with pinned(cores):
        if step.inside is not None:
            return _load_nested(step, artifact, weights, settings)
        given = {**weights, **own_weights(artifact)}
        if step.bodies:
            return _load_bodies(step, as_compiled(artifact), given, settings)
        backend = registry.of(step.target, loading=True)
        return backend.load(as_compiled(artifact), given, step.target, settings)


def _load_nested(
    step: Step, artifact: EngineArtifact, weights: Mapping[str, np.ndarray], settings: RunSettings
) -> Executable:
    from intarsia.runtime.executors.nested import NestedExecutable

    plan = inner_plan(step, settings)
    executables = load_executables(plan, parted(artifact), weights, step_settings(plan))
    return NestedExecutable(step.target, plan, executables, [traits_of(inner) for inner in plan.steps])


def _load_bodies(
    step: Step, artifact: EngineArtifact, weights: Mapping[str, np.ndarray], settings: RunSettings
) -> Executable:
    from intarsia.runtime.executors.control_flow import ControlFlowExecutable

    bodies = {}
    for body, part in zip(step.bodies, parted(artifact), strict=True):
        executor = load_steps(body_plan(body, settings), parted(part), weights)
        executor.put_inside()
        bodies[body.node, body.name] = executor
    own = {name: weights[name] for facts in artifact.meta["nodes"] for name in facts["inputs"] if name in weights}
    return ControlFlowExecutable(artifact.meta, bodies, own)


def _note(plan: Plan) -> None:
    for target in dict.fromkeys(step.target for step in plan.steps):
        LoadedLibraries.of_this_process().note(registry.of(target, loading=True), target)


def _load_embedded(plan: Plan, artifacts: Sequence[EngineArtifact], weights: Mapping[str, np.ndarray]) -> Executor:
    from intarsia.runtime.executors.embedded import EmbeddedExecutor, EmbeddedPartition, Visits
    from intarsia.runtime.main_engine import main_engine

    main = main_engine(plan, loading=True)
    place = main.places[0]
    others = [at for at, step in enumerate(plan.steps) if not main.holds(step)]
    partitions = []
    for at, blocks in zip(others, main.embedding.blocks(artifacts[place]), strict=True):
        step = plan.steps[at]
        executable = registry.of(step.target, loading=True).load(artifacts[at], weights, step.target, plan.settings)
        partitions.append(EmbeddedPartition(step, executable, traits_of(step), blocks))
    for name in dict.fromkeys(registry.engine_of(partition.step.target) for partition in partitions):
        files = registry.get(name, loading=True).openmp_files()
        if files is not None:
            main.embedding.share_openmp(artifacts[place], *files)
    visits = Visits(partitions)
    session = main.embedding.load(artifacts[place], weights, main.target, plan.settings, visits)
    return EmbeddedExecutor(plan, session, traits_of(plan.steps[place]), partitions, visits)


def traits_of(step: Step) -> Traits:
    """How what runs a step treats its buffers; those of a nested configuration are shared if an engine asks."""
    traits = registry.of(step.target, loading=True).traits
    if step.inside is None:
        return traits
    return replace(traits, runs_elsewhere=any(traits_of(inner).runs_elsewhere for inner in step.inside.steps))
