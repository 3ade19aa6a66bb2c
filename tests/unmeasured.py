"""What `intarsia.compile` makes, without measuring: the whole model on the first engine of the target, in a moment."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from intarsia.backends import registry
from intarsia.config import CompilationConfig, RunSettings, Spin, engines
from intarsia.driver.settings import DEFAULTS, CompileSettings
from intarsia.graph import load_model
from intarsia.graph.bind import ranges_of
from intarsia.partitioning import Partition
from intarsia.planning.engine_set import leaves, present
from intarsia.runtime import (
    Artifact,
    Bucket,
    CompiledModel,
    attach_report,
    build,
    plan_of,
    thread_budget,
    write_artifact,
    write_buckets,
)


def unmeasured(
    model: Any, target: Any = None, *, settings: CompileSettings = DEFAULTS, **options: Any
) -> CompiledModel:
    """Takes the arguments of `intarsia.compile`; the report says that nothing was measured."""
    shapes, threads = (options.get(name, getattr(settings, name)) for name in ("shapes", "threads"))
    graph = load_model(model, shapes)
    chosen = leaves(present(engines(CompilationConfig.of(target), registry.usable(), stand_ins=True)))[0]
    run = RunSettings(threads=threads or thread_budget(), spin=Spin.NEVER)
    plan = plan_of(graph, [Partition(target=chosen, nodes=tuple(node.id for node in graph.nodes))], run)
    path = Path(tempfile.mkdtemp()) / "unmeasured.intarsia"
    if ranges := ranges_of(shapes or {}):
        sizes = {name: range_.middle for name, range_ in ranges.items()}
        write_buckets(path, graph, [(Bucket(ranges=ranges, sizes=sizes, plan=plan), build(graph, plan))])
    else:
        write_artifact(path, graph, build(graph, plan))
    report = {"chosen": str(chosen), "best_single": str(chosen), "reason": "nothing was measured"}
    nothing = dict.fromkeys(("latency_ms", "speedup_vs_best_single", "max_rel_error"))
    attach_report(path, {"model": "a model", **report, **nothing})
    return CompiledModel(Artifact(path))
