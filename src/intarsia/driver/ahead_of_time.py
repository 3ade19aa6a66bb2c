"""The stages of a compile for the executor `aot`: reference, C, its memory, a program, its answers, the artifact."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from intarsia.backends.contract import EngineArtifact, Signature, Traits
from intarsia.backends.contract.artifact import signature_rows
from intarsia.codegen.exported.folder import Recorded
from intarsia.codegen.project import Project
from intarsia.config import RunSettings
from intarsia.cost.reference.reference_io import VALUES, recorded_tolerances, recorded_values
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.progress import Progress, Watcher
from intarsia.cost.worker.workspace import Workspace
from intarsia.driver.placement import plan_by_counting
from intarsia.errors import ConfigError, MismatchError
from intarsia.graph import Graph, save_graph
from intarsia.planning.request import Compilation
from intarsia.report.program import program_report
from intarsia.runtime import Artifact, Build, CompiledModel, attach_report, plan_of, write_artifact
from intarsia.runtime.aot.figures import build_facts, unrun_facts
from intarsia.runtime.aot.loading import whole
from intarsia.runtime.aot.patience import RUN_S, first_run_s
from intarsia.runtime.aot.place import Place, place_of, runs_nowhere
from intarsia.runtime.aot.program import EmulatedProgram, executable_of
from intarsia.runtime.aot.recording import RECORDED, recorded_bytes
from intarsia.runtime.aot.writing import Written, write_project
from intarsia.runtime.artifact.trust import OWN
from intarsia.runtime.executors.executor import Executor
from intarsia.runtime.plan import Plan
from intarsia.runtime.tolerance import remark
from intarsia.runtime.verify import Deviation, deviations
from intarsia.search.boards.answers import Answers
from intarsia.search.boards.plan import BoardPlan
from intarsia.target import Target

ARTIFACT = "aot.intarsia"
_ANY = Traits(writes_in_place=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checked:
    """How far the answers are from the reference's."""

    found: tuple[Deviation, ...]
    recorded: Recorded
    remarks: tuple[str, ...]
    run_s: float | None = None
    """Seconds that the run took."""

    @property
    def worst(self) -> Deviation | None:
        return max(self.found, key=lambda each: each.error, default=None)


def run_ahead_of_time(job: Compilation, work: Workspace, progress: Watcher, deadline: Deadline) -> CompiledModel:
    """Write the network as C, build it, compare its answers with the reference's, and keep all in an artifact.

    Raises:
        InputError: The model has no C, does not fit into the target's memories, or the target runs nowhere here.
        BackendUnavailableError: A compiler or an emulator is not installed.
        CompileError: The compiler refuses what was written.
        ExecutionError: The program ended badly.
        MismatchError: It answers wrongly.
    """
    config = job.engine_set.config
    _check_shapes(job.graph)
    place = place_of(config.host, (*(part.target for part in job.given.partitions), *job.problem.targets))
    unrun = runs_nowhere(part.target for part in job.given.partitions)
    place.tools()
    if not unrun:
        place.check_tools()
    save_graph(job.graph, work.folder)
    written = Written(
        graph=job.graph,
        partitioning=job.given,
        config=config,
        place=place,
        name=Path(job.origin.model).stem if job.origin.model else "model",
    )
    progress(Progress(stage="compile", note="writing C"))
    project, _ = write_project(written)
    progress(Progress(stage="reference"))
    work.compute_reference(job.graph, (), job.problem.settings.seed, job.type_oracle, progress)
    values = work.folder / VALUES
    feeds = recorded_values(values, job.graph.inputs)
    answers = Answers(values=recorded_values(values, job.graph.outputs), tolerances=recorded_tolerances(values))
    counted = None if unrun else plan_by_counting(job, written, feeds, answers, work.store, progress)
    if counted is not None:
        written = replace(written, partitioning=counted.partitioning)
        project, _ = write_project(written, lambda *_: counted.placement.module)
    settings = RunSettings(threads=1, ahead_of_time=True)
    plan = plan_of(job.graph, written.partitioning.partitions, settings)
    built = unrun_facts(project, place) if unrun else build_facts(project, place)
    facts = {**project.memory, **built, "link_weights": project.interface.options.link_weights}
    facts["instructions"] = None
    if counted is not None:
        facts["instructions"] = {**counted.facts(), "program": _executed(project, place, job.graph, feeds)}
    progress(Progress(stage="verify", note=place.name))
    checked = _unchecked(job.graph, values, unrun) if unrun else _check(project, place, plan, job.graph, values)
    artifact = work.folder / ARTIFACT
    write_artifact(artifact, job.graph, _build(project, plan, config.host, checked))
    worst = checked.worst
    attach_report(
        artifact,
        program_report(
            job=job,
            partitions=plan.partitions,
            program=facts,
            reason=_reason(job, counted),
            error=None if worst is None else worst.error,
            allowed=None if worst is None else worst.allowed,
            seconds=deadline.spent,
            remarks=checked.remarks,
        ),
    )
    work.keep_only(artifact)
    return CompiledModel(Artifact(artifact, OWN), on_close=work.remove)


def _check_shapes(graph: Graph) -> None:
    for name in (*graph.inputs, *graph.outputs):
        if graph.values[name].shape is None:
            raise ConfigError(
                f"{name}: its shape is not known, and memory that is planned at compile time needs every size; state "
                "them with --shape"
            )


def _check(project: Project, place: Place, plan: Plan, graph: Graph, values: Path) -> _Checked:
    """Run it once on the reference's inputs.

    Raises:
        MismatchError: It answers wrongly.
    """
    feeds = recorded_values(values, graph.inputs)
    expected = recorded_values(values, graph.outputs)
    executor = Executor(whole(plan), [executable_of(project, place, first_run_s(graph))], [_ANY])
    try:
        start = time.monotonic()
        found = executor.run({name: np.array(array) for name, array in feeds.items()})
        run_s = time.monotonic() - start
    finally:
        executor.close()
    compared = deviations(found, expected, recorded_tolerances(values))
    wrong = [each for each in compared if not each.is_acceptable]
    if wrong:
        raise MismatchError(
            f"the program that was written answers wrongly on {place.name}: {'; '.join(map(str, wrong))}"
        )
    remarks = [sentence for name, array in expected.items() if (sentence := remark(name, array)) is not None]
    remarks += [
        f"output {name} is unchecked: the reference cannot compute it" for name in found.keys() - expected.keys()
    ]
    allowed = {each.name: each.allowed for each in compared}
    outputs = {name: np.array(expected.get(name, array)) for name, array in found.items()}
    recorded = Recorded(
        inputs={name: np.array(array) for name, array in feeds.items()},
        outputs=outputs,
        allowed={name: allowed.get(name, 0.0) for name in outputs},
    )
    return _Checked(found=compared, recorded=recorded, remarks=tuple(remarks), run_s=run_s)


def _executed(project: Project, place: Place, graph: Graph, feeds: Mapping[str, np.ndarray]) -> int:
    """Instructions of one call of the whole program: its kernels, and what is moved between them."""
    program = EmulatedProgram(project, place, first_run_s(graph))
    try:
        return program.count([np.array(feeds[value.name]) for value in program.inputs])
    finally:
        program.close()


def _unchecked(graph: Graph, values: Path, reason: str) -> _Checked:
    """What is recorded of a program that nothing here can run: the reference's answers."""
    recorded = Recorded(
        inputs={name: np.array(array) for name, array in recorded_values(values, graph.inputs).items()},
        outputs={name: np.array(array) for name, array in recorded_values(values, graph.outputs).items()},
        allowed=dict.fromkeys(graph.outputs, 0.0),
    )
    return _Checked(found=(), recorded=recorded, remarks=(reason,))


def _build(project: Project, plan: Plan, host: Target, checked: _Checked) -> Build:
    """The artifact's parts: the first step holds the program."""
    meta: dict[str, Any] = {"host": str(host), "inputs": _rows(plan.inputs), "outputs": _rows(plan.outputs)}
    if checked.run_s is not None:
        meta[RUN_S] = round(checked.run_s, 3)
    first = EngineArtifact(files={**project.files(), RECORDED: recorded_bytes(checked.recorded)}, meta=meta)
    others = [EngineArtifact(files={}) for _ in plan.steps[1:]]
    return Build(plan=plan, artifacts=(first, *others))


def _rows(values: tuple[Signature, ...]) -> list[list[Any]]:
    return signature_rows(values)


def _reason(job: Compilation, counted: BoardPlan | None) -> str:
    if counted is not None and counted.partitioning is not job.given:
        return f"of all kernels those that execute the fewest instructions on QEMU's {counted.board}"
    if job.problem.settings.partition == "manual":
        return "the plan file says so"
    return "each part is of the first engine that takes it"
