"""The stages of a compile in order: plan, measure the engines, search, decide, report, artifact."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from intarsia.backends import registry
from intarsia.cost.measure import Measurer
from intarsia.cost.records.store import Store
from intarsia.cost.reference.reference_io import VALUES, recorded_values
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.progress import Counting, Progress, Watcher
from intarsia.cost.worker.workspace import Workspace
from intarsia.driver.ahead_of_time import run_ahead_of_time
from intarsia.driver.bodies import BodySearch
from intarsia.driver.layers import own_kernels, told_times
from intarsia.driver.preparation import prepare_engines
from intarsia.errors import Interrupted, MissingStageError
from intarsia.graph import save_graph
from intarsia.graph.sizes import check_fits, estimated
from intarsia.partitioning import boundaries
from intarsia.planning.availability import is_ahead_of_time, is_native
from intarsia.planning.request import Compilation, Request, plan_compilation
from intarsia.report.record import compile_report
from intarsia.runtime import Artifact, CompiledModel, attach_report
from intarsia.runtime.artifact.trust import OWN
from intarsia.runtime.cpp.preparing import prepare
from intarsia.runtime.tolerance import remark
from intarsia.search.default_settings import measure_defaults
from intarsia.search.inner.inner_search import InnerSearch
from intarsia.search.search import Found, search
from intarsia.search.single.footprints import held_against, measure_footprints
from intarsia.search.single.single_engine import first_settings
from intarsia.target.cores import memory_bytes as memory_here


def run_stages(request: Request, records: Store, watch: Watcher, deadline: Deadline) -> CompiledModel:
    """Plan, measure, search and build. The model's dimensions are known, or planned at the middle of their ranges.

    Raises:
        MissingStageError: Nothing here compiles what was planned.
        Interrupted: By Ctrl-C; it holds the best plan so far.
        IntarsiaError: As `intarsia.compile`.
    """
    progress = Counting(watch, deadline)
    work = Workspace(records)
    with ExitStack() as undo:
        undo.callback(work.remove)
        progress(Progress(stage="load"))
        bodies = BodySearch(request, partial(_run_body, records), progress, deadline)
        job = plan_compilation(replace(request, plan_bodies=bodies.plans))
        if job.missing:
            raise MissingStageError(job.plan_text, job.missing, (*job.remarks, *job.estimates))
        check_fits(estimated(job.graph), memory_here())
        if is_ahead_of_time(job.engine_set.config):
            written = run_ahead_of_time(job, work, progress, deadline)
            undo.pop_all()
            return written
        begin_s = deadline.spent
        save_graph(job.graph, work.folder)
        saved_s = deadline.spent - begin_s
        engines = {registry.engine_of(target) for target in job.problem.leaves}
        prepare_engines(job.problem, deadline, progress)
        inner = InnerSearch(job.problem)
        with Measurer(job.graph, work.folder, records, engines, job.origin, progress, deadline, inner) as measurer:
            measurer.time.saving_took(saved_s)
            _prepare(job, measurer, work, progress, bodies.spent_s)
            found = search(job, measurer, deadline, progress)
            report = _report(job, found, measurer, work, progress)
            report |= {"bodies": bodies.rows} if bodies.rows else {}
        artifact = found.decision.artifact
        if is_native(job.engine_set.config):
            prepare(artifact, linked=bool(job.engine_set.config.runtime.options.get("system-lib")))
        attach_report(artifact, report)
        work.keep_only(artifact)
        compiled = CompiledModel(Artifact(artifact, OWN), on_close=work.remove)
        undo.pop_all()
    if found.decision.is_interrupted:
        raise Interrupted(best=compiled)
    return compiled


def _run_body(records: Store, request: Request, watch: Watcher, deadline: Deadline) -> CompiledModel:
    return run_stages(request, records, watch, deadline)


def _prepare(job: Compilation, measurer: Measurer, work: Workspace, progress: Watcher, apart_s: float) -> None:
    """Put the reference's answers beside the saved graph, while the processes that measure start.

    ``apart_s`` are seconds that were spent on something else before.
    """
    unknown = first_settings(job.problem, measurer)
    measurer.start(unknown)
    progress(Progress(stage="reference"))
    seed = job.problem.settings.seed
    work.compute_reference(job.graph, _borders(job), seed, job.type_oracle, progress, measurer.machine)
    if not unknown:
        return
    spent = measurer.time.deadline.spent - apart_s
    measurer.wait_for_start()
    because = f"starting, reading the model and computing its reference took {spent:.0f} s"
    measurer.time.announce(because, measurer.time.whole_s())


def _borders(job: Compilation) -> set[str]:
    """The values at which the search may cut the model."""
    partitions = [*job.problem.segments, *(part.nodes for part in job.given.partitions)]
    return {name for partition in partitions for name in boundaries(job.graph, partition).outputs}


def _report(job: Compilation, found: Found, measurer: Measurer, work: Workspace, progress: Watcher) -> dict[str, Any]:
    """The report, for which footprints and default settings of engines are measured that are not known yet."""
    decision, deadline = found.decision, measurer.time.deadline
    due = found.singles if job.problem.settings.footprints else held_against(decision.chosen, found.singles)
    known = decision.verdict.footprints
    others = {} if decision.is_interrupted else measure_footprints(job.problem, measurer, due, known, progress)
    defaults = measure_defaults(job.problem, measurer, found.singles, decision, deadline, progress)
    return compile_report(
        job=job,
        singles=found.singles,
        tuned=found.tuned,
        collage=found.collage,
        decision=decision,
        seconds=deadline.spent,
        announced=(deadline.seconds, deadline.because) if deadline.because else None,
        measured=measurer.measured,
        cached=measurer.cached,
        others=others,
        left_out=measurer.left_out,
        defaults=defaults,
        remarks=_remarks(work.folder / VALUES, job.graph.outputs),
        told=told_times(job, found.tuned, measurer),
        kernels=own_kernels(job, decision.artifact),
    )


def _remarks(values: Path, outputs: Iterable[str]) -> list[str]:
    """Outputs whose comparison with the reference shows little, each with the reason."""
    remarks = (remark(name, array) for name, array in recorded_values(values, outputs).items())
    return [each for each in remarks if each is not None]
