"""The best measured kernels: each engine on each distinct block of each network, and what the best of them add up to.

``python -m benchmarks.block_times [NETWORK …] [--missing]`` measures with the product's own workers and adds to
``benchmarks/results/block_times.json``. A network's blocks are the cells that the search begins with; equal ones are
measured once. The sum of the best is what a mix of them would take if transitions were free and larger partitions
gained nothing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from benchmarks import competitors, results_file
from intarsia.config import RunSettings, SearchSettings
from intarsia.cost.measure import Measurer
from intarsia.cost.records.store import Store
from intarsia.cost.timing.sampling import Effort
from intarsia.cost.worker.progress import unwatched
from intarsia.cost.worker.workspace import Workspace
from intarsia.graph import Graph, save_graph
from intarsia.graph.fingerprint import fingerprint_of
from intarsia.graph.work import work
from intarsia.partitioning import Partition, boundaries, coarser
from intarsia.planning.request import Compilation, Request, plan_compilation
from intarsia.search.single.single_engine import Single, tune_singles
from intarsia.target import Target

RESULTS = Path(__file__).parent / "results" / "block_times.json"
EFFORT = Effort(seconds=0.3, min_runs=9, max_runs=80)
BLOCKS = 16
"""Greatest number of unlike blocks of a network."""
HOPELESS = 3.0
"""An engine that a first look shows to be so many times slower than the best is not timed further on a block."""
Json = dict[str, Any]


def measure(name: str, folder: Path) -> Json:
    """Every block of a network on every engine that takes it, with the settings that suit the whole network best."""
    start = time.monotonic()
    job = plan_compilation(Request(model=competitors.save_network(name, folder), search=SearchSettings()))
    records = Store(folder / "records.sqlite")
    space = Workspace(records)
    try:
        borders = {value for segment in job.problem.segments for value in boundaries(job.graph, segment).outputs}
        save_graph(job.graph, space.folder)
        space.compute_reference(job.graph, borders, seed=0)
        engines = {target.kind.name for target in job.problem.targets}
        with Measurer(job.graph, space.folder, records, engines, job.origin) as measurer:
            singles = tune_singles(job.problem, measurer, unwatched)
            cells = blocks_of(job.graph, job.problem.segments)
            blocks = [_block(job, measurer, singles, equal) for equal in distinct(job.graph, cells)]
    finally:
        space.remove()
    whole = {_engine(single): single.outcome.cost_ms for single in singles if single.candidates}
    return {
        "blocks": blocks,
        "whole_ms": {engine: round(ms, 4) for engine, ms in whole.items()},
        "sum_of_best_ms": sum_of_best(blocks),
        "seconds": round(time.monotonic() - start, 1),
    }


def blocks_of(graph: Graph, segments: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Segments put together to stretches of like work, in linear order."""
    (starts,) = coarser(graph, segments, (BLOCKS,), partial(work, graph))
    return [tuple(chain.from_iterable(segments[start:end])) for start, end in pairwise((*starts, len(segments)))]


def distinct(graph: Graph, cells: Sequence[tuple[str, ...]]) -> list[list[tuple[str, ...]]]:
    """The cells, equal ones together: those that a measurement could not tell apart."""
    groups: dict[str, list[tuple[str, ...]]] = {}
    for cell in cells:
        groups.setdefault(fingerprint_of(graph, cell), []).append(cell)
    return list(groups.values())


def sum_of_best(blocks: Sequence[Mapping[str, Any]]) -> float | None:
    """Milliseconds of the whole network if each block ran on its best engine; ``None`` if one ran on none."""
    if not all(block["ms"] for block in blocks):
        return None
    best_ms: list[float] = [block["count"] * min(block["ms"].values()) for block in blocks]
    return round(sum(best_ms), 4)


def _block(job: Compilation, measurer: Measurer, singles: Sequence[Single], equal: list[tuple[str, ...]]) -> Json:
    nodes = equal[0]
    types = [job.graph.node(id_).op_type for id_ in nodes]
    return {
        "count": len(equal),
        "first": nodes[0],
        "operators": {kind: types.count(kind) for kind in dict.fromkeys(types)},
        "ms": _costs(job, measurer, singles, nodes),
    }


def _costs(job: Compilation, measurer: Measurer, singles: Sequence[Single], nodes: tuple[str, ...]) -> dict[str, float]:
    found: dict[str, float] = {}
    for single in sorted(singles, key=lambda single: single.outcome.cost_ms):
        if any(id_ in job.problem.refused(single.target) for id_ in nodes):
            continue
        hopeless_ms = HOPELESS * min(found.values()) if found else None
        effort = Effort(seconds=EFFORT.seconds, min_runs=EFFORT.min_runs, hopeless_ms=hopeless_ms)
        target, settings = _tuned(single, job.run)
        outcome = measurer.cost(Partition(target=target, nodes=nodes), settings, effort=effort)
        if outcome.cost_ms < float("inf"):
            found[_engine(single)] = round(outcome.cost_ms, 4)
    return found


def _tuned(single: Single, run: RunSettings) -> tuple[Target, RunSettings]:
    """The options and the spin policy that it did best with alone; as it is, where it does not take the whole."""
    return (single.tuned, single.candidates[0].settings) if single.candidates else (single.target, run)


def _engine(single: Single) -> str:
    return single.target.kind.name


def told(found: Mapping[str, Any]) -> str:
    """One line about a network."""
    best = min(found["whole_ms"].values(), default=float("nan"))
    return (
        f"{len(found['blocks'])} blocks, sum of best {found['sum_of_best_ms']} ms, best engine alone {best} ms, "
        f"{found['seconds']:.0f} s"
    )


def main() -> None:
    """Measure what is named, or all."""
    parser = results_file.arguments("block_times", "Measure each engine on each block of each network.", RESULTS)
    given = parser.parse_args()
    results_file.run(given.results, results_file.named(parser, given), measure, told)


if __name__ == "__main__":
    main()
