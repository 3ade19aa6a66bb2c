"""How many requests one call should answer: batches of a finished artifact against single requests, under load.

A server may join requests that wait for an instance, which saves what each call takes by itself and makes products
larger. Only where the rows of a model's inputs have nothing to do with each other are the answers the same; so that is
looked at first, and then the sizes take turns in a paired benchmark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from intarsia.cost.keys import judging_facts, run_facts
from intarsia.cost.records.outcomes import value_of
from intarsia.cost.records.record import Key
from intarsia.cost.records.store import Store
from intarsia.cost.reference.reference import reference_values
from intarsia.cost.reference.reference_io import link_values
from intarsia.cost.thresholds import PATIENCE
from intarsia.cost.timing.paired_benchmark import BenchmarkEffort, Contender, paired_benchmark
from intarsia.cost.timing.statistics import Interval
from intarsia.cost.timing.verdict import Shown, Verdict
from intarsia.cost.worker.client import WorkerClient
from intarsia.cost.worker.deadline import Deadline
from intarsia.cost.worker.lock import machine_lock
from intarsia.cost.worker.progress import Progress, Watcher
from intarsia.cost.worker.protocol import Evaluate, Evaluated, Failed, Open
from intarsia.files import replacing, scratch
from intarsia.graph import Graph
from intarsia.graph.fingerprint import content_hash
from intarsia.graph.sizes import input_dims
from intarsia.planning.problem import Candidate
from intarsia.runtime import Bucket
from intarsia.runtime.artifact.trust import OWN
from intarsia.runtime.environment import worker_environment
from intarsia.runtime.executors.drawn_feeds import varied_feeds
from intarsia.runtime.verify import deviation
from intarsia.search.decision.builder import plan_facts
from intarsia.search.decision.final_benchmark import decides
from intarsia.wording import counted

BATCHES = 1
"""Part of every key: raised when batches are compared in another way."""
SEED = 30_000
"""Of the rows by which one sees whether they have to do with each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """What came of comparing batches.

    Attributes:
        batch: The requests that one call may answer; 1 where no batch was shown to answer more requests a second.
        reason: That in a sentence, or why none was compared.
        sizes: For each size that was compared the requests a second, and how many times as many that is.
    """

    batch: int = 1
    reason: str
    sizes: Mapping[int, tuple[Interval, Interval]] = field(default_factory=dict)

    def export(self) -> dict[str, Any]:
        """As the report has it."""
        rows = [
            {"batch": size, "requests_per_second": asdict(rate), "times_as_many": asdict(gain)}
            for size, (rate, gain) in self.sizes.items()
        ]
        return {"batch": self.batch, "reason": self.reason, "sizes": rows}


def compare_batches(
    path: Path,
    graph: Graph,
    bucket: Bucket,
    records: Store,
    *,
    seed: int,
    seconds: float,
    max_latency_ms: float | None,
    watch: Watcher,
    deadline: Deadline,
) -> Batches:
    """See how many requests one call of an artifact with open sizes should answer.

    Args:
        path: The artifact.
        bucket: Its one bucket of sizes, with the plan.
        records: Keep what came of it.
        seconds: What the rounds of a set of processes may take.
        max_latency_ms: Milliseconds that 99 of 100 calls may take at most; ``None`` for any.
        deadline: No set of processes is begun that would end behind it.
    """
    dimension, fault = batch_dimension(graph, bucket)
    if dimension is None:
        return Batches(reason=fault)
    comparison = _Comparison(path, graph, bucket, dimension, records, seed, watch)
    key = comparison.key(seconds)
    stored = records.get(key, "paired_benchmark")
    verdict = None if stored is None else value_of("paired_benchmark", stored)
    if verdict is None:
        fault = comparison.dependence()
        if fault:
            return Batches(reason=fault)
        verdict = comparison.verdict(seconds, deadline)
        if verdict.rounds_ms and decides(verdict):
            records.put("paired_benchmark", key, asdict(verdict), {})
    return _chosen(verdict, comparison.sizes, dimension, max_latency_ms)


def batch_dimension(graph: Graph, bucket: Bucket) -> tuple[str | None, str]:
    """The open dimension that is the first of every input and begins at 1; or ``None``, and why there is none."""
    shapes = input_dims(graph)
    first = {name: shapes[name][0] if shapes.get(name) else None for name in graph.inputs}
    several = {dim for dim in first.values() if isinstance(dim, str) and dim in bucket.ranges}
    if len(several) != 1 or not all(dim in several for dim in first.values()):
        odd = next((name for name, dim in first.items() if dim not in bucket.ranges), graph.inputs[0])
        return None, f"requests are not joined: input {odd} has no open first dimension in common with all inputs"
    (dimension,) = several
    if any(dimension in shape[1:] for shape in shapes.values()):
        return None, f"requests are not joined: {dimension} is not the first dimension alone"
    range_ = bucket.ranges[dimension]
    if range_.low > 1 or range_.high < 2:
        return None, f"requests are not joined: {dimension} is {range_}; compile with --shape {dimension}=1..HIGH"
    return dimension, ""


def _chosen(verdict: Verdict, sizes: Sequence[int], dimension: str, max_latency_ms: float | None) -> Batches:
    """The batch that answers the most requests a second, if one was shown to answer more than single requests."""
    known = [size for size in sizes if str(size) in verdict.benchmarked]
    if 1 not in known or len(known) == 1:
        failed = (f"a batch failed at {stage}: {why}" for stage, why in verdict.failed.values())
        return Batches(reason=f"requests are not joined: {next(failed, 'there was no time to compare batches')}")
    one = "1"
    rows = {size: (verdict.requests_per_second(str(size)), verdict.speedup(str(size), one)) for size in known}
    within = [size for size in known[1:] if _is_within(verdict, size, max_latency_ms)]
    faster = [size for size in within if verdict.compared(str(size), one, far_counts=True) is Shown.FASTER]
    if not faster:
        late = "" if within or max_latency_ms is None else f" within {max_latency_ms:g} ms"
        return Batches(reason=f"no batch was shown to answer more requests a second{late}", sizes=rows)
    best = max(faster, key=lambda size: rows[size][1].median)
    gain = rows[best][1]
    return Batches(
        batch=best,
        reason=f"one call may answer up to {counted(best, 'request')} that wait, along {dimension}: "
        f"{gain.median:.2f} times as many a second as one by one ({gain.low:.2f} to {gain.high:.2f})",
        sizes=rows,
    )


def _is_within(verdict: Verdict, size: int, max_latency_ms: float | None) -> bool:
    if max_latency_ms is None:
        return True
    tail = verdict.tails.get(str(size))
    late_ms = None if tail is None else tail.p99_ms
    return (verdict.call_ms(str(size)) * size if late_ms is None else late_ms) <= max_latency_ms


class _Comparison:
    """One request, and batches of two sizes, of one artifact."""

    def __init__(
        self, path: Path, graph: Graph, bucket: Bucket, dimension: str, records: Store, seed: int, watch: Watcher
    ) -> None:
        self._path, self._graph, self._bucket, self._dimension = path, graph, bucket, dimension
        self._records, self._seed, self._watch = records, seed, watch
        range_ = bucket.ranges[dimension]
        self.sizes = sorted({1, range_.middle, range_.high})
        """Those that are checked in any case: at one the plan was measured, the others are the ends of its range."""

    def key(self, seconds: float) -> Key:
        """All that the verdict depends on."""
        plan = self._bucket.plan
        candidate = Candidate(
            name="batches",
            label="batches",
            partitions=plan.partitions,
            settings=plan.settings,
            predicted_ms=(None,) * len(plan.partitions),
        )
        return Key(
            facts={
                "batches": [BATCHES, self._dimension, self.sizes, seconds],
                "graph": content_hash(self._graph),
                "plan": plan_facts(self._graph, candidate),
                "sizes": dict(self._bucket.sizes),
                **judging_facts(self._graph),
                **run_facts((part.target for part in plan.partitions), plan.settings),
            }
        )

    def verdict(self, seconds: float, deadline: Deadline) -> Verdict:
        """The sizes against each other, by the milliseconds from one answered request to the next."""
        plan = self._bucket.plan
        with ExitStack() as stack:
            contenders = [
                Contender(
                    name=str(size),
                    path=self._path,
                    plan=plan,
                    trust=OWN,
                    instances=plan.settings.instances,
                    requests=size,
                    folder=self._values_at(size, stack.enter_context(scratch())),
                )
                for size in self.sizes
            ]
            self._watch(Progress(stage="batches", note=", ".join(map(str, self.sizes))))
            effort = _effort(seconds)
            with machine_lock(self._watch, deadline):
                return paired_benchmark(Path(), contenders, effort, self._seed, self._watch, deadline=deadline)

    def _values_at(self, size: int, folder: Path) -> Path:
        """The folder, with the inputs and the right answers of this size in it."""
        at = self._at(size)
        link_values(folder, reference_values(self._records.folder / "reference", at, (), self._seed))
        return folder

    def _at(self, size: int) -> Graph:
        return self._graph.with_sizes({**self._bucket.sizes, self._dimension: size})

    def dependence(self) -> str:
        """In what the first and the last row of a batch are answered otherwise than alone; empty if they are not."""
        size = self.sizes[-1]
        joined = varied_feeds(self._at(size), SEED)
        alone = [{name: array[place : place + 1] for name, array in joined.items()} for place in (0, size - 1)]
        with scratch() as folder, WorkerClient(folder, self._environment()) as worker:
            self._values_at(1, folder)
            opened = worker.ask(Open(path=str(self._path), trust=OWN), PATIENCE.bucket_s)
            inputs = [_written(folder / f"in{number}.npz", feeds) for number, feeds in enumerate((joined, *alone))]
            outputs = [folder / f"out{number}.npz" for number in range(len(inputs))]
            asked = Evaluate(workload=None, inputs=tuple(map(str, inputs)), outputs=tuple(map(str, outputs)), more={})
            answer = opened if isinstance(opened, Failed) else worker.ask(asked, PATIENCE.bucket_s)
            if not isinstance(answer, Evaluated):
                return f"requests are not joined: {getattr(answer, 'reason', 'it did not answer')}"
            whole, first, last = (_read(path) for path in outputs)
        for name, all_, *ends in zip(self._graph.outputs, whole, first, last, strict=True):
            if not all_.ndim or all_.shape[0] != size:
                return f"requests are not joined: {name} has no row for each"
            for place, row in zip((0, size - 1), ends, strict=True):
                found = deviation(name, all_[place : place + 1], row)
                if not found.is_acceptable:
                    return f"requests are not joined, as they change each other's answers: {found}"
        return ""

    def _environment(self) -> dict[str, str | None]:
        plan = self._bucket.plan
        return worker_environment(plan.engines, plan.settings)


def _effort(seconds: float) -> BenchmarkEffort:
    return BenchmarkEffort(seconds=seconds)


def _written(path: Path, feeds: Mapping[str, np.ndarray]) -> Path:
    with replacing(path, lasts=False) as draft, draft.open("wb") as file:
        np.savez(file, **feeds)  # type: ignore[arg-type]
    return path


def _read(path: Path) -> list[np.ndarray]:
    with np.load(path) as found:
        return [found[name] for name in found.files]
