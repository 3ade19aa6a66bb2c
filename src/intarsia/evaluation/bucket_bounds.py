"""Runs an artifact at the least and the largest size of each bucket, which was measured and checked in between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from intarsia.cost.records.record import Failure
from intarsia.cost.records.store import Store
from intarsia.cost.reference.reference import reference_values
from intarsia.cost.reference.reference_io import link_values
from intarsia.cost.thresholds import PATIENCE
from intarsia.cost.worker.client import WorkerClient, ask_twice
from intarsia.cost.worker.progress import Progress, Watcher
from intarsia.cost.worker.protocol import Failed, Open
from intarsia.errors import BackendError, MismatchError
from intarsia.files import scratch
from intarsia.graph import Graph
from intarsia.runtime import Bucket
from intarsia.runtime.artifact.trust import OWN
from intarsia.runtime.environment import worker_environment
from intarsia.search.decision.prediction import failure_error


@dataclass(frozen=True, slots=True, kw_only=True)
class EndFault:
    """What is wrong at an end of the bucket at this place."""

    place: int
    error: BackendError | MismatchError
    """As a compile ends with that insists on the plan."""
    reason: str
    """In a few words, with the size."""


def check_ends(
    path: Path, graph: Graph, buckets: Sequence[Bucket], records: Store, seed: int, watch: Watcher
) -> EndFault | None:
    """Run an artifact at both ends of each of its buckets, and compare with the reference; the first fault, if any."""
    engines = {name for bucket in buckets for name in bucket.plan.engines}
    environment = worker_environment(engines, buckets[-1].plan.settings)
    ends = [(place, bucket, sizes) for place, bucket in enumerate(buckets) for sizes in _ends(bucket)]
    with scratch() as folder, WorkerClient(folder, environment) as worker:
        for number, (place, bucket, sizes) in enumerate(ends):
            watch(Progress(stage="check sizes", done=number, total=len(ends), note=str(bucket)))
            at = graph.with_sizes(sizes)
            values = reference_values(records.folder / "reference", at, (), seed)
            link_values(folder, values)
            answer = ask_twice(worker, Open(path=str(path), trust=OWN), PATIENCE.bucket_s)
            if isinstance(answer, Failed):
                stated = ", ".join(f"{name}={size}" for name, size in sizes.items())
                failure = Failure(stage=answer.stage, reason=f"at {stated}: {answer.reason}", cause=answer.cause)
                error = failure_error(bucket.plan.partitions[0], failure)
                kind = "answers wrongly" if isinstance(error, MismatchError) else "fails"
                return EndFault(place=place, error=error, reason=f"{kind} at {stated}")
    return None


def _ends(bucket: Bucket) -> Iterator[Mapping[str, int]]:
    low = {name: range_.low for name, range_ in bucket.ranges.items()}
    high = {name: range_.high for name, range_ in bucket.ranges.items()}
    yield from (sizes for sizes in (low, high) if sizes != bucket.sizes)
