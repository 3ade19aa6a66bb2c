"""The reference's answers for one graph and seed, computed once and kept, since the evaluator is slow.

Of a model that rounds inside, it is computed a few times more with its rounding falling the other way: how far values
move then is kept beside them, and is what engines are allowed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path

import numpy as np

from intarsia.cost.reference.custom_ops import custom_op_arrays
from intarsia.cost.reference.reference_io import (
    forget_damaged,
    record_tolerances,
    record_values,
    recorded_names,
    recorded_tolerances,
    recorded_values,
)
from intarsia.cost.thresholds import REFERENCE
from intarsia.cost.worker.progress import Progress, Watcher, unwatched
from intarsia.errors import IntarsiaError, ModelError
from intarsia.files import remove_folder, replace_file, sweep
from intarsia.graph import Graph
from intarsia.graph.fingerprint import content_hash
from intarsia.graph.reference.contrib_ops import unknown_values
from intarsia.graph.reference.perturb import Jitter
from intarsia.graph.reference.reference import evaluate
from intarsia.graph.reference.rounding import rounds
from intarsia.runtime.executors.drawn_feeds import graph_feeds
from intarsia.runtime.tolerance import Tolerance, apart, counts_steps, tolerances
from intarsia.target import Target

log = logging.getLogger(__name__)


def reference_values(
    cache: Path,
    graph: Graph,
    borders: Collection[str],
    seed: int,
    type_oracle: Target | None = None,
    watch: Watcher = unwatched,
    machine: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Path:
    """The folder that holds the seeded inputs, the outputs and the named border values.

    What operators that neither ONNX defines nor the evaluator knows compute is taken from the type oracle's engine. A
    model that the evaluator still cannot run has only its inputs there; what engines answer for it then goes unchecked,
    and the report says so. Of a model that rounds inside, what that leaves open of each value is there too.
    ``machine`` is held while something is computed that was not before. What is damaged there is computed anew.
    """
    folder = cache / f"{content_hash(graph)}-{seed}"
    wanted = {*borders, *graph.outputs}
    is_whole = _is_sound(folder) and wanted <= recorded_names(folder)
    if not is_whole or (rounds(graph) and not recorded_tolerances(folder)):
        with machine():
            _compute(folder, graph, wanted, seed, type_oracle, watch)
    _touch(folder)
    _prune(cache, REFERENCE.keep_bytes, keep=folder)
    return folder


def _is_sound(folder: Path) -> bool:
    """Whether all that is recorded is as it was written; what is not is taken away."""
    if not folder.exists():
        return True
    if folder.is_dir() and not any(each.is_dir() for each in folder.iterdir()):
        damaged = forget_damaged(folder)
    else:  # a folder where a file should be, or the other way round
        damaged = ("all of them",)
        if folder.is_dir():
            remove_folder(folder)
        else:
            folder.unlink(missing_ok=True)
    if damaged:
        log.warning("values of the reference in %s were damaged; they are computed anew", folder)
    return not damaged


def _compute(
    folder: Path, graph: Graph, names: Collection[str], seed: int, type_oracle: Target | None, watch: Watcher
) -> None:
    feeds = graph_feeds(graph, seed)
    record_values(folder, feeds)
    try:
        unknown = unknown_values(graph)
        told = custom_op_arrays(graph, type_oracle, seed) if type_oracle is not None and unknown else {}
        given = {name: told[name] for name in unknown if name in told}
        start = time.monotonic()
        record_values(folder, evaluate(graph, feeds, keep=names, given=given))
        leave_open(folder, graph, feeds, names, time.monotonic() - start, given, watch)
    except IntarsiaError as error:
        log.warning("the reference cannot run this model, so results go unchecked: %s", error)


def perturbed_count(graph: Graph, seconds: float) -> int:
    """How many evaluations more a graph is worth that takes so many seconds to compute."""
    if not rounds(graph):
        return 0
    return REFERENCE.perturbed if seconds <= REFERENCE.slow_s else 1


def leave_open(
    folder: Path,
    graph: Graph,
    feeds: Mapping[str, np.ndarray],
    names: Collection[str],
    seconds: float,
    given: Mapping[str, np.ndarray] | None = None,
    watch: Watcher = unwatched,
) -> None:
    """Find and record what rounding inside a graph leaves open of recorded values; nothing where it does not round.

    Args:
        folder: Where the values are, and where this goes.
        seconds: What one evaluation takes.
        given: What engines told of operators.
    """
    count = perturbed_count(graph, seconds)
    if not count:
        return
    expected = recorded_values(folder, names)
    movements = []
    for number in range(count):
        left = (count - number) * seconds
        watch(Progress(stage="reference", done=number, total=count, note=f"rounding the other way, about {left:.0f} s"))
        try:
            moved = evaluate(graph, feeds, keep=names, given=given or {}, around=Jitter(graph, number + 1))
        except ModelError as error:  # sizes that follow from rounded numbers came out otherwise
            log.info("one evaluation with other rounding failed: %s", error)
            continue
        movements.append({name: apart(moved[name], array) for name, array in expected.items()})
    steps = frozenset(name for name, array in expected.items() if counts_steps(array.dtype))
    nothing = dict.fromkeys(expected, Tolerance(largest=0.0, length=0.0))
    record_tolerances(folder, tolerances(movements, steps=steps) or nothing)


def _touch(folder: Path) -> None:
    sweep(folder)
    with suppress(OSError):  # when it goes is a little less right, and it is here
        replace_file(folder / "used", str(time.time()).encode(), lasts=False)


def _prune(cache: Path, limit: int, keep: Path) -> None:
    """Drop the answers that were not used for longest until the rest fits."""
    sweep(cache)
    folders = sorted((path for path in cache.iterdir() if path.is_dir() and path != keep), key=_last_used, reverse=True)
    total = _size(keep)
    for folder in folders:
        total += _size(folder)
        if total > limit:
            remove_folder(folder)


def _last_used(folder: Path) -> float:
    try:
        return float((folder / "used").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0.0


def _size(folder: Path) -> int:
    total = 0
    for file in folder.glob("*"):
        with suppress(OSError):  # another process may have removed it meanwhile
            total += file.stat().st_size
    return total
