"""A script for every failure, so that it can be seen again and reported upstream."""

from __future__ import annotations

import hashlib
import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from intarsia.cost.worker.protocol import Failed, Measure, Workload
from intarsia.files import replace_file, scratch
from intarsia.graph import Graph, extract, load_model, save_graph
from intarsia.graph.fingerprint import content_hash
from intarsia.runtime.executors.drawn_feeds import graph_feeds

_SCRIPT = """# Shows a failure again: {engine} at {stage}.
#   {reason}
# Run it with:
#   {line}
from intarsia.cost.worker.repro import reproduce

MODEL = {model!r}
SHAPES = {shapes!r}
WORKLOAD = {workload!r}

reproduce(MODEL, SHAPES, WORKLOAD)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a graph came from, so that it can be loaded again.

    Attributes:
        model: Path of the model file; ``None`` if it was handed over in memory.
        shapes: Shapes it was loaded with; a range as text.
        config: JSON of the configuration that it is compiled for, in its canonical form; empty if there is none.
    """

    model: str | None
    shapes: tuple[tuple[str, tuple[int | str, ...] | int | str], ...] = ()
    config: str = ""

    @property
    def provenance(self) -> Mapping[str, Any]:
        """What a record says of where it came from."""
        return {"model": self.model, **({"config": json.loads(self.config)} if self.config else {})}

    def on_disk(self, graph: Graph, folder: Path) -> Origin:
        """An origin that can be loaded again: a model from memory is saved to ``folder``."""
        if self.model is not None:
            return self
        path = folder / f"model-{content_hash(graph)}.onnx"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            extract(graph, (node.id for node in graph.nodes)).save(path)
        return Origin(model=str(path))


def write_repro(folder: Path, origin: Origin, workload: Workload, failed: Failed) -> Path:
    """Write the script; its name follows from what failed."""
    engine = workload.partitions[-1].target
    digest = hashlib.sha256(f"{origin.model} {workload.model_dump_json()} {failed.stage}".encode()).hexdigest()[:12]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{engine.split()[0]}-{failed.stage}-{digest}.py"
    text = _SCRIPT.format(
        engine=_comment(engine),
        stage=failed.stage,
        reason=_comment(failed.reason),
        line=_comment(f"{shlex.quote(sys.executable)} {shlex.quote(str(path))}"),
        model=origin.model,
        shapes=dict(origin.shapes),
        workload=workload.model_dump_json(),
    )
    replace_file(path, text.encode())
    return path


def _comment(text: str) -> str:
    """Foreign words as one line that is safe in a comment."""
    return " ".join(text.encode("ascii", "backslashreplace").decode().replace("\0", "\\0").split())[:300]


def reproduce(model: str, shapes: dict[str, tuple[int | str, ...] | int | str], workload: str) -> None:
    """Compile, load, check and time the workload in this very process, and print what comes of it."""
    from intarsia.cost.reference.reference_io import VALUES, record_values
    from intarsia.cost.worker.worker import Worker
    from intarsia.graph.reference.reference import evaluate

    graph = load_model(model, shapes)
    wanted = Workload.model_validate_json(workload)
    with scratch() as folder:
        save_graph(graph, folder)
        feeds = graph_feeds(graph, seed=0)
        partition = extract(graph, (node for part in wanted.partitions for node in part.nodes))
        borders = {value.name for value in (*partition.inputs, *partition.outputs)}
        record_values(folder / VALUES, {**feeds, **evaluate(graph, feeds, keep=borders)})
        answer = Worker(folder).answer(Measure(workload=wanted, timed="all", seconds=0.3, min_runs=3))
    sys.stdout.write(answer.model_dump_json(indent=1) + "\n")
