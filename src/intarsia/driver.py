"""``compile``: a model and a machine in, a proven artifact out. Reads like the architecture figure."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from intarsia.backends import registry
from intarsia.config import CompilationConfig, RunSettings, SearchSettings, Spin, engines
from intarsia.cost.lock import machine_lock
from intarsia.cost.measure import Measurer
from intarsia.cost.progress import Progress, Watcher, unwatched
from intarsia.cost.repro import Origin
from intarsia.cost.store import Store, default_store
from intarsia.cost.workspace import Workspace
from intarsia.errors import BackendUnavailableError, ConfigError, PlanError
from intarsia.graph import Graph, Node, load_model
from intarsia.graph.work import bytes_moved, flops
from intarsia.partition import Partitioning, PlanFile, boundaries, greedy, parse_plan, segments
from intarsia.report.comparison import Comparison
from intarsia.report.record import compile_report
from intarsia.runtime import Artifact, CompiledModel, attach_report, thread_budget
from intarsia.search import (
    Candidate,
    CollageResult,
    CollageSearch,
    Deadline,
    Problem,
    Single,
    decide,
    given_candidate,
    tune_singles,
)
from intarsia.search.replay import from_json, search_key, to_json
from intarsia.target import Target

Strategy = Literal["single", "greedy", "collage", "manual"]
Shapes = Mapping[str, tuple[int, ...] | int]

MAX_ATOMS = 16
SEARCH_SHARE = 0.6
"""Share of the budget after which no new piece is measured; the rest is for the final decision."""
MIN_SEARCH_SHARE = 0.3
"""Share of the budget for pieces even if measuring the engines alone took long, as it does for large models."""
FLOPS_PER_BYTE = 10
"""Only to balance the atoms: how many operations a core does while it moves one byte, roughly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compilation:
    """What a compile works on once everything the user said was read and checked."""

    graph: Graph
    problem: Problem
    run: RunSettings
    given: Partitioning
    origin: Origin
    strategy: Strategy


def compile(
    model: Any,
    target: Any = None,
    *,
    partition: Strategy = "collage",
    plan: str | os.PathLike[str] | PlanFile | None = None,
    threads: int | None = None,
    budget: float = 60.0,
    store: str | os.PathLike[str] | None = None,
    shapes: Shapes | None = None,
    seed: int = 0,
    progress: Watcher = unwatched,
) -> CompiledModel:
    """Find, by measuring, which engine should run which part of the model here, and build it.

    Args:
        model: Path of an ONNX file, its bytes, or a loaded model.
        target: Anything `CompilationConfig.of` takes; every usable engine if left out.
        partition: ``single``, ``greedy`` (by priority), ``collage`` (measured optimum) or ``manual``.
        plan: The plan file for ``manual``.
        threads: Threads that compute at one time; what affinity and CPU quota allow if left out.
        budget: Seconds that the search may measure. Every engine alone is measured in any case.
        store: The record store; one in the user's cache folder if left out.
        shapes: Values for symbolic dimensions, by dimension name, or whole shapes by input name.
        seed: Of the inputs that are measured and checked with.
        progress: Told of every step.

    Returns:
        The model, verified against the reference; ``.report`` holds what was measured.

    Raises:
        InputError: The model, target, plan or a setting is wrong.
        BackendUnavailableError: No engine of the target list is usable here.
        BackendError: The plan that was asked for failed, or no engine can run the model.
        MismatchError: The plan that was asked for answers wrongly.
    """
    deadline = Deadline(budget)
    search = SearchSettings(partition=_strategy(partition, plan), budget_s=budget, seed=seed)
    plan_file = _read_plan(plan)
    records = Store(Path(store) if store is not None else default_store())
    work = Workspace(records)
    try:
        with machine_lock(progress):
            progress(Progress(stage="load"))
            job = _compilation(model, target, search, plan_file, threads, shapes)
            progress(Progress(stage="reference"))
            work.prepare(job.graph, _borders(job), seed)
        with Measurer(job.graph, work.folder, records, _engines(job), job.origin, progress) as measurer:
            singles = tune_singles(job.problem, measurer, progress)
            collage = _collage(job, measurer, singles, deadline, progress)
            wanted = _wanted(job, measurer, singles, collage)
            decision = decide(job.problem, measurer, _plans(singles), _mixes(collage), wanted, progress)
            report = compile_report(
                model=str(job.origin.model or "a model in memory"),
                strategy=job.strategy,
                singles=singles,
                collage=collage,
                decision=decision,
                seconds=deadline.spent,
                measured=measurer.measured,
                cached=measurer.cached,
            )
        attach_report(decision.artifact, report)
        work.keep_only(decision.artifact)
        return CompiledModel(Artifact(decision.artifact), on_close=work.remove)
    except BaseException:
        work.remove()
        raise


def _strategy(partition: str, plan: object) -> Strategy:
    if partition not in get_args(Strategy):
        raise ConfigError(f"no partitioning is called {partition!r}; there are {', '.join(get_args(Strategy))}")
    if (partition == "manual") != (plan is not None):
        raise ConfigError("--partition manual and --plan FILE go together: give both or neither")
    return partition  # type: ignore[return-value] # it is one of them: the check above


def _read_plan(plan: str | os.PathLike[str] | PlanFile | None) -> PlanFile | None:
    if plan is None or isinstance(plan, PlanFile):
        return plan
    try:
        return parse_plan(Path(plan).read_text(encoding="utf-8"), source=str(plan))
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(f"{plan}: cannot be read as a plan file ({error})") from error


def _compilation(
    model: Any,
    target: Any,
    search: SearchSettings,
    plan: PlanFile | None,
    threads: int | None,
    shapes: Shapes | None,
) -> Compilation:
    graph = load_model(model, shapes)
    stated = threads if threads is not None or plan is None else plan.threads
    count = thread_budget() if stated is None else stated
    if not 1 <= count <= 1024:
        raise ConfigError(f"{count} threads: give a number from 1 on; this process may use {thread_budget()}")
    targets = _targets(target, plan)
    capabilities = {t: registry.get(t.kind.name).capability(graph, t) for t in targets}
    problem = Problem(
        graph=graph,
        targets=targets,
        capabilities=capabilities,
        settings=search,
        threads=count,
        atoms=atoms_of(graph),
    )
    if plan is not None:
        given = Partitioning.of(graph, [(p.target, p.nodes) for p in plan.partitions])
    else:
        given = greedy(graph, targets, capabilities, search.min_nodes, search.min_flops)
    spin = (plan.spin if plan else None) or Spin.CALL
    path = str(Path(model).resolve()) if isinstance(model, str | os.PathLike) else None
    origin = Origin(model=path, shapes=tuple(sorted((shapes or {}).items())))
    run = RunSettings(threads=count, spin=spin)
    return Compilation(graph=graph, problem=problem, run=run, given=given, origin=origin, strategy=search.partition)


def _targets(target: Any, plan: PlanFile | None) -> tuple[Target, ...]:
    """Engine targets that are usable here, the user's priority kept; a plan file names its own as well."""
    usable = registry.usable()
    named = engines(CompilationConfig.of(target), usable)
    if plan is not None:
        named = tuple(dict.fromkeys((*named, *(partition.target for partition in plan.partitions))))
        for partition in plan.partitions:
            registry.require(partition.target.kind.name)
    missing = [t for t in named if t.kind.name not in usable]
    if named and len(missing) == len(named):
        registry.require(missing[0].kind.name)
    if not named:
        raise BackendUnavailableError("no engine is usable here: pip install 'intarsia[cpu]', then intarsia doctor")
    return tuple(t for t in named if t.kind.name in usable)


def atoms_of(graph: Graph) -> tuple[tuple[str, ...], ...]:
    """The pieces that the search never cuts: balanced by work, cut where little crosses."""

    def work(node: Node) -> float:
        return flops(graph, node) + FLOPS_PER_BYTE * bytes_moved(graph, node)

    return segments(graph, MAX_ATOMS, work)


def _borders(job: Compilation) -> set[str]:
    pieces = [*job.problem.atoms, *(partition.nodes for partition in job.given.partitions)]
    return {name for piece in pieces for name in boundaries(job.graph, piece).outputs}


def _engines(job: Compilation) -> set[str]:
    return {target.kind.name for target in job.problem.targets}


def _collage(
    job: Compilation, measurer: Measurer, singles: Sequence[Single], deadline: Deadline, progress: Watcher
) -> CollageResult | None:
    if job.strategy != "collage" or len(job.problem.targets) < 2 or len(job.problem.atoms) < 2:
        return None
    tuned = {single.tuned: job.problem.capabilities[single.target] for single in singles}
    wholes = {single.tuned: single.outcome for single in singles}
    key = search_key(job.problem, tuple(tuned), job.run)
    stored = measurer.store.get(key)
    if stored is not None:
        return from_json(job.problem, stored)
    search = CollageSearch(job.problem, measurer, tuned, wholes, progress)
    seconds = max(SEARCH_SHARE * deadline.seconds - deadline.spent, MIN_SEARCH_SHARE * deadline.seconds)
    result = search.run(Deadline(seconds))
    measurer.store.put("search", key, to_json(job.problem, result), {"model": job.origin.model})
    return result


def _wanted(
    job: Compilation, measurer: Measurer, singles: Sequence[Single], collage: CollageResult | None
) -> Candidate | None:
    """The plan that ships without a search: the one asked for, or the only one there is."""
    if job.strategy in ("greedy", "manual"):
        return given_candidate(job.strategy, job.given, job.run, measurer)
    if not _plans(singles) and not _mixes(collage):
        return given_candidate("greedy", job.given, job.run, measurer)
    return None


def _plans(singles: Sequence[Single]) -> list[Candidate]:
    return [candidate for single in singles for candidate in single.candidates]


def _mixes(collage: CollageResult | None) -> list[Candidate]:
    return [mix.candidate for mix in collage.mixes] if collage else []


def compare(model: Any, target: Any = None, **settings: Any) -> Comparison:
    """Every engine side by side on this model, and whether a mix beats them. Takes what `compile` takes."""
    with compile(model, target, **settings) as compiled:
        return Comparison(compiled.report)
