"""The reference's answers for one graph and seed, computed once and kept, since the evaluator is slow."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from intarsia.cost.foreign import foreign_arrays
from intarsia.cost.recorded import record_values, recorded_names
from intarsia.errors import IntarsiaError
from intarsia.graph import Graph
from intarsia.graph.reference import evaluate
from intarsia.runtime.feeds import graph_feeds
from intarsia.target import Target

log = logging.getLogger(__name__)
KEEP_BYTES = 4 << 30


def reference_values(
    cache: Path,
    graph: Graph,
    borders: Collection[str],
    seed: int,
    teller: Target | None = None,
    machine: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Path:
    """The folder that holds the seeded inputs, the outputs and the named border values.

    What operators that ONNX does not define compute is taken from the engine of ``teller``. A model that the evaluator
    still cannot run has only its inputs there; what engines answer for it then goes unchecked, and the report says so.
    ``machine`` is held while something is computed that was not before.
    """
    folder = cache / f"{graph.content_hash()}-{seed}"
    wanted = {*borders, *graph.outputs}
    if not wanted <= recorded_names(folder):
        with machine():
            _compute(folder, graph, borders, seed, teller)
    _touch(folder)
    _prune(cache, KEEP_BYTES, keep=folder)
    return folder


def _compute(folder: Path, graph: Graph, borders: Collection[str], seed: int, teller: Target | None) -> None:
    feeds = graph_feeds(graph, seed)
    record_values(folder, feeds)
    try:
        given = {} if teller is None else foreign_arrays(graph, teller, seed)
        record_values(folder, evaluate(graph, feeds, keep=borders, given=given))
    except IntarsiaError as error:
        log.warning("the reference cannot run this model, so results go unchecked: %s", error)


def _touch(folder: Path) -> None:
    (folder / "used").write_text(str(time.time()), encoding="ascii")


def _prune(cache: Path, limit: int, keep: Path) -> None:
    """Drop the answers that were not used for longest until the rest fits."""
    folders = sorted((path for path in cache.iterdir() if path.is_dir() and path != keep), key=_last_used, reverse=True)
    total = _size(keep)
    for folder in folders:
        total += _size(folder)
        if total > limit:
            shutil.rmtree(folder, ignore_errors=True)


def _last_used(folder: Path) -> float:
    try:
        return float((folder / "used").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0.0


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob("*"))
