"""What a user calls: `compile`, `tune`, `compare`, and in two steps `partition` and `build`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Unpack

from intarsia.cost.records.store import open_store
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.process import fork_server
from intarsia.cost.worker.progress import Watcher, noted, unwatched
from intarsia.driver.buckets import run_buckets
from intarsia.driver.interruption import as_interrupted, without_best
from intarsia.driver.settings import SETTINGS, CompileOptions, CompileSettings, ModelOptions, settings_of
from intarsia.driver.stages import run_stages
from intarsia.errors import IntarsiaError
from intarsia.files import disk_errors
from intarsia.graph.bind import ranges_of
from intarsia.graph.ranges import all_buckets
from intarsia.partitioning import Partitioning, PlanFile
from intarsia.planning.request import plan_compilation
from intarsia.report.comparison import Comparison
from intarsia.runtime import CompiledModel

_UNMEASURED: Final = {
    name: "nothing is searched or measured; state it for build()"
    for name in SETTINGS
    if name not in ModelOptions.__annotations__
}
_BY_PARTITIONING: Final = dict.fromkeys(("partition", "plan"), "the partitioning says it")
_FOOTPRINTS: Final = {"footprints": "those of every engine are measured in any case"}


def compile(
    model: Any,
    target: Any = None,
    *,
    settings: CompileSettings | None = None,
    progress: Watcher = unwatched,
    began: float | None = None,
    **options: Unpack[CompileOptions],
) -> CompiledModel:
    """Find, by measuring, which engine should run which part of the model here, and build it.

    Takes, returns and raises what `intarsia.compile` does, which besides reaches workers on other machines.
    """
    stated = settings_of("compile()", settings, options)
    deadline = Deadline(stated.budget, began)
    request = stated.request(model, target)
    ranges = ranges_of(stated.shapes or {})
    with as_interrupted(), fork_server():
        records = open_store(stated.store)
        with disk_errors(records.folder):
            if not ranges:
                return run_stages(request, records, progress, deadline)
            buckets = (ranges,) if stated.search.is_for_throughput else all_buckets(ranges)
            return run_buckets(request, buckets, records, progress, deadline)


def tune(
    models: Sequence[str | os.PathLike[str]],
    target: Any = None,
    *,
    settings: CompileSettings | None = None,
    progress: Watcher = unwatched,
    began: float | None = None,
    **options: Unpack[CompileOptions],
) -> Iterator[Mapping[str, Any] | IntarsiaError]:
    """Measure models into the record store, one after the other; nothing else is kept.

    Each gets the same share of the budget, whatever the others take, so that the records answer a `compile` with that
    share as its budget. What is in the store already is not measured again. ``models`` are paths of ONNX files, the
    budget is for all of them, and the other arguments are those of `compile`.

    Yields:
        For each model its report, or the error that it ends in; the others go on.
    """
    stated = settings_of("tune()", settings, options)
    share = replace(stated, budget=stated.budget / max(1, len(models)))
    for number, model in enumerate(models):
        start = None if number else began
        watch = noted(progress, os.path.basename(model)) if len(models) > 1 else progress
        try:
            with without_best(), compile(model, target, settings=share, progress=watch, began=start) as compiled:
                yield compiled.report
        except IntarsiaError as error:
            yield error


def partition(
    model: Any, target: Any = None, *, settings: CompileSettings | None = None, **options: Unpack[ModelOptions]
) -> Partitioning:
    """Divide the model among the targets by their priority; nothing is measured, and no engine need be here.

    What comes back can be edited, as by `Partitioning.moved`, and handed to `build`. The arguments are those of
    `compile`; of the settings only ``constraints``, ``shapes``, ``custom_ops``, ``min_nodes`` and ``min_flops`` have an
    effect, others are refused.

    Raises:
        InputError: The model, target, constraints or a setting is wrong.
        NoCoverError: No target takes some node.
    """
    stated = settings_of("partition()", settings, options, refused=_UNMEASURED)
    return plan_compilation(replace(stated, partition="greedy").request(model, target)).given


def build(
    model: Any,
    partitioning: Partitioning,
    target: Any = None,
    *,
    settings: CompileSettings | None = None,
    progress: Watcher = unwatched,
    began: float | None = None,
    **options: Unpack[CompileOptions],
) -> CompiledModel:
    """Build a partitioning of this model, from `partition` or by hand: `compile` by it as by a plan file.

    The other arguments are those of `compile`; the settings ``partition`` and ``plan`` are refused.

    Raises:
        PlanError: It does not cover the model's nodes, each once, in a runnable order.
        IntarsiaError: As `compile`.
    """
    stated = settings_of("build()", settings, options, refused=_BY_PARTITIONING)
    manual = replace(stated, partition="manual", plan=PlanFile(partitions=partitioning.partitions))
    return compile(model, target, settings=manual, progress=progress, began=began)


def compare(
    model: Any,
    target: Any = None,
    *,
    settings: CompileSettings | None = None,
    progress: Watcher = unwatched,
    began: float | None = None,
    **options: Unpack[CompileOptions],
) -> Comparison:
    """Measure every engine on this model side by side, and whether a mix beats them. Takes what `compile` takes.

    Printed, the comparison is a table and a recommendation; `Comparison.json` holds every figure.

    Raises:
        IntarsiaError: As `compile`.
    """
    stated = replace(settings_of("compare()", settings, options, refused=_FOOTPRINTS), footprints=True)
    with without_best(), compile(model, target, settings=stated, progress=progress, began=began) as compiled:
        return Comparison(compiled.report)
