"""How planning itself grows: a large synthetic network, planned by the product's own code on costs from a table.

Everything runs but the engines: reading and normalising the graph, who takes what, segments, keys, the record store,
and the whole search. A worker that answers from a table takes the place of the process that would measure.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

import onnx

from intarsia.backends.contract.failures import Cause
from intarsia.config import RunSettings
from intarsia.cost.measure import Measurer
from intarsia.cost.records.store import Store
from intarsia.cost.worker.deadline import NO_END
from intarsia.cost.worker.lock import machine_lock
from intarsia.cost.worker.pool import WorkerPool
from intarsia.cost.worker.progress import unwatched
from intarsia.cost.worker.protocol import Answer, Failed, Inspect, Measure, Measured, NodeTimes
from intarsia.cost.worker.repro import Origin
from intarsia.graph import Graph, load_model
from intarsia.graph.work import work
from intarsia.partitioning.segments import character
from intarsia.planning import request as planning
from intarsia.planning.request import Request, plan_compilation
from intarsia.search.collage.collage import CollageSearch
from intarsia.search.single.single_engine import tune_singles
from networks.assembly import Assembly

NODES = 10_000
BLOCK_NODES = 10
CHANNELS, SIDE = 8, 16
WORK_PER_MS = 1e7
CALL_MS = 0.02
FACTORS: Mapping[str, Mapping[str, float]] = {
    "onnxruntime": {"conv": 1.2, "normalise": 1.0},
    "openvino": {"conv": 1.0, "normalise": 1.6},
    "mnn": {"conv": 0.8, "normalise": 2.5},
    "ncnn": {"conv": 0.7, "normalise": 3.0},
}
"""How much longer than its share of the work an engine takes over kernels of one character; 1.1 for all others."""
TELLING = ("onnxruntime", "openvino")
"""Engines that tell how long each node takes."""


def synthetic(nodes: int, seed: int = 0) -> onnx.ModelProto:
    """A network of so many nodes, a multiple of `BLOCK_NODES`: residual blocks of convolutions and normalisation."""
    net = Assembly("synthetic", seed)
    x = "picture"
    for number in range(nodes // BLOCK_NODES):
        x = _block(net, f"block{number}", x)
    shape = (1, CHANNELS, SIDE, SIDE)
    return net.model(("picture", shape), (x, shape))


def _block(net: Assembly, label: str, x: str) -> str:
    y = net.conv_relu(f"{label}.conv1", x, (CHANNELS, CHANNELS))
    y = net.conv_relu(f"{label}.conv2", y, (CHANNELS, CHANNELS), 1)
    y = net.node("InstanceNormalization", f"{label}.norm", y, *net.scale_and_bias(f"{label}.norm", CHANNELS))
    gate = net.node("Sigmoid", f"{label}.gate", net.conv(f"{label}.gate.conv", y, (CHANNELS, CHANNELS), 1))
    y = net.node("Mul", f"{label}.gated", y, gate)
    return net.relu(f"{label}.relu", net.node("Add", f"{label}.sum", y, x))


def partitioned(nodes: int, folder: Path) -> dict[str, Any]:
    """Plan a network of so many nodes, and tell what each stage took, in seconds."""
    model = synthetic(nodes)
    records = Store(folder / "records.sqlite")
    seconds: dict[str, float] = {}
    with machine_lock():  # another compile would be waited for
        with _timed(seconds, "load"):
            graph = load_model(model)
        # Reading the model is no part of planning, and the difference of two readings would be all noise.
        with _timed(seconds, "divide"), patch.object(planning, "load_model", return_value=graph):
            job = plan_compilation(Request(model=model))
        engines = {target.kind.name for target in job.problem.targets}
        measurer = Table(job.graph, folder, records, engines, Origin(model=None))
        with measurer:
            with _timed(seconds, "engines alone"):
                singles = tune_singles(job.problem, measurer, unwatched)
            with _timed(seconds, "search"):
                tuned = {single.tuned: job.problem.capabilities[single.target] for single in singles}
                wholes = {single.tuned: single.outcome for single in singles}
                found = CollageSearch(job.problem, measurer, tuned, wholes, unwatched).run(NO_END)
    # Answering from the table stands for measuring.
    planned_s = sum(seconds.values()) - seconds["load"] - measurer.spent_s
    return {
        "nodes": len(job.graph.nodes),
        "seconds": round(planned_s, 3),
        "stages_s": {stage: round(spent, 3) for stage, spent in seconds.items()},
        "segments": found.segments,
        "candidates": found.candidates,
        "measured": measurer.measured,
        "mixes": len(found.mixes),
    }


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - start


class Table(Measurer):
    """Looks up and records as ever, but asks a table instead of a process.

    Attributes:
        spent_s: Seconds that the table took to answer.
    """

    def __init__(self, graph: Graph, folder: Path, store: Store, engines: Iterable[str], origin: Origin) -> None:
        super().__init__(graph, folder, store, engines, origin)
        self.spent_s = 0.0
        self._workers = cast("WorkerPool", _Answering(self))

    def ask(self, request: Measure | Inspect, timeout_s: float) -> Answer:
        """What a worker would answer, at once."""
        start = time.perf_counter()
        answer = _Costs(self.graph).answer(request)
        self.spent_s += time.perf_counter() - start
        return answer


class _Answering(dict[RunSettings, Table]):
    """The table, whatever the settings."""

    def __init__(self, table: Table) -> None:
        super().__init__()
        self._table = table

    def __missing__(self, settings: RunSettings) -> Table:
        return self._table

    def close(self) -> None:
        """There are no processes."""


class _Costs:
    """Costs are sums over the nodes, and a little for each call."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def answer(self, request: Measure | Inspect) -> Answer:
        partitions = [(partition.target.split()[0], partition.nodes) for partition in request.workload.partitions]
        if isinstance(request, Inspect):
            ((engine, nodes),) = partitions
            return NodeTimes(ms={id_: self._ms(engine, id_) for id_ in nodes} if engine in TELLING else {})
        if request.timed not in ("last", "all"):
            return Failed(stage="run", reason="the table knows whole partitions only", cause=Cause.ENGINE)
        timed = partitions if request.timed == "all" else partitions[-1:]
        ms = sum(CALL_MS + sum(self._ms(engine, id_) for id_ in nodes) for engine, nodes in timed)
        return Measured(samples_ms=(ms,) * 9, compile_s=0.0, load_s=0.0, error=None, is_complete=True)

    def _ms(self, engine: str, id_: str) -> float:
        node = self._graph.node(id_)
        return work(self._graph, node) / WORK_PER_MS * FACTORS.get(engine, {}).get(character(node), 1.1)
