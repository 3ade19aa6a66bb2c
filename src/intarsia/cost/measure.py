"""Look a partition up in the store, or measure it in a worker and record it. Equal partitions are measured once."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from intarsia.backends import registry
from intarsia.backends.contract.failures import Cause
from intarsia.config.settings import RunSettings
from intarsia.cost.records.record import Failure, Key, Measurement, Outcome, from_json, to_json
from intarsia.cost.records.store import Store
from intarsia.cost.reference.evaluate import Answers, answers, failure_of
from intarsia.cost.reference.stage_check import StageCheck, check_stages
from intarsia.cost.thresholds import DURATIONS, PAIRED, PATIENCE
from intarsia.cost.timing.sampling import Effort
from intarsia.cost.timing.timetable import Timetable
from intarsia.cost.worker.client import WorkerClient, ask_twice
from intarsia.cost.worker.deadline import NO_END, Deadline
from intarsia.cost.worker.lock import machine_lock
from intarsia.cost.worker.progress import Progress, Watcher, unwatched
from intarsia.cost.worker.protocol import (
    Failed,
    Inspect,
    Measure,
    Measured,
    NodeTimes,
    Timed,
    Wait,
    Waited,
    Workload,
    Write,
    Written,
)
from intarsia.cost.worker.repro import Origin, write_repro
from intarsia.graph import Graph, Node, extract
from intarsia.graph.fingerprint import content_hash, fingerprint_of
from intarsia.graph.reference.rounding import rounds
from intarsia.partitioning import Partition
from intarsia.runtime.artifact.machine import this_machine
from intarsia.runtime.environment import load_environment
from intarsia.runtime.executors.transfers import HOST
from intarsia.target import Target
from intarsia.target.detect import devices_here

log = logging.getLogger(__name__)
PROTOCOL = 2
"""Part of every key: raised when the way of measuring changes, so that old figures are not mixed with new ones."""
JUDGING = 1
"""Part of the keys of models that round inside: raised when their answers are judged in another way."""
NAMING = 2
"""Of `node_times`, counted up when it puts kernels down to other nodes: what was recorded before is asked for again."""
INTERRUPTED = "interrupted"
"""Stage of a `Failure` of what was not measured when a compile was interrupted; it is not recorded."""


class Measurer:
    """Costs of partitions of one graph on this machine.

    Attributes:
        measured: Partitions measured so far.
        cached: Partitions found in the store.
        left_out: Failures that are not kept, as no engine is to blame, by the targets that ran: the first of each.
        time: Whether there is time for more.
    """

    def __init__(
        self,
        graph: Graph,
        folder: Path,
        store: Store,
        engines: Iterable[str],
        origin: Origin,
        watch: Watcher = unwatched,
        deadline: Deadline = NO_END,
    ) -> None:
        self.graph = graph
        self.folder = folder
        self.store = store
        self.measured = 0
        self.cached = 0
        self.left_out: dict[str, Failure] = {}
        self._engines = tuple(engines)
        self._origin = origin
        self._watch = watch
        self._is_stopped = False
        self._workers: dict[RunSettings, WorkerClient] = {}
        self._known: dict[str, Outcome] = {}
        weight_bytes = sum(weight.nbytes for weight in graph.weights.values())
        self.timeout_s = PATIENCE.partition_s + PATIENCE.partition_s_per_gigabyte * weight_bytes / 1e9
        facts = {"graph": fingerprint_of(graph), "machine": this_machine().fingerprint}
        self.time = Timetable(deadline, store, facts, watch, weight_bytes)

    def start(self, several: Iterable[RunSettings]) -> None:
        """Start the processes that measure with these settings, beside other work."""
        for settings in several:
            self._worker(settings).start()

    def wait_for_start(self) -> None:
        """Wait until all processes that were started can be asked, and learn how long such a process takes."""
        for worker in self._workers.values():
            answer = worker.ask(Wait(), self.timeout_s)
            if isinstance(answer, Waited) and answer.started_s:
                self.time.process_took(answer.started_s)

    def turn(self) -> AbstractContextManager[None]:
        """Hold the machine for work that is not timed, if anything was measured; else nothing is waited for."""
        return self.machine() if self.measured else nullcontext()

    def machine(self) -> AbstractContextManager[None]:
        """Hold the machine while something is timed; that it has to be waited for does not count."""
        return machine_lock(self._watch, self.time.deadline)

    def cost(
        self,
        partition: Partition,
        settings: RunSettings,
        after: Partition | None = None,
        effort: Effort | None = None,
    ) -> Outcome:
        """What the partition costs, run right behind ``after`` if that is given.

        Returns:
            A `Measurement` of this partition alone, or a `Failure`; from the store if it is there.
        """
        return self._find((partition,) if after is None else (after, partition), "last", settings, effort or Effort())

    def cost_of_plan(self, partitions: Sequence[Partition], settings: RunSettings, effort: Effort) -> Outcome:
        """What a whole plan costs, as `cost` does for a partition."""
        return self._find(tuple(partitions), "all", settings, effort)

    def cost_of_main(self, partitions: Sequence[Partition], settings: RunSettings, effort: Effort) -> Outcome:
        """What an embedding plan costs beside its embedded partitions, which answer what was recorded."""
        return self._find(tuple(partitions), "main", settings, effort)

    def cost_of_partition(
        self, partitions: Sequence[Partition], place: int, settings: RunSettings, effort: Effort
    ) -> Outcome:
        """What the embedded partition at ``place`` costs, while the others answer what was recorded."""
        return self._find(tuple(partitions), "partition", settings, effort, place)

    def cost_of_stream(
        self, partitions: Sequence[Partition], settings: RunSettings, effort: Effort, trial: int = 0
    ) -> Outcome:
        """What a request takes of a stream: the time between one result and the next. Each trial is measured anew."""
        return self._find(tuple(partitions), "stream", settings, effort, trial)

    def knows(self, partitions: Sequence[Partition], settings: RunSettings) -> bool:
        """Whether what these partitions cost is in the store, one partition by itself or several as a plan."""
        key = self.key(partitions, "last" if len(partitions) == 1 else "all", settings)
        return self.store.get(key, "partition") is not None

    def node_times(self, partition: Partition, settings: RunSettings) -> Mapping[str, float]:
        """What the partition's engine says of its nodes, milliseconds by id; empty if it tells nothing, or fails."""
        nodes = extract(self.graph, partition.nodes).nodes
        key = self.key((partition,), "nodes", settings)
        # Figures are kept by place, so an equal graph that lists its nodes in another order asks for its own.
        key = Key(facts={**key.facts, "order": _order_digest(self.graph, nodes), "naming": NAMING})
        stored = self.store.get(key, "nodes")
        if stored is None and not self._has_time(key, (partition,), settings, Effort()):
            return {}
        if stored is None:
            with self.machine():
                stored = self.store.get(key, "nodes")  # another process may have asked while this one waited
                if stored is None:
                    stored = self._inspect(partition, settings, [node.id for node in nodes])
                    if stored is None:
                        return {}
                    self.measured += 1
                    self.store.put("nodes", key, stored, self.provenance)
        else:
            self.cached += 1
        return {node.id: ms for node, ms in zip(nodes, stored["ms"], strict=False)}

    def write(self, partitions: Sequence[Partition], settings: RunSettings, path: Path) -> float | Failure:
        """Have the worker that measured with these settings write the artifact of a plan.

        Returns:
            The seconds that its engines took to compile it, whenever that was; or why it could not be written.
        """
        request = Write(workload=Workload.of(partitions, settings), path=str(path))
        answer = ask_twice(self._worker(settings), request, 4 * self.timeout_s)
        return answer.compile_s if isinstance(answer, Written) else self.noted(partitions, failure_of(answer, "write"))

    def answers(
        self, partitions: Sequence[Partition], settings: RunSettings, inputs: Sequence[Path]
    ) -> Sequence[Answers] | Failure:
        """What a plan answers to each set of inputs, its outputs in order; or why it does not."""
        workload = Workload.of(partitions, settings)
        found = answers(self._worker(settings), workload, inputs, self.folder, self.timeout_s)
        return self.noted(partitions, found) if isinstance(found, Failure) else found

    def noted(self, partitions: Sequence[Partition], failure: Failure) -> Failure:
        """The failure; who is left out by it, though its engine is not to blame, is remembered.

        What is concluded from then on is of this compile alone: the next one may find another answer.
        """
        if failure.cause.is_transient:
            name = " + ".join(dict.fromkeys(str(partition.target) for partition in partitions))
            self.left_out.setdefault(name, failure)
        return failure

    @property
    def may_conclude(self) -> bool:
        """Whether what follows from all that was measured is worth keeping."""
        return not self.left_out

    def stages(self, partitions: Sequence[Partition], settings: RunSettings) -> StageCheck:
        """Whether each rounding stage of the graph rounds rightly in a plan of it; asked once, and kept."""
        key = self.key(partitions, "stages", settings)
        key = Key(facts={**key.facts, "content": content_hash(self.graph)})
        if (known := self.store.get(key, "stages")) is not None:
            self.cached += 1
            return _stage_check(known)
        with self.machine():
            stored = self.store.get(key, "stages")  # another process may have asked while this one waited
            if stored is not None:
                return _stage_check(stored)
            self._watch(Progress(stage="stages", note=f"each rounding stage on {partitions[0].target}"))
            workload = Workload.of(partitions, settings)
            found = check_stages(self._worker(settings), self.graph, workload, self.folder, self.timeout_s)
            self.measured += 1
            if found.cause is None or found.cause.is_lasting:
                self.store.put("stages", key, asdict(found), self.provenance)
            elif found.cause.is_transient:
                self.noted(partitions, Failure(stage="stages", reason=str(found.skipped), cause=found.cause))
        return found

    def key(
        self,
        partitions: Sequence[Partition],
        timed: Timed | Literal["nodes", "stages"],
        settings: RunSettings,
        place: int | None = None,
    ) -> Key:
        """All that the time depends on; names of nodes and values are not part of it."""
        union = sorted(
            {node for partition in partitions for node in partition.nodes}, key=self.graph.position.__getitem__
        )
        position = {node: index for index, node in enumerate(union)}
        return Key(
            facts={
                "protocol": PROTOCOL,
                "graph": fingerprint_of(self.graph, union),
                "partitions": [_facts(partition, position) for partition in partitions],
                "timed": timed if place is None else [timed, place],
                **judging_facts(self.graph),
                **run_facts((partition.target for partition in partitions), settings),
            }
        )

    @property
    def provenance(self) -> Mapping[str, Any]:
        """What a record of this graph says of where it came from."""
        return {"model": self._origin.model}

    def stop(self) -> None:
        """Measure nothing more: what is known is answered, what is not fails at the stage ``interrupted``."""
        self._is_stopped = True
        self.close()  # they may be busy with what nobody waits for any more

    def close(self) -> None:
        """End the workers."""
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()

    def __enter__(self) -> Measurer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _find(
        self,
        partitions: Sequence[Partition],
        timed: Timed,
        settings: RunSettings,
        effort: Effort,
        place: int | None = None,
    ) -> Outcome:
        key = self.key(partitions, timed, settings, place)
        known = self._known.get(key.digest) or self._stored(key)
        if known is None and self._is_stopped:
            return Failure(stage=INTERRUPTED, reason="not measured before the interruption", cause=Cause.NOT_ASKED)
        if known is None and not self._has_time(key, partitions, settings, effort):
            known = self.time.refusal()
        if known is None:
            with self.machine():
                known = self._stored(key)  # another process may have measured it while this one waited
                if known is None:
                    known = self._measured(key, partitions, timed, settings, effort, place)
        self._known[key.digest] = known
        return known

    def _has_time(self, key: Key, partitions: Sequence[Partition], settings: RunSettings, effort: Effort) -> bool:
        """Whether there is time to measure these; what nothing could ship without is measured in any case."""
        question = {"partition": key.digest}
        return effort.is_needed or self.time.may(question, self._expected_s(partitions, settings), effort.until)

    def _expected_s(self, partitions: Sequence[Partition], settings: RunSettings) -> float:
        """Seconds that measuring these takes, by what the whole model took."""
        own = [
            self.time.whole_s([registry.engine_of(partition.target)]) * self._share_of(partition)
            for partition in partitions
        ]
        return (
            DURATIONS.partition_s + sum(own) + (0.0 if self._alike(settings) in self._workers else self.time.process_s)
        )

    def _share_of(self, partition: Partition) -> float:
        return len(partition.nodes) / max(1, len(self.graph.nodes))

    def _measured(
        self,
        key: Key,
        partitions: Sequence[Partition],
        timed: Timed,
        settings: RunSettings,
        effort: Effort,
        place: int | None,
    ) -> Outcome:
        """Measure and record. What the machine did, or the end of the time cut off, is no failure of its engine."""
        start = self.time.deadline.spent
        given_s = [self._patience_s(partitions, settings, effort)]

        def again_s(failed: Failed) -> float:
            """Seconds for a second try; none for what was cut off, or where there is no time for it."""
            if failed.stage == "timeout" and given_s[-1] < self.timeout_s:
                return 0.0
            if failed.cause in (Cause.NO_MEMORY, Cause.KILLED):
                for worker in self._workers.values():  # others hold memory too, and start again when they are asked
                    worker.close()
            if not effort.is_needed and not self.time.fits(self._expected_s(partitions, settings)):
                return 0.0
            given_s.append(self._patience_s(partitions, settings, effort))
            return given_s[-1]

        known = self._measure(partitions, timed, settings, effort, place, given_s[0], again_s)
        took = self.time.deadline.spent - start
        if isinstance(known, Failure) and known.stage == "timeout" and given_s[-1] < self.timeout_s:
            if known.cause.is_transient:  # on a calm machine the time might have done
                return replace(self.time.refusal(), reason=self.noted(partitions, known).reason)
            self.time.refuse({"partition": key.digest})
            return self.time.refusal()
        if isinstance(known, Measurement) and timed == "last" and self._share_of(partitions[-1]) == 1.0:
            self.time.whole_took(registry.engine_of(partitions[-1].target), took, sum(known.samples_ms) / 1e3)
        self.measured += 1
        if isinstance(known, Failure) and not known.cause.is_lasting:
            return self.noted(partitions, known)
        self.store.put("partition", key, to_json(known), self.provenance)
        return known

    def _patience_s(self, partitions: Sequence[Partition], settings: RunSettings, effort: Effort) -> float:
        """How long an answer is waited for."""
        if effort.is_needed or self.time.is_endless:
            return self.timeout_s
        return max(self._expected_s(partitions, settings), min(self.timeout_s, self.time.left))

    def _stored(self, key: Key) -> Outcome | None:
        data = self.store.get(key, "partition")
        if data is None:
            return None
        self.cached += 1
        return from_json(data)

    def _measure(
        self,
        partitions: Sequence[Partition],
        timed: Timed,
        settings: RunSettings,
        effort: Effort,
        place: int | None,
        timeout_s: float,
        again_s: Callable[[Failed], float],
    ) -> Outcome:
        workload = Workload.of(partitions, settings)
        request = Measure(
            workload=workload,
            timed=timed,
            partition=place,
            seconds=effort.seconds,
            min_runs=effort.min_runs,
            hopeless_ms=effort.hopeless_ms,
        )
        answer = ask_twice(self._worker(settings), request, timeout_s, again_s)
        match answer:
            case Measured():
                return Measurement(**answer.model_dump(exclude={"verb"}))
            case Failed():
                return replace(failure_of(answer, "measure"), repro=self._repro(workload, answer))
            case _:
                return failure_of(answer, "measure")

    def _repro(self, workload: Workload, failed: Failed) -> str | None:
        """A script that shows a failure again; none of one that the machine is to blame for, or without a place."""
        if failed.cause not in (Cause.ENGINE, Cause.CRASH, Cause.NO_ANSWER):
            return None
        folder = self.store.folder / "repro"
        try:
            return str(write_repro(folder, self._origin.on_disk(self.graph, folder), workload, failed))
        except OSError as error:
            log.warning("there is no script that shows a failure again, as %s cannot be written to: %s", folder, error)
            return None

    def _inspect(self, partition: Partition, settings: RunSettings, ids: Sequence[str]) -> Mapping[str, Any] | None:
        """What is kept of what an engine tells; ``None`` if it did not come to telling, by no fault of its own."""
        request = Inspect(workload=Workload.of((partition,), settings), runs=PAIRED.profile_runs)
        answer = ask_twice(self._worker(settings), request, self.timeout_s)
        if isinstance(answer, Failed) and not answer.cause.is_lasting:
            self.noted((partition,), failure_of(answer, "inspect"))
            return None
        told = answer.ms if isinstance(answer, NodeTimes) else {}
        return {"ms": [told.get(id_, 0.0) for id_ in ids]} if told else {"ms": [], "cause": Cause.ENGINE.value}

    @staticmethod
    def _alike(settings: RunSettings) -> RunSettings:
        """How calls follow each other is no matter of the process: a worker serves all that differs in nothing else."""
        return replace(settings, parallel=False, pipeline=None, max_error=None, verified=True)

    def _worker(self, settings: RunSettings) -> WorkerClient:
        alike = self._alike(settings)
        if alike not in self._workers:
            environment = load_environment(self._engines, alike)
            self._workers[alike] = WorkerClient(self.folder, environment)
        return self._workers[alike]


def _facts(partition: Partition, position: Mapping[str, int]) -> list[Any]:
    """Target and places of a partition's nodes, and which of them compute in less than fp32."""
    row: list[Any] = [partition.target.key, sorted(position[node] for node in partition.nodes)]
    if partition.precision is not None:
        row.append(sorted([position[node], scheme.value] for node, scheme in partition.precision.schemes))
    return row


def _stage_check(stored: Mapping[str, Any]) -> StageCheck:
    cause = stored.get("cause")
    return StageCheck(**{**stored, "cause": None if cause is None else Cause(cause)})


def _order_digest(graph: Graph, nodes: Sequence[Node]) -> str:
    rows = [[node.op_type, *(graph.values[name].shape for name in node.outputs if name)] for node in nodes]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def judging_facts(graph: Graph) -> Mapping[str, Any]:
    """What the key of a measurement says of how answers are judged: nothing where no rounding leaves anything open."""
    return {"judging": JUDGING} if rounds(graph) else {}


def run_facts(targets: Iterable[Target], settings: RunSettings) -> Mapping[str, Any]:
    """The part of a key that says where and how something ran; of devices only those beside the CPU."""
    several = tuple(targets)
    devices = sorted({target.device_type for target in several} - {HOST})
    return {
        "engines": {name: registry.probe(name).version for name in sorted(set(map(registry.engine_of, several)))},
        **({"devices": {type_: [str(each) for each in devices_here(type_)] for type_ in devices}} if devices else {}),
        **settings.facts(),
        "bound": True,
        "machine": this_machine().fingerprint,
    }
