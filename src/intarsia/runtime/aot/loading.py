"""An executor of a program that was compiled ahead of time: all its partitions are one step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from intarsia.backends.contract import EngineArtifact, Traits
from intarsia.codegen.project import Project
from intarsia.errors import BackendUnavailableError
from intarsia.runtime.aot.patience import later_run_s
from intarsia.runtime.aot.place import Place, place_of, runs_nowhere
from intarsia.runtime.aot.program import EmulatedProgram, executable_of
from intarsia.runtime.executors.executor import Executor
from intarsia.runtime.plan import Plan, Step
from intarsia.target import Target

_HERE = Traits(writes_in_place=True, follows_ports=True)
_AWAY = Traits(writes_in_place=False)


def whole(plan: Plan) -> Plan:
    """The plan as what runs: one step with all nodes."""
    nodes = tuple(node for step in plan.steps for node in step.nodes)
    step = Step(target=plan.steps[0].target, nodes=nodes, inputs=plan.inputs, outputs=plan.outputs)
    return replace(plan, steps=(step,))


def load_program(plan: Plan, artifact: EngineArtifact) -> Executor:
    """Build the program that an artifact holds, and bind it to buffers.

    Raises:
        BackendUnavailableError: A compiler or an emulator is not installed, or nothing here runs what an engine
            computes.
        CompileError: The compiler refuses it.
        ConfigError: It does not fit into the board's memories.
        LoadError: It cannot be mapped.
    """
    place = place_of_program(plan, artifact)
    program = executable_of(Project.of_files(artifact.files), place, later_run_s(artifact.meta))
    return Executor(whole(plan), [program], [_HERE if place.is_host else _AWAY])


def place_of_program(plan: Plan, artifact: EngineArtifact) -> Place:
    """Where the program that an artifact holds runs.

    Raises:
        BackendUnavailableError: A part of it runs nowhere here.
        ConfigError: Nothing here runs or emulates such a processor.
    """
    unrun = runs_nowhere(step.target for step in plan.steps)
    if unrun:
        raise BackendUnavailableError(f"this program cannot run here, only be exported: {unrun}")
    return place_of(Target(artifact.meta["host"]), (step.target for step in plan.steps))


def instructions_of(plan: Plan, artifact: EngineArtifact, feeds: Mapping[str, np.ndarray]) -> int:
    """How many instructions one run executes in the emulator, from the first of the network to the last.

    Args:
        plan: Of the artifact.
        artifact: That of the first step.
        feeds: Inputs by name.

    Raises:
        BackendUnavailableError: A compiler or an emulator is not installed.
        CompileError: The compiler refuses it.
        ConfigError: It does not fit into the board's memories.
        ExecutionError: The program ended badly.
        BackendTimeoutError: It did not end in time.
    """
    project, place = Project.of_files(artifact.files), place_of_program(plan, artifact)
    program = EmulatedProgram(project, place, later_run_s(artifact.meta))
    try:
        return program.count([feeds[value.name] for value in program.inputs])
    finally:
        program.close()
