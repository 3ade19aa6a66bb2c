"""``compile``: a model and a machine in, a proven artifact out. Reads like the architecture figure."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

from intarsia import numbers
from intarsia.backends import registry
from intarsia.config import CompilationConfig, SearchSettings
from intarsia.config.amounts import memory_bytes
from intarsia.config.consent import refuse_unstated
from intarsia.cost.measure import Measurer
from intarsia.cost.records.store import Store, open_store
from intarsia.cost.reference.reference_io import VALUES, recorded_values
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.progress import TIME, Counting, Progress, Watcher, noted, unwatched
from intarsia.cost.worker.workspace import Workspace
from intarsia.devices import Constraint, read_constraints
from intarsia.errors import (
    BackendError,
    ConfigError,
    InputError,
    IntarsiaError,
    Interrupted,
    MismatchError,
    MissingStageError,
    NoCoverError,
    PlanError,
)
from intarsia.evaluation.bucket_bounds import EndFault, check_ends
from intarsia.files import disk_told
from intarsia.graph.bind import Shapes, ranges_of, stated_shapes
from intarsia.graph.memory_check import check_fits
from intarsia.graph.ranges import Ranges, all_buckets
from intarsia.graph.sizes import estimated
from intarsia.partitioning import Partitioning, PlanFile, boundaries, parse_plan
from intarsia.planning.request import Compilation, Request, plan_compilation
from intarsia.report.comparison import Comparison
from intarsia.report.record import compile_report
from intarsia.report.sizes import report_of_sizes
from intarsia.runtime import Artifact, Bucket, Build, CompiledModel, attach_report, write_buckets
from intarsia.runtime.artifact.trust import OWN
from intarsia.runtime.tolerance import remark
from intarsia.search.search import search
from intarsia.search.single.footprints import held_against, measure_footprints
from intarsia.search.single.single_engine import first_settings
from intarsia.spec.documents import read_text
from intarsia.target.cores import memory_bytes as memory_here

ENDS_SHARE = 0.15
"""Of the time for sizes that are open, the share for checking the ends of each bucket."""
Strategy = Literal["single", "greedy", "collage", "manual"]
Constraints = str | os.PathLike[str] | Iterable[Constraint]
"""The path of a file of constraints, or constraints."""


def compile(
    model: Any,
    target: Any = None,
    *,
    partition: Strategy = "collage",
    plan: str | os.PathLike[str] | PlanFile | None = None,
    constraints: Constraints | None = None,
    threads: int | None = None,
    budget: float = 60.0,
    store: str | os.PathLike[str] | None = None,
    shapes: Shapes | None = None,
    seed: int = 0,
    prune: bool = True,
    max_memory: int | str | None = None,
    footprints: bool = False,
    max_error: float | None = None,
    strict: bool = False,
    custom_ops: Iterable[str | os.PathLike[str]] = (),
    progress: Watcher = unwatched,
    began: float | None = None,
) -> CompiledModel:
    """Find, by measuring, which engine should run which part of the model here, and build it.

    Args:
        model: Path of an ONNX file, its bytes, or a loaded model.
        target: Anything `CompilationConfig.of` takes; the configuration that the model carries, else every usable
            engine, if left out.
        partition: ``single``, ``greedy`` (by priority), ``collage`` (measured optimum) or ``manual``.
        plan: The plan file for ``manual``.
        constraints: Which nodes, values, inputs and outputs are on which device, beside what the model itself says.
        threads: Threads that compute at one time; what affinity and CPU quota allow if left out.
        budget: Seconds that all of it may take, from the call to the artifact. Where reading the model, computing its
            reference and compiling it with one engine take longer, ``progress`` is told at once how long it will be,
            at the stage ``time``. Time that another compile is waited for does not count.
        store: The record store; one in the user's cache folder if left out.
        shapes: Values for symbolic dimensions, by dimension name, or whole shapes by input name. A range of values,
            as ``"1..512"``, leaves the dimension open: it implies the executor ``vm``, and each bucket of the range
            gets a plan of its own and its share of the budget.
        seed: Of the inputs that are measured and checked with.
        prune: Leave out what cannot win by what is known so far. Without, the search is a check on that, and takes
            many times longer.
        max_memory: Bytes, or a text as ``"500MB"``, that the plan may add to its process at its peak, engines and
            weights counted. Left out, a mix may need 1.3 times what the best single engine does.
        footprints: Measure the memory and cold start of the engines that were not benchmarked too, as `compare` does.
        max_error: The error that outputs may have, as ‖y-r‖₂ / ‖r‖₂ of each, r being the answer in fp32: what makes the
            model faster then computes in 8 bits. Left out, all of it computes as the model says.
        strict: Refuse a model that no engine could be shown to answer rightly. Without, the best engine ships, and
            ``report["verified"]`` is false.
        custom_ops: Libraries for ONNX Runtime that bring operators of their own. These run there, and the rest of the
            model is planned. The artifact names the libraries; it does not hold them.
        progress: Told of every step.
        began: When the budget began, by ``time.monotonic``; with the call if left out.

    Returns:
        The model, verified against the reference; ``.report`` holds what was measured. Its graph carries the
        configuration and the constraints.

    Raises:
        InputError: The model, target, constraints, plan or a setting is wrong.
        MissingStageError: The machine was planned for, but nothing here compiles for it; the error holds the plan.
        BackendError: The plan that was asked for failed, or no engine can run the model.
        MismatchError: The plan that was asked for answers wrongly; with ``strict`` also if nothing could be shown to
            be right.
        DiskError: The disk of the record store, of temporary files or of the cache is full.
        MemoryLimitError: Every plan needs more than ``max_memory``; the error names the one that needs least.
        Interrupted: By Ctrl-C: a ``KeyboardInterrupt`` that holds the best plan so far, if there is one. A second one
            while that is built ends at once.
    """
    budget = numbers.seconds(budget)
    deadline = Deadline(budget, began)
    settings = SearchSettings(
        partition=_strategy(partition, plan),
        budget_s=budget,
        seed=numbers.seed(seed),
        prune=prune,
        max_memory=None if max_memory is None else memory_bytes(max_memory),
        footprints=footprints,
        max_error=None if max_error is None else numbers.share(max_error),
        strict=strict,
    )
    shapes = stated_shapes(shapes or {})
    request = Request(
        model=model,
        target=target,
        search=settings,
        constraints=_constraints(constraints),
        plan=_read_plan(plan),
        threads=None if threads is None else numbers.threads(threads),
        shapes=shapes or None,
        custom_ops=_libraries(custom_ops),
    )
    if not isinstance(plan, PlanFile):
        _check_plan(request, plan)
    ranges = ranges_of(shapes)
    with _as_interrupted():
        records = open_store(store)
        with disk_told(records.folder):
            if not ranges:
                return _compiled(request, records, progress, deadline)
            return _compiled_for_sizes(request, all_buckets(ranges), records, progress, deadline)


def _compiled(request: Request, records: Store, watch: Watcher, deadline: Deadline) -> CompiledModel:
    progress = Counting(watch, deadline)
    work = Workspace(records)
    try:
        progress(Progress(stage="load"))
        job = plan_compilation(request)
        if job.missing:
            raise MissingStageError(job.plan_text, job.missing)
        check_fits(estimated(job.graph), memory_here())
        work.save(job.graph)
        with Measurer(job.graph, work.folder, records, _engines(job), job.origin, progress, deadline) as measurer:
            _prepare(job, measurer, work, progress)
            found = search(job, measurer, deadline, progress)
            decision = found.decision
            due = found.singles if request.search.footprints else held_against(decision.chosen, found.singles)
            others = (
                {}
                if decision.is_interrupted
                else measure_footprints(job.problem, measurer, due, decision.verdict.footprints, progress)
            )
            report = compile_report(
                job=job,
                singles=found.singles,
                collage=found.collage,
                decision=decision,
                seconds=deadline.spent,
                announced=(deadline.seconds, deadline.because) if deadline.because else None,
                measured=measurer.measured,
                cached=measurer.cached,
                others=others,
                left_out=measurer.left_out,
                remarks=_remarks(work.folder / VALUES, job.graph.outputs),
            )
        attach_report(decision.artifact, report)
        work.keep_only(decision.artifact)
        compiled = CompiledModel(Artifact(decision.artifact, OWN), on_close=work.remove)
    except KeyboardInterrupt:
        work.remove()
        raise Interrupted from None
    except BaseException:
        work.remove()
        raise
    if decision.is_interrupted:
        raise Interrupted(best=compiled)
    return compiled


def _remarks(values: Path, outputs: Iterable[str]) -> list[str]:
    """Outputs whose comparison shows little."""
    found = recorded_values(values, outputs)
    return [told for name, array in found.items() if (told := remark(name, array)) is not None]


def _prepare(job: Compilation, measurer: Measurer, work: Workspace, progress: Watcher) -> None:
    """The reference's answers beside the saved graph, and the processes that measure: they start meanwhile."""
    unknown = first_settings(job.problem, measurer)
    measurer.start(unknown)
    progress(Progress(stage="reference"))
    seed = job.problem.settings.seed
    work.compute_reference(job.graph, _borders(job), seed, job.type_oracle, progress, measurer.machine)
    if not unknown:
        return
    spent = measurer.time.deadline.spent
    measurer.wait_for_start()
    because = f"starting, reading the model and computing its reference took {spent:.0f} s"
    measurer.time.announce(because, measurer.time.whole_s())


def _compiled_for_sizes(
    request: Request, buckets: Sequence[Ranges], records: Store, progress: Watcher, deadline: Deadline
) -> CompiledModel:
    """One search for each bucket, with its share of the budget, and one artifact of all.

    A part of the time is kept to check the ends of each bucket; what a bucket leaves over is the others'. A plan that
    fails at an end of its bucket is searched for again without an engine of it.
    """
    settings = replace(request.search, budget_s=(1 - ENDS_SHARE) * request.search.budget_s / len(buckets))
    own = [replace(request, search=settings, shapes={**(request.shapes or {}), **ranges}) for ranges in buckets]
    told = Counting(progress, deadline)

    def time_for(several: int) -> Deadline:
        return deadline.share(max(0.0, (deadline.left - ENDS_SHARE * deadline.seconds) / several), settings.budget_s)

    with ExitStack() as held, _without_best():
        parts = []
        for number, (each, ranges) in enumerate(zip(own, buckets, strict=True)):
            time = time_for(len(buckets) - number)
            parts.append(_part(each, ranges, records, progress, held, time))
            _announce_sizes(deadline, time, len(buckets) - number - 1, progress)
        retries: dict[int, Iterator[Request]] = {}
        while True:
            work = Workspace(records)
            try:
                path, graph = work.folder / "sizes.intarsia", parts[-1][1].graph()
                built = [(bucket, artifact.build()) for bucket, artifact in parts]
                write_buckets(path, graph, built)
                report = report_of_sizes([(bucket, artifact.report()) for bucket, artifact in parts])
                fault = check_ends(path, graph, [bucket for bucket, _ in parts], records, request.search.seed, told)
                report["search"] |= {
                    "announced_s": deadline.seconds if deadline.because else None,
                    "announced_because": deadline.because or None,
                }
                if fault is None:
                    attach_report(path, report)
                    return CompiledModel(Artifact(path, OWN), on_close=work.remove)
                place = fault.place
                tries = retries.setdefault(
                    place, _without_engines(own[place], parts[place][0].plan.engines, fault.reason)
                )
                try:
                    parts[place] = _next_part(tries, fault, buckets[place], records, progress, held, time_for(1))
                except MismatchError as error:
                    if request.search.insists:
                        raise
                    write_buckets(path, graph, [_unverified(bucket, build) for bucket, build in built])
                    unshown = f"this could not be shown to answer rightly, and ships unverified: {error}"
                    reason = f"{unshown}; --strict refuses it"
                    attach_report(path, {**report, "verified": False, "reason": reason})
                    return CompiledModel(Artifact(path, OWN), on_close=work.remove)
            except BaseException:
                work.remove()
                raise
            work.remove()


def _part(
    request: Request, ranges: Ranges, records: Store, progress: Watcher, held: ExitStack, deadline: Deadline
) -> tuple[Bucket, Artifact]:
    """One bucket's search; its artifact is there until ``held`` is closed."""
    note = ", ".join(f"{name}={range_}" for name, range_ in ranges.items())
    artifact = held.enter_context(_compiled(request, records, noted(progress, note), deadline)).artifact
    sizes = {name: range_.middle for name, range_ in ranges.items()}
    return Bucket(ranges=ranges, sizes=sizes, plan=artifact.plan), artifact


def _without_engines(request: Request, engines: Iterable[str], reason: str) -> Iterator[Request]:
    """The search without each engine of a plan that failed, then without all of them; none where a plan was given."""
    names = tuple(dict.fromkeys(engines))
    if request.search.partition == "manual":
        return
    for barred in dict.fromkeys([*((name,) for name in names), names]):
        yield replace(request, barred={name: f"{name} {reason}" for name in barred})


def _next_part(
    tries: Iterator[Request],
    fault: EndFault,
    ranges: Ranges,
    records: Store,
    progress: Watcher,
    held: ExitStack,
    deadline: Deadline,
) -> tuple[Bucket, Artifact]:
    """The first of these searches that finds a plan.

    Raises:
        BackendError: None does, and an engine failed at an end of the bucket.
        MismatchError: None does, and the plan answers wrongly there.
    """
    for request in tries:
        try:
            return _part(request, ranges, records, progress, held, deadline)
        except (BackendError, InputError, MissingStageError, NoCoverError):
            continue
    raise fault.error


@contextmanager
def _as_interrupted() -> Iterator[None]:
    """A Ctrl-C is `Interrupted` at whatever moment it comes."""
    try:
        yield
    except Interrupted:
        raise
    except KeyboardInterrupt:
        raise Interrupted from None


def _unverified(bucket: Bucket, build: Build) -> tuple[Bucket, Build]:
    """The same, with answers that nobody refuses."""
    plan = replace(build.plan, settings=replace(build.plan.settings, verified=False))
    return replace(bucket, plan=plan), replace(build, plan=plan)


def _announce_sizes(deadline: Deadline, last: Deadline, left: int, progress: Watcher) -> None:
    """Say how long all buckets will take, if the last one took longer than its share."""
    needed = (deadline.spent + left * last.spent) / (1 - ENDS_SHARE)
    if not last.because or needed <= deadline.seconds:
        return
    total = math.ceil(needed)
    because = f"{last.because} at {f'one of {left + 1} ranges' if left else 'the last range'} of sizes"
    deadline.announce(total, because)
    progress(Progress(stage=TIME, note=f"about {total} s in all, because {because}"))


@contextmanager
def _without_best() -> Iterator[None]:
    """What is best so far of a part is of no use alone: close it, and pass on that there was an interruption."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if isinstance(interrupt, Interrupted) and interrupt.best is not None:
            interrupt.best.close()
        raise Interrupted from None


def tune(
    models: Sequence[str | os.PathLike[str]],
    target: Any = None,
    *,
    budget: float = 60.0,
    progress: Watcher = unwatched,
    began: float | None = None,
    **settings: Any,
) -> Iterator[Mapping[str, Any] | IntarsiaError]:
    """Measure models into the record store, one after the other; nothing else is kept.

    Each gets the same share of the budget, whatever the others take, so that the records answer a `compile` with that
    share as its budget. What is in the store already is not measured again.

    Args:
        models: Paths of ONNX files.
        target: As `compile` takes it.
        budget: Seconds for all of them.
        progress: Told of every step.
        began: When the budget began, as `compile` takes it.
        **settings: The other settings of `compile`.

    Yields:
        For each model its report, or the error that it ends in; the others go on.
    """
    share = numbers.seconds(budget) / max(1, len(models))
    for number, model in enumerate(models):
        start = None if number else began
        told = noted(progress, os.path.basename(model)) if len(models) > 1 else progress
        try:
            own = {"budget": share, "progress": told, "began": start, **settings}
            with _without_best(), compile(model, target, **own) as compiled:
                yield compiled.report
        except IntarsiaError as error:
            yield error


def partition(
    model: Any, target: Any = None, *, constraints: Constraints | None = None, shapes: Shapes | None = None
) -> Partitioning:
    """Divide the model among the targets by their priority; nothing is measured, and no engine need be here.

    What comes back can be edited, as by `Partitioning.moved`, and handed to `build`. The arguments are those of
    `compile`.

    Raises:
        InputError: The model, target or constraints are wrong.
        NoCoverError: No target takes some node.
    """
    settings = SearchSettings(partition="greedy")
    request = Request(model=model, target=target, search=settings, constraints=_constraints(constraints), shapes=shapes)
    return plan_compilation(request).given.partitioning


def build(model: Any, partitioning: Partitioning, target: Any = None, **settings: Any) -> CompiledModel:
    """Build a partitioning of this model, whoever made it: `compile` by it as by a plan file.

    Args:
        model: As `compile` takes it.
        partitioning: From `partition`, perhaps edited; it is checked against the model.
        target: As `compile` takes it.
        **settings: The other settings of `compile`, but for ``partition`` and ``plan``.

    Raises:
        PlanError: It does not cover the model's nodes, each once, in a runnable order.
        IntarsiaError: As `compile`.
    """
    plan = PlanFile(partitions=partitioning.partitions)
    return compile(model, target, partition="manual", plan=plan, **settings)


def _libraries(given: Iterable[str | os.PathLike[str]]) -> tuple[str, ...]:
    paths = tuple(str(Path(path).resolve()) for path in given)
    if absent := [path for path in paths if not Path(path).is_file()]:
        raise ConfigError(f"the library of custom operators {absent[0]} is not there")
    return paths


def _constraints(given: Constraints | None) -> tuple[Constraint, ...]:
    if given is None:
        return ()
    return read_constraints(Path(given)) if isinstance(given, str | os.PathLike) else tuple(given)


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
        text = read_text(plan)
    except (OSError, ValueError) as error:
        raise PlanError(f"{plan}: cannot be read as a plan file ({error})") from error
    return parse_plan(text, source=str(plan))


def _check_plan(request: Request, source: object) -> None:
    """A plan file may come from anywhere: what it has run is named by the target too, or refused."""
    if request.plan is None:
        return
    stated = [] if request.target is None else list(CompilationConfig.of(request.target).executed())
    given = [("custom-ops", path) for path in request.custom_ops]
    for partition in request.plan.partitions:
        refuse_unstated(partition.target.executed(), [*stated, *given], f"{source}: a partition")


def _borders(job: Compilation) -> set[str]:
    partitions = [*job.problem.segments, *(part.nodes for part in job.given.partitioning.partitions)]
    return {name for partition in partitions for name in boundaries(job.graph, partition).outputs}


def _engines(job: Compilation) -> set[str]:
    return {registry.engine_of(target) for target in job.problem.targets}


def compare(model: Any, target: Any = None, **settings: Any) -> Comparison:
    """Every engine side by side on this model, and whether a mix beats them. Takes what `compile` takes.

    Returns:
        The comparison: printed it is a table and a recommendation, `Comparison.json` holds every figure.

    Raises:
        IntarsiaError: As `compile`.
    """
    with _without_best(), compile(model, target, **{"footprints": True, **settings}) as compiled:
        return Comparison(compiled.report)
