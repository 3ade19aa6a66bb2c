"""What is run while writes fail: all that a compile writes, a compile, and one that measures little."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from intarsia.backends import registry
from intarsia.cli.main import cli
from intarsia.config import RunSettings, Spin
from intarsia.cost.records.record import Key
from intarsia.cost.records.records_file import export_records
from intarsia.cost.records.store import Store
from intarsia.cost.thresholds import Sampling
from intarsia.cost.timing import sampling
from intarsia.cost.worker.workspace import Workspace
from intarsia.files import disk_errors, replace_file, save_array
from intarsia.graph import load_model, save_graph
from intarsia.partitioning import Partition
from intarsia.runtime import (
    Artifact,
    CompiledModel,
    attach_report,
    build,
    export,
    plan_of,
    random_feeds,
    write_artifact,
)
from intarsia.runtime.compiled_partitions import CompiledPartitions
from intarsia.target import Target
from tests.disk.forked_workers import forked_workers
from tests.e2e.little_measuring import measure_little

ENGINE, OUT, STORE, MODEL = "reference", "out.intarsia", "store.sqlite", "model.onnx"


def parts(folder: Path) -> None:
    """Everything that a compile writes and a few other verbs do, in this process and without measuring."""
    graph = load_model(folder / MODEL)
    store = Store(folder / STORE)
    work = Workspace(store)
    try:
        with disk_errors(folder):
            save_graph(graph, work.folder)
            work.compute_reference(graph, set(), seed=0)
            store.put("partition", Key(facts={"of": "a piece"}), {"samples_ms": [1.0]}, {})
            partition = Partition(target=Target(ENGINE), nodes=tuple(node.id for node in graph.nodes))
            plan = plan_of(graph, [partition], RunSettings(threads=1, spin=Spin.NEVER))
            artifact = work.folder / "chosen.intarsia"
            write_artifact(artifact, graph, build(graph, plan, CompiledPartitions(work.folder / "compiled")))
            attach_report(artifact, {"search": {}})
            work.keep_only(artifact)
        with CompiledModel(Artifact(artifact), on_close=work.remove) as model:
            model.save(folder / OUT)
            for name, array in model(random_feeds(model.inputs, seed=0)).items():
                save_array(folder / f"{name}.npy", array)
            replace_file(folder / "page.html", b"<html>" * 1000)
            export_records(store, folder / "records.jsonl")
            export(model, folder / "exported")
    finally:
        work.remove()


def compiled(folder: Path, budget_s: int = 1) -> None:
    """The command, with an engine that is here wherever we are."""
    line = ("compile", folder / MODEL, "--target", ENGINE, "--threads", 1, "--budget", budget_s)
    cli.main([*map(str, (*line, "--store", folder / STORE, "-o", folder / OUT))])


def quick(folder: Path) -> None:
    """The same writes with as little measuring as there can be, and by workers that need not import anything.

    There is time enough for every stage, so that none is left out on a busy machine.
    """
    with pytest.MonkeyPatch.context() as patch, forked_workers():
        measure_little(patch)
        patch.setattr(sampling, "SAMPLING", Sampling(warm_up_s=0.0, block_ms=1.0, attempts=1))
        compiled(folder, budget_s=60)


def warm_up() -> None:
    """Load here what each run would load anew, and look once for the engines that are installed."""
    import intarsia.cli.compile
    import intarsia.driver

    del intarsia
    registry.usable()


SCENARIOS: dict[str, Callable[[Path], None]] = {"parts": parts, "compile": compiled, "quick": quick}
